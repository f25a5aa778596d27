//! The tutorial quotes code that is compiled and tested: its snippets are lines of the files that it names.

use std::path::Path;

/// Fewer lines of code are all that a problem asks for, as the tutorial says; comments and empty lines left out.
const LINES: usize = 80;

/// The blocks of one language, each with the file named last before it.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<(&'a str, Vec<&'a str>)> {
    let (mut file, mut open, mut blocks) = ("", None, Vec::new());
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(found)) => open = Some((found == language, Vec::new())),
            (None, None) => {
                let quoted = line.split('`').skip(1).step_by(2);
                file = quoted.filter(|name| name.starts_with("crates/")).last().unwrap_or(file);
            }
            (Some((wanted, lines)), Some(_)) => {
                if *wanted {
                    blocks.push((file, std::mem::take(lines)));
                }
                open = None;
            }
            (Some((_, lines)), None) => lines.push(line),
        }
    }
    blocks
}

fn is_code(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with("//")
}

#[test]
fn snippets_are_lines_of_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tutorial = std::fs::read_to_string(root.join("docs/problems/tutorial.md")).unwrap();
    let snippets = blocks(&tutorial, "rust");
    assert_eq!(snippets.len(), 8);
    for (file, snippet) in &snippets {
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let source: Vec<&str> = source.lines().collect();
        let found = source.windows(snippet.len()).filter(|lines| lines == snippet).count();
        assert_eq!(found, 1, "in {file}:\n{}", snippet.join("\n"));
    }
    let lines = snippets.iter().flat_map(|(_, snippet)| snippet).filter(|line| is_code(line)).count();
    assert!(lines < LINES, "{lines} lines of code");
}
