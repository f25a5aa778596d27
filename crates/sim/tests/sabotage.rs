//! Patches that break keima on purpose still fit the sources: `scripts/sabotage` takes hours, and would say so too late.

use std::path::Path;

/// The lines that each hunk of a patch expects, with the file in which they stand.
fn expected(patch: &str) -> Vec<(String, String)> {
    let mut hunks: Vec<(String, String)> = Vec::new();
    let mut file = "";
    for line in patch.lines() {
        if let Some(name) = line.strip_prefix("--- a/") {
            file = name;
        } else if line.starts_with("@@ ") {
            hunks.push((file.to_owned(), String::new()));
        } else if let (Some((_, lines)), Some(old)) = (hunks.last_mut(), line.strip_prefix([' ', '-']))
            && !line.starts_with("--- ")
        {
            *lines += &format!("{old}\n");
        }
    }
    hunks
}

#[test]
fn every_patch_fits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let patches: Vec<_> =
        std::fs::read_dir(root.join("crates/sim/sabotage")).unwrap().map(|p| p.unwrap().path()).collect();
    assert!(patches.len() >= 9, "{patches:?}");
    for path in patches {
        let hunks = expected(&std::fs::read_to_string(&path).unwrap());
        assert!(!hunks.is_empty(), "{}: no hunk", path.display());
        for (file, lines) in hunks {
            let source = std::fs::read_to_string(root.join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(source.contains(&lines), "{}: {file} does not have\n{lines}", path.display());
        }
    }
}
