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
type Lines = BTreeMap<String, BTreeMap<u32, u64>>;

/// Sums the costs of a callgrind file by line. Costs of calls are left out: they stand with the called function.
fn lines(text: &str) -> Result<Lines> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Lines::new();
    let (mut file, mut line, mut of_call) = (String::new(), 0_u32, false);
    // The project's last line in this function.
    let mut own: Option<(String, u32)> = None;
    for entry in text.lines() {
        if let Some((key, value)) = entry.split_once('=') {
            if matches!(key, "fl" | "fi" | "fe") {
                // `fl=(3) path` names file 3, `fl=(3)` refers to it.
                file = match value.split_once(' ') {
                    Some((number, path)) => {
                        names.insert(number.to_owned(), path.to_owned());
                        path.to_owned()
                    }
                    None => names.get(value).cloned().unwrap_or_else(|| value.to_owned()),
                };
            } else if matches!(key, "cfi" | "cfl") {
                if let Some((number, path)) = value.split_once(' ') {
                    names.insert(number.to_owned(), path.to_owned());
                }
            } else if key == "calls" {
                of_call = true;
            } else if key == "fn" {
                own = None;
            }
            continue;
        }
        let mut words = entry.split_whitespace();
        let (Some(place), Some(cost)) = (words.next(), words.next()) else { continue };
        let number = |text: &str| text.parse::<u32>().ok();
        // Line numbers are absolute, relative to the one before, or the same.
        line = match place.chars().next() {
            Some('+') => line.saturating_add(number(&place[1..]).unwrap_or(0)),
            Some('-') => line.saturating_sub(number(&place[1..]).unwrap_or(0)),
            Some('*') => line,
            Some(digit) if digit.is_ascii_digit() => number(place).context("a line number")?,
            _ => continue,
        };
        let Ok(cost) = cost.parse::<u64>() else { continue };
        if std::mem::take(&mut of_call) {
            continue;
        }
        if is_own(&file) {
            own = Some((file.clone(), line));
        }
        let (file, line) = own.clone().unwrap_or_else(|| (file.clone(), line));
        *found.entry(file).or_default().entry(line).or_default() += cost;
    }
    ensure!(!found.is_empty(), "no costs in callgrind's file");
    Ok(found)
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
        |file: &Path| lines(&read_to_string(file).with_context(|| format!("callgrind's file {}", file.display()))?);
    let mut all = read(file)?;
    for (path, costs) in less.map(read).transpose()?.unwrap_or_default() {
        for (line, cost) in costs {
            if let Some(found) = all.get_mut(&path).and_then(|costs| costs.get_mut(&line)) {
                *found = found.saturating_sub(cost);
            }
        }
    }
    let mut functions: BTreeMap<(String, String), u64> = BTreeMap::new();
    let (mut total, mut others) = (0_u64, 0_u64);
    for (path, costs) in all {
        total += costs.values().sum::<u64>();
        let own = path.find("crates/").filter(|_| is_own(&path)).and_then(|start| {
            let path = &path[start..];
            Some((path.to_owned(), read_to_string(root.join(path)).ok()?))
        });
        let Some((path, source)) = own else {
            others += costs.values().sum::<u64>();
            continue;
        };
        for (line, cost) in costs {
            let function = function_at(&source, line).unwrap_or("-").to_owned();
            *functions.entry((path.clone(), function)).or_default() += cost;
        }
    }
    let mut rows: Vec<(u64, String)> =
        functions.into_iter().map(|((path, function), cost)| (cost, format!("{path}: {function}"))).collect();
    rows.push((others, "other code".into()));
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
        let found = lines(TEXT).unwrap();
        let of = |path: &str| found[path].clone().into_iter().collect::<Vec<_>>();
        assert_eq!(of("/a/crates/x/src/kernel.rs"), [(3, 10), (5, 5 + 7), (7, 2), (100, 1)]);
        assert_eq!(of("/rustc/library/alloc.rs"), [(9, 50)]);
        assert_eq!(of("/a/crates/x/src/other.rs"), [(2, 40)]);
        assert!(lines("events: Ir\n").is_err());
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
