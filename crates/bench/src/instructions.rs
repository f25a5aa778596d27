//! Instructions per state-pass by function, from a file of valgrind's callgrind.
//!
//! Inlined code has no function of its own in these files, but its lines keep their file. So costs are summed by file and
//! line, and a line belongs to the function in whose source it stands: the last `fn` above it. A line of the standard
//! library counts with the project's line before it in the same machine code.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Instructions by file and line.
type Costs = BTreeMap<(String, u32), u64>;

/// Sums the costs of a callgrind file by line. Costs of calls are left out: they stand with the called function.
fn costs(text: &str) -> Result<Costs> {
    let mut paths: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Costs::new();
    let (mut file, mut line, mut is_call) = ("", 0_u32, false);
    // The project's last line in this function.
    let mut own: Option<(&str, u32)> = None;
    for entry in text.lines() {
        match entry.split_once('=') {
            Some((key @ ("fl" | "fi" | "fe" | "cfi" | "cfl"), value)) => {
                // `fl=(3) path` names file 3, `fl=(3)` refers to it.
                if let Some((number, path)) = value.split_once(' ') {
                    paths.insert(number, path);
                }
                if !key.starts_with('c') {
                    let number = value.split(' ').next().unwrap_or(value);
                    file = paths.get(number).copied().unwrap_or(value);
                }
            }
            Some(("calls", _)) => is_call = true,
            Some(("fn", _)) => own = None,
            Some(_) => {}
            None => {
                let Some((at, cost)) = entry.split_once(' ') else { continue };
                let (Some(at), Ok(cost)) = (line_number(at, line), cost.parse::<u64>()) else { continue };
                line = at;
                if std::mem::take(&mut is_call) {
                    continue;
                }
                if is_own(file) {
                    own = Some((file, line));
                }
                let (file, line) = own.unwrap_or((file, line));
                *found.entry((file.to_owned(), line)).or_default() += cost;
            }
        }
    }
    ensure!(!found.is_empty(), "no costs in callgrind's file");
    Ok(found)
}

/// A line number, which is absolute, relative to the one before, or `*` for the same.
fn line_number(text: &str, before: u32) -> Option<u32> {
    match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(more), _) => before.checked_add(more.parse().ok()?),
        (_, Some(less)) => before.checked_sub(less.parse().ok()?),
        _ if text == "*" => Some(before),
        _ => text.parse().ok(),
    }
}

/// Whether a path is one of the project's sources.
fn is_own(path: &str) -> bool {
    path.contains("crates/") && !path.contains("/registry/")
}

/// The function in which a line of a source stands.
fn function_at(source: &str, line: u32) -> Option<&str> {
    let above = source.lines().take(line as usize);
    let name = |text: &'_ str| -> Option<(usize, usize)> {
        let start = text.find("fn ").filter(|&i| i == 0 || text[..i].ends_with([' ', '(']))? + 3;
        let len = text[start..].find(|c: char| !c.is_alphanumeric() && c != '_')?;
        (len > 0 && !text.trim_start().starts_with("//")).then_some((start, start + len))
    };
    above.filter_map(|text| name(text).map(|(start, end)| &text[start..end])).last()
}

