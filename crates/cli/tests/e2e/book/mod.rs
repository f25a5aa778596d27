//! The book: README, ARCHITECTURE, CHANGELOG and docs/. Its links resolve, its pages stand in SUMMARY.md, the pages at the
//! root are short, the tests that ARCHITECTURE names exist, and the commands print what the pages say.

mod commands;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Most lines of pages that must stay short.
const LONGEST: [(&str, usize); 3] = [("README.md", 200), ("ARCHITECTURE.md", 150), ("docs/design/tuning.md", 150)];

/// Most files in a folder of the book.
const FILES: usize = 12;

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Pages below a folder.
fn pages_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(entries.len() <= FILES, "{} has {} entries", folder.display(), entries.len());
    for path in entries {
        if path.is_dir() {
            found.extend(pages_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages = pages_below(&root.join("docs"));
    pages.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)));
    pages.sort();
    pages
}

/// A page's lines outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// Targets of a page's links.
fn links(text: &str) -> Vec<&str> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    targets.map(|rest| rest.split(')').next().unwrap_or(rest)).collect()
}

/// Anchors of a page's headings, as mdBook and GitHub make them.
fn anchors(text: &str) -> HashSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let letters = heading.trim_start_matches('#').trim().chars();
        let kept = letters.filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn links_resolve() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for page in pages() {
        let text = read(&page);
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let found = target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            checked += 1;
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
    assert!(checked > 50, "only {checked} links found");
}

#[test]
fn every_page_stands_in_the_summary() {
    let docs = root().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let mut listed: Vec<PathBuf> = links(&summary).iter().map(|link| docs.join(link)).collect();
    listed.push(docs.join("SUMMARY.md"));
    listed.sort();
    let mut pages = pages_below(&docs);
    pages.sort();
    assert_eq!(listed, pages);
}

#[test]
fn pages_at_the_root_are_short() {
    for (name, most) in LONGEST {
        let lines = read(&root().join(name)).lines().count();
        assert!(lines <= most, "{name} has {lines} lines, more than {most}");
    }
}

/// Names of all functions in the sources.
fn functions(folder: &Path, found: &mut HashSet<String>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = read(&path);
            let names = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            found.extend(names.map(str::to_owned));
        }
    }
}

/// Every row of a table that names tests in its last column names some, and they are there.
#[test]
fn tables_name_tests_that_exist() {
    let mut there = HashSet::new();
    functions(&root().join("crates"), &mut there);
    for (page, head, least) in [
        ("ARCHITECTURE.md", "| | invariant | test |", 10),
        ("docs/design/failures.md", "| what can fail | what happens then | tests |", 20),
        ("docs/design/failures.md", "| of another version | then | tests |", 6),
    ] {
        let text = read(&root().join(page));
        let table = text.split(head).nth(1).unwrap_or_else(|| panic!("{page} has no table {head}"));
        let mut named = 0;
        for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
            let tests: Vec<&str> = row.rsplit('|').nth(1).unwrap_or("").split('`').skip(1).step_by(2).collect();
            assert!(!tests.is_empty(), "{page}: no test in {row}");
            for test in tests {
                named += 1;
                assert!(there.contains(test), "{page}: no test {test}, named in {row}");
            }
        }
        assert!(named > least, "{page}: only {named} tests named");
    }
}
