//! `keima inspect`: verifies a run file, then describes it or lists its records.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use keima_count::inspect::{BlockCut, InspectError, Inspected, KeyOrder, RunError, RunHeader, RunManifest};
use keima_problems::Problems;
use serde_json::{Value, json};

use crate::args::InspectArgs;
use crate::count::MEMORY_BYTES;
use crate::exit::{CHECK_FAILED, Failed};
use crate::machine::MachineMemory;
use crate::terminal::output::{not_printed, print};
use crate::terminal::units::{show_bytes, show_count};

pub(crate) fn inspect(args: &InspectArgs) -> Result<(), Failed> {
    let run = Inspected::open(&args.file).map_err(|error| failed(&args.file, &error))?;
    if args.records {
        let memory_bytes = args.memory.unwrap_or_else(|| MachineMemory::now().default_of(MEMORY_BYTES));
        return records(&run, &args.file, memory_bytes);
    }
    let (header, manifest) = (run.header(), run.manifest());
    print(&if args.json { to_json(header, manifest).to_string() } else { to_text(header, manifest) })
}

fn failed(path: &Path, error: &RunError) -> Failed {
    let is_short = matches!(error, RunError::Truncated { got: ..16, .. });
    let is_foreign = is_short || matches!(error, RunError::BadMagic { .. });
    match error {
        // Another file that was named by mistake must not be called damaged.
        _ if is_foreign && path.extension().is_none_or(|extension| extension != "run") => Failed::usage(format!(
            "{} is not a run file: it does not begin with KEIMARUN; run files are named *.run and lie in a scratch folder",
            path.display()
        )),
        // Nothing is said of deleting it: it may be anything.
        RunError::BadMagic { got, .. } => Failed::new(
            CHECK_FAILED,
            format!(
                "{} is no run file, or its beginning is damaged: expected KEIMARUN, got {:?}",
                path.display(),
                String::from_utf8_lossy(got)
            ),
        ),
        RunError::OtherVersion { .. } => Failed::other(error.to_string()),
        _ if error.is_damage() => Failed::new(CHECK_FAILED, error.to_string()),
        _ => Failed::other(error.to_string()),
    }
}

fn not_listed(path: &Path, error: InspectError) -> Failed {
    match error {
        InspectError::Run(error) => failed(path, &error),
        error => Failed::other(error.to_string()),
    }
}

/// Writes one line per record. It ends early if the reader, such as `head`, has gone.
fn records(run: &Inspected, path: &Path, memory_bytes: u64) -> Result<(), Failed> {
    let mut out = BufWriter::new(io::stdout().lock());
    let digits = 2 * run.key_bytes(&Problems).map_err(|error| not_listed(path, error))? as usize;
    let mut written = Ok(());
    let mut begun = false;
    let listed = run.records(&Problems, memory_bytes, &mut |key, row| {
        let head = if begun { Ok(()) } else { writeln!(out, "key{}", columns(run.header())) };
        begun = true;
        written = head.and_then(|()| record(&mut out, key, digits, row));
        written.is_ok()
    });
    listed.map_err(|error| not_listed(path, error))?;
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(not_printed(&error)),
        _ => Ok(()),
    }
}

/// Writes a key in `digits` hexadecimal digits, and its residues.
fn record(out: &mut impl Write, key: u128, digits: usize, row: &[u64]) -> io::Result<()> {
    write!(out, "{key:0digits$x}")?;
    row.iter().try_for_each(|value| write!(out, "\t{value}"))?;
    writeln!(out)
}

/// Names of the lanes: moduli, with the coefficient in front if there are several.
fn columns(header: &RunHeader) -> String {
    let lanes = (0..header.coefficients).flat_map(|c| header.moduli.iter().map(move |modulus| (c, modulus)));
    let name =
        |(c, modulus)| if header.coefficients == 1 { format!("\t{modulus}") } else { format!("\t{c}:{modulus}") };
    lanes.map(name).collect()
}

fn order(header: &RunHeader) -> &'static str {
    match header.key_order {
        KeyOrder::Canonical => "canonical",
        KeyOrder::Window { .. } => "window",
        KeyOrder::Blocks { .. } => "blocks",
        KeyOrder::Transposed { .. } => "transposed blocks",
    }
}

/// First cell and number of cells of the window that reads the run.
fn window(header: &RunHeader) -> Option<(u32, u32)> {
    match header.key_order {
        KeyOrder::Canonical => None,
        KeyOrder::Window { first, len } | KeyOrder::Blocks { first, len } | KeyOrder::Transposed { first, len } => {
            Some((first, len))
        }
    }
}

fn to_json(header: &RunHeader, manifest: &RunManifest) -> Value {
    let strings = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>();
    json!({
        "run": manifest.id.0,
        "subject": header.subject,
        "job_tag": format!("{:016x}", header.job_tag),
        "definition": format!("{:016x}", header.definition),
        "build": header.build,
        "boundary": header.boundary,
        "key_order": order(header),
        "window": window(header).map(|(first, len)| json!({ "first": first, "cells": len })),
        "column_cells": header.cut.as_ref().map(|cut| &cut.windows),
        "group_records": header.cut.as_ref().map(|cut| cut.group_records),
        "key_bytes": header.key_bytes,
        "coefficients": header.coefficients,
        "moduli": strings(&header.moduli),
        "records": manifest.records,
        "bytes": manifest.bytes,
        "first_key": format!("{:x}", manifest.first_key),
        "last_key": format!("{:x}", manifest.last_key),
        "sums": strings(&manifest.sums),
        "checksum": format!("{:08x}", manifest.checksum),
        "sound": true,
    })
}

fn to_text(header: &RunHeader, manifest: &RunManifest) -> String {
    let mut lines = vec![format!("{}: sound, {}", manifest.id, show_bytes(manifest.bytes))];
    let mut line = |name: &str, value: String| lines.push(format!("  {name:<10} {value}"));
    line("of", format!("{}, job {:016x}", header.subject, header.job_tag));
    line("counted as", format!("definition {:016x}, begun by build {}", header.definition, header.build));
    let way = if matches!(header.key_order, KeyOrder::Transposed { .. }) { ", of the transposed vector" } else { "" };
    line("boundary", format!("after {} passes{way}", header.boundary));
    line(
        "records",
        format!(
            "{}, with keys of {} bytes and {} lanes",
            show_count(manifest.records),
            header.key_bytes,
            header.lanes()
        ),
    );
    let window = window(header).map(|(first, len)| format!(", for the window of {len} cells from cell {first}"));
    let cut = header.cut.as_ref().map(|BlockCut { windows, group_records }| {
        let cells = windows.iter().map(u8::to_string).collect::<Vec<_>>().join("+");
        format!("; columns in windows of {cells} cells, groups of {} records", show_count(*group_records))
    });
    line("order", format!("{}{}{}", order(header), window.unwrap_or_default(), cut.unwrap_or_default()));
    line("keys", format!("{:x} to {:x}", manifest.first_key, manifest.last_key));
    line("checksum", format!("{:08x}", manifest.checksum));
    for (lane, sum) in manifest.sums.iter().enumerate() {
        let modulus = header.moduli.get(lane % header.moduli.len().max(1)).copied().unwrap_or_default();
        line(if lane == 0 { "sums" } else { "" }, format!("{sum} modulo {modulus}"));
    }
    lines.join("\n")
}
