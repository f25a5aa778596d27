//! Generates the gRPC types from `proto/` with protox, so that no protoc has to be installed.

use std::path::PathBuf;
use std::{env, error, fs};

use prost::Message;

fn main() -> Result<(), Box<dyn error::Error>> {
    // Asked for when the script runs, not when it is compiled: a shared target folder may hold another checkout's
    // script.
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let files = ["common", "run", "worker", "job"].map(|name| root.join("keima/v1").join(name).with_extension("proto"));
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let descriptors = protox::compile(&files, [&root])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("keima.v1.bin"), descriptors.encode_to_vec())?;
    // Chunks of runs are handed on without copying them out of the received frame.
    tonic_prost_build::configure().bytes(".keima.v1.ReadRunResponse.data").compile_fds(descriptors)?;
    Ok(())
}
