//! The house: files and folders of sources stay small, and few files use each other in a circle.

mod uses;

use std::path::{Path, PathBuf};

use crate::book::root;

/// Most lines of a file.
const LINES: usize = 400;
/// Most files of a folder.
const FILES: usize = 12;
/// Most files that use each other: a file with its parent, and a helper of both.
const CIRCLE: usize = 3;

/// All Rust sources below a folder.
pub(crate) fn sources_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["crates", "examples"] {
        sources_below(&root().join(folder), &mut found);
    }
    assert!(found.len() > 500, "{} sources", found.len());
    found
}

#[test]
fn files_and_folders_are_small() {
    let sources = sources();
    let mut large = Vec::new();
    for path in &sources {
        let lines = std::fs::read_to_string(path).unwrap().lines().count();
        if lines > LINES {
            large.push(format!("{}: {lines} lines, at most {LINES}", path.display()));
        }
    }
    let mut folders: Vec<&Path> = sources.iter().filter_map(|path| path.parent()).collect();
    folders.sort_unstable();
    for files in folders.chunk_by(|one, next| one == next).filter(|files| files.len() > FILES) {
        large.push(format!("{}: {} files, at most {FILES}", files[0].display(), files.len()));
    }
    assert!(large.is_empty(), "split these by ideas:\n{}", large.join("\n"));
}

#[test]
fn few_files_use_each_other_in_a_circle() {
    let is_root = |path: &&PathBuf| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    let circles: Vec<String> = sources()
        .iter()
        .filter(is_root)
        .flat_map(|root| uses::circles(root))
        .filter(|files| files.len() > CIRCLE)
        .map(|files| files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join("\n  "))
        .collect();
    assert!(circles.is_empty(), "move what they share into files that use none of them:\n  {}", circles.join("\n\n  "));
}
