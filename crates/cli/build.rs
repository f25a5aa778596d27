//! Names the commit that the program is built from, for `keima --version` and for certificates: `KEIMA_COMMIT` where it is
//! set, what git says of this folder otherwise, with `+` where files differ from it; nothing where there is neither.

use std::path::Path;
use std::process::Command;

/// What a commit is called in the program.
const NAME_CHARS: usize = 12;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// The commit of this checkout. A checkout of something else around these sources, such as a vendoring one, is none.
fn checked_out() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "HEAD"])?.get(..NAME_CHARS)?.to_owned();
    let sources = ["status", "--porcelain", "--untracked-files=no", "--", "..", "../../Cargo.toml", "../../Cargo.lock"];
    let changed = if git(&sources)?.is_empty() { "" } else { "+" };
    Some(commit + changed)
}

fn main() {
    println!("cargo::rerun-if-env-changed=KEIMA_COMMIT");
    // All that the program is made of: whether it differs from the commit is to be known of every build.
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