/// A table of the project's functions with their instructions per state-pass, down to a twentieth, and of all the rest.
/// The costs in `less`, of a run that only sets up, are subtracted.
pub(crate) fn report(file: &Path, less: Option<&Path>, root: &Path, state_passes: f64) -> Result<String> {
    let read =
        |file: &Path| costs(&read_to_string(file).with_context(|| format!("callgrind's file {}", file.display()))?);
    let less = less.map(read).transpose()?.unwrap_or_default();
    let mut sources: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    let mut total = 0;
    for (at, cost) in read(file)? {
        let cost = cost.saturating_sub(less.get(&at).copied().unwrap_or(0));
        let (path, line) = at;
        let own = path.find("crates/").filter(|_| is_own(&path)).map_or("", |start| &path[start..]);
        let source = sources.entry(own.to_owned()).or_insert_with(|| read_to_string(root.join(own)).ok());
        let function = source.as_ref().map(|source| format!("{own}: {}", function_at(source, line).unwrap_or("-")));
        *functions.entry(function.unwrap_or_else(|| "other code".into())).or_default() += cost;
        total += cost;
    }
    let mut rows: Vec<(u64, String)> = functions.into_iter().map(|(function, cost)| (cost, function)).collect();
    rows.sort_by(|a, b| b.cmp(a));
    let each = |cost: u64| cost as f64 / state_passes.max(1.0);
    let mut text = String::new();
    for (cost, name) in rows.iter().filter(|(cost, _)| each(*cost) >= 0.05) {
        text += &format!("{:>9.2}  {name}\n", each(*cost));
    }
    text += &format!("{:>9.2}  all, in {state_passes:.3e} state-passes\n", each(total));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# callgrind format
version: 1
events: Ir

fl=(1) /a/crates/x/src/kernel.rs
fn=(1) pass
3 10
+2 5
fi=(2) /rustc/library/core/src/num.rs
100 7
fe=(1)
* 1
cfi=(3) /a/crates/x/src/other.rs
cfn=(2) called
calls=4 20
6 1000
7 2

fl=(3)
fn=(2)
2 40

fl=(4) /rustc/library/alloc.rs
fn=(3) alloc
9 50
";

    #[test]
    fn own_costs_are_added_up_by_line() {
        let expected = [
            ("/a/crates/x/src/kernel.rs", 3, 10),
            ("/a/crates/x/src/kernel.rs", 5, 5 + 7),
            ("/a/crates/x/src/kernel.rs", 7, 2),
            ("/a/crates/x/src/kernel.rs", 100, 1),
            ("/a/crates/x/src/other.rs", 2, 40),
            ("/rustc/library/alloc.rs", 9, 50),
        ];
        let expected = expected.map(|(path, line, cost)| ((path.to_owned(), line), cost));
        assert_eq!(costs(TEXT).unwrap(), Costs::from(expected));
        assert!(costs("events: Ir\n").is_err());
    }

    #[test]
    fn lines_belong_to_the_function_above() {
        let source = "use x;\n\nfn first<T>() {\n}\n// fn no() {}\npub(super) fn second(a: u8) {\n  a;\n}\n";
        fn check(source: &str, line: u32, expected: Option<&str>) {
            assert_eq!(function_at(source, line), expected, "line {line}");
        }
        check(source, 1, None);
        check(source, 3, Some("first"));
        check(source, 5, Some("first"));
        check(source, 7, Some("second"));
        check(source, 700, Some("second"));
    }

    #[test]
    fn the_report_is_per_state_pass() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("crates/x/src")).unwrap();
        std::fs::write(root.path().join("crates/x/src/kernel.rs"), "//\nfn pass() {\n\n\n\nfn late() {\n").unwrap();
        let file = root.path().join("out");
        std::fs::write(&file, TEXT).unwrap();
        let found = report(&file, None, root.path(), 10.0).unwrap();
        let expected = [
            "     9.00  other code",
            "     2.20  crates/x/src/kernel.rs: pass",
            "     0.30  crates/x/src/kernel.rs: late",
            "    11.50  all, in 1.000e1 state-passes",
        ];
        assert_eq!(found.lines().collect::<Vec<_>>(), expected);
        let less = root.path().join("less");
        std::fs::write(&less, "fl=(1) /a/crates/x/src/kernel.rs\n3 4\n7 100\nfl=(2) gone.rs\n1 1\n").unwrap();
        let found = report(&file, Some(&less), root.path(), 10.0).unwrap();
        assert!(found.contains("1.80  crates/x/src/kernel.rs: pass\n"), "{found}");
        assert!(found.contains("0.10  crates/x/src/kernel.rs: late\n"), "{found}");
    }
}
