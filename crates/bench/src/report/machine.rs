//! The machine that measures, as far as it can be asked.

use std::ffi::OsStr;
use std::fs::read_to_string;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::process::total_bytes;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    /// What people call it.
    name: String,
    processor: String,
    cores: String,
    caches: String,
    memory: String,
    /// Release of the kernel.
    system: String,
    /// Instruction set that the block executor chooses at run time.
    dispatch: String,
    rustc: String,
    /// Compiler of golegal.
    cc: String,
}

impl Machine {
    /// This machine.
    pub(crate) fn here() -> Self {
        let processors = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = field(&processors, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cache = |index: u32| {
            let text = read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size"));
            text.map_or_else(|_| "?".to_owned(), |text| text.trim().to_owned())
        };
        Self {
            name: format!("{cores} cores of {processor}"),
            processor,
            cores: cores.to_string(),
            caches: format!("{} L2, {} L3", cache(2), cache(3)),
            memory: format!("{:.0} GiB", total_bytes() / f64::from(1 << 30)),
            system: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            dispatch: simd().to_owned(),
            rustc: first_line("rustc"),
            cc: first_line("cc"),
        }
    }
}

/// Commit in `keima 0.2.0 (3785becda19c)`.
pub(crate) fn commit(keima: &Path) -> String {
    let version = first_line(keima);
    version.split(['(', ')']).nth(1).unwrap_or(&version).to_owned()
}

/// The widest instructions that the block executor may choose here, for rows of many lanes.
pub(crate) fn simd() -> &'static str {
    struct Name;
    impl pulp::WithSimd for Name {
        type Output = &'static str;
        fn with_simd<S: pulp::Simd>(self, _: S) -> &'static str {
            std::any::type_name::<S>()
        }
    }
    let name = pulp::Arch::new().dispatch(Name);
    // The last word of a path such as pulp::x86::v3::V3.
    match name.rsplit("::").next() {
        Some("V4") => "x86-64-v4 (AVX-512)",
        Some("V3") => "x86-64-v3 (AVX2)",
        Some(other) => other,
        None => name,
    }
}

/// First line of what a program says about its version.
fn first_line(program: impl AsRef<OsStr>) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("not found").to_owned()
}

/// Value of the first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found() {
        let text = "processor\t: 0\nmodel name\t: A  B\nmodel\t: 3\nmodel name : C\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A  B"));
        assert_eq!(field(text, "bogomips"), None);
        assert_eq!(commit(Path::new("nowhere")), "not found");
        assert!(Machine::here().memory.ends_with("GiB"));
    }
}
