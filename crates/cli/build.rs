//! Sets the version that `keima --version` and certificates show, with the commit that the program is built from: the
//! variable `KEIMA_COMMIT` if it is set, else the commit of this checkout, with `+` if files differ from it.

use std::path::Path;
use std::process::Command;

/// Characters of a commit that are shown.
const NAME_CHARS: usize = 12;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// The commit of this checkout. `None` if the sources are not in git, or lie in the checkout of another project.
fn checked_out() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "HEAD"])?.get(..NAME_CHARS)?.to_owned();
    let sources = ["status", "--porcelain", "--untracked-files=no", "--", "..", "../../Cargo.toml", "../../Cargo.lock"];
    let changed = if git(&sources)?.is_empty() { "" } else { "+" };
    Some(commit + changed)
}

fn main() {
    println!("cargo::rerun-if-env-changed=KEIMA_COMMIT");
    // Watches all sources: every build must know whether they differ from the commit.
    let watched = ["build.rs", "../../Cargo.toml", "../../Cargo.lock"].map(str::to_owned).into_iter();
    let members = std::fs::read_dir("..").into_iter().flatten().flatten();
    let folders = members.map(|member| member.path().join("src").display().to_string());
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    for path in watched.chain(folders).chain(log).filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
    let given = std::env::var("KEIMA_COMMIT").ok().filter(|commit| !commit.trim().is_empty());
    let commit = given.or_else(checked_out).map(|commit| format!(" ({})", commit.trim())).unwrap_or_default();
    println!("cargo::rustc-env=KEIMA_VERSION={}{commit}", env!("CARGO_PKG_VERSION"));
}
