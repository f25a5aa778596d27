//! Generates the gRPC types from `proto/` with protox, which needs no installed protoc.

use std::path::PathBuf;
use std::{env, error, fs};

use prost::Message;

fn main() -> Result<(), Box<dyn error::Error>> {
    // Read at run time, not at compile time: a shared target folder may hold the script of another checkout.
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let files = ["common", "run", "worker", "job"].map(|name| root.join("keima/v1").join(name).with_extension("proto"));
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let descriptors = protox::compile(&files, [&root])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("keima.v1.bin"), descriptors.encode_to_vec())?;
    // `bytes`: they are not copied out of the received frame.
    tonic_prost_build::configure()
        .bytes(".keima.v1.ReadRunResponse.data")
        .bytes(".keima.v1.ReportTaskRequest.done")
        .compile_fds(descriptors)?;
    Ok(())
}
