//! `keima plot`: pictures of real results, and files that have nothing to plot.

use std::path::Path;

use crate::harness::process::{Ran, keima};

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn counted(words: &str) -> String {
    keima(&[&["count"], &words.split(' ').collect::<Vec<_>>()[..], &["--json", "--quiet"]].concat()).ok().to_owned()
}

/// Points of a picture of one line.
fn points(svg: &str) -> usize {
    let line = svg.split("points=\"").nth(1).unwrap_or_default().split('"').next().unwrap_or_default();
    line.split_whitespace().count()
}

#[test]
fn results_become_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let streams = format!("go 5x5 --executor stream --data {}", data.display());
    for (words, options, number, labels) in [
        // A number before each pass, and the last.
        (streams.as_str(), &[][..], 26, ["States of go 5x5", "border states", "passes done"]),
        ("go 7x8 --series", &["--what", "formula"], 7, ["A B^(m+n) L^(mn)", "relative error", ">n<"]),
        ("go 5..8", &["--what", "formula"], 4, ["A B^(m+n) L^(mn)", "relative error", ">n<"]),
        ("quoridor-fences 8x8", &["--table", "by_fences"], 21, ["quoridor-fences 8x8: by_fences", "count", "fences"]),
    ] {
        let file = write(folder.path(), "result.json", &counted(words));
        let out = folder.path().join("out.svg");
        let ran = keima(&[&["plot", &file], options, &["--out", out.to_str().unwrap()]].concat());
        assert_eq!(ran.ok(), "", "{words}");
        let svg = std::fs::read_to_string(&out).unwrap();
        assert_eq!(keima(&[&["plot", &file], options].concat()).ok(), svg.trim_end(), "{words}");
        assert_eq!(points(&svg), number, "{words}: {svg}");
        for label in labels {
            assert!(svg.contains(label), "{words}: no {label}: {svg}");
        }
        assert!(svg.contains("prefers-color-scheme:dark") && !svg.contains("href"), "{words}: {svg}");
    }
}

/// Several results are several lines; a count from both ends has two.
#[test]
fn results_share_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let one = write(folder.path(), "one.json", &counted("go 6x6"));
    let two = write(folder.path(), "two.json", &counted("go 7x7 --series"));
    let svg = keima(&["plot", &one, &two]).ok().to_owned();
    for name in ["go 6x6", "go 7x7"] {
        assert!(svg.contains(&format!(">{name}")), "{name}: {svg}");
    }
    let both = write(folder.path(), "both.json", &counted("go 5..6x5..8"));
    let svg = keima(&["plot", &both, "--what", "formula"]).ok().to_owned();
    for name in ["go 5xn", "go 6xn"] {
        assert!(svg.contains(&format!(">{name}<")), "{name}: {svg}");
    }
}

#[test]
fn what_cannot_be_plotted_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let bare = r#"{"problem":"go","size":"3x3","count":"12675"}"#;
    let squares = r#"{"problem":"hard-squares","size":"3x3","count":"63"}"#;
    let words = counted("quoridor 3 --all");
    for (text, options, expected) in [
        ("", &[][..], "got no number"),
        ("x", &[], "got no JSON"),
        ("{}", &[], "got one without problem"),
        (r#"{"problem":"go","size":"3x3"}"#, &[], "without count"),
        (r#"{"problem":"go","size":"3x3","count":null}"#, &[], "got no number"),
        (bare, &[], "no result has a certificate"),
        (squares, &["--what", "formula"], "can be compared with a formula"),
        (bare, &["--table", "x"], "none, since it has no tables"),
        (r#"{"problem":"gp","size":"3x3","count":"1"}"#, &["--what", "formula"], "did you mean go?"),
        (words.as_str(), &["--table", "variants"], "words for an index"),
        (words.as_str(), &["--table", "x"], "--table takes "),
        (bare, &["--table", "x", "--what", "states"], "cannot be used with"),
    ] {
        let file = write(folder.path(), "result.json", text);
        let ran: Ran = keima(&[&["plot", &file], options].concat());
        assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{text} {options:?}: {ran:#?}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran:#?}");
    }
    let ran = keima(&["plot", "/nonexistent"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("cannot read"), "{ran:#?}");
    let file = write(folder.path(), "result.json", &counted("go 4x4"));
    let ran = keima(&["plot", &file, "--out", "/nonexistent/x.svg"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("--out"), "{ran:#?}");
}
