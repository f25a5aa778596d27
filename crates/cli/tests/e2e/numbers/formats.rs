//! Results in every format against published numbers and against each other; listings; requests that cannot be printed.

use keima_problems::square_free::brute;
use serde_json::Value;

use crate::harness::cluster::{Cluster, Setup};
use crate::harness::process::keima;
use crate::numbers::golden::legal;

/// Counts in a folder of its own; what is on stdout.
fn count(line: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let ran = keima(&[&["count"], &words[..], &["--quiet", "--data", dir.path().to_str().unwrap()]].concat());
    ran.ok();
    ran.stdout
}

fn json(line: &str) -> Value {
    serde_json::from_str(&count(&format!("{line} --format json"))).unwrap()
}

/// Reads CSV as in RFC 4180, but with LF line ends.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut characters = text.chars().peekable();
    let mut within = false;
    while let Some(c) = characters.next() {
        match (c, within) {
            ('"', true) if characters.peek() == Some(&'"') => field.push(characters.next().unwrap()),
            ('"', _) => within = !within,
            (',', false) => row.push(std::mem::take(&mut field)),
            ('\n', false) => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            _ => field.push(c),
        }
    }
    assert!(!within && field.is_empty() && row.is_empty(), "the last line has its end: {text:?}");
    rows
}

/// The published rows of fences on the game's board: fences and placements.
fn fences() -> Vec<(String, String)> {
    let golden = include_str!("../../../../../tests/golden/quoridor_fences_9x9.csv");
    let rows = golden.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| row.split_once(',').map(|(k, count)| (k.to_owned(), count.to_owned())).unwrap()).collect()
}

/// Checks the header, and that the rows have the same texts as the JSON object.
fn check_csv(line: &str, columns: &[&str]) {
    let rows = read_csv(&count(&format!("{line} --format csv")));
    assert_eq!(rows[0], [&["table", "index", "count"], columns].concat(), "{line}");
    let object = json(line);
    let size = object["size"].as_str().unwrap();
    assert_eq!(rows[1][..3], ["count", size, object["count"].as_str().unwrap()], "{line}");
    let counts = object["counts"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(rows.len(), 2 + counts.len(), "{line}");
    for (row, object) in rows[2..].iter().zip(counts) {
        let text = |name: &str| object.get(name).map_or("", |value| value.as_str().unwrap());
        assert_eq!((row[0].as_str(), row[2].as_str()), (text("table"), text("count")), "{line}");
        // What is no other field is the index.
        let fields = object.as_object().unwrap().iter();
        let others = ["table", "count"];
        let index: Vec<_> =
            fields.filter(|(name, _)| !others.contains(&name.as_str()) && !columns.contains(&name.as_str())).collect();
        assert_eq!(index.len(), 1, "{object}");
        assert_eq!(row[1], index[0].1.as_str().map_or_else(|| index[0].1.to_string(), str::to_owned), "{line}");
        for (place, column) in columns.iter().enumerate() {
            assert_eq!(row[3 + place], text(column), "{line}");
        }
    }
}

#[test]
fn csv_and_json_say_the_same() {
    for (line, columns) in [
        ("go 5x6", &[][..]),
        ("quoridor-fences 8x8", &["mertens", "mertens_unordered"]),
        ("quoridor 3 --all", &["mertens", "mertens_unordered"]),
        ("square-free 4", &[]),
        ("knight 5x5 --open", &[]),
    ] {
        check_csv(line, columns);
    }
    let rows = read_csv(&count("quoridor-fences 8x8 --format csv --table by_fences"));
    let got: Vec<_> = rows[1..].iter().map(|row| (row[1].clone(), row[2].clone())).collect();
    assert_eq!(got, fences());
    // Names with a comma in them.
    let rows = read_csv(&count("go 5x6 --series --format csv"));
    assert_eq!(rows[0], ["table", "index", "count", "name"]);
    assert_eq!(rows[5], ["series", "5", &legal("5x5"), "L(5,5)"]);
    assert_eq!(rows.len(), 7);
    let text = count("quoridor 2 --format csv --table variants");
    assert!(text.contains("\nvariants,\"all pairs, fences in hand, side to move\","), "{text}");
}

#[test]
fn json_names_the_index() {
    for (line, table, index, value, expected) in [
        ("quoridor-fences 8x8", "by_fences", "fences", Value::from(1), "128"),
        ("square-free 6", "balance", "counters", "balanced".into(), "24"),
        ("square-free 6", "by_x", "x", 18.into(), "24"),
        ("quoridor 3 --all", "variants", "variant", "all pairs".into(), "2400"),
        ("quoridor 3 --all", "by_fences", "fences", 2.into(), "1184"),
    ] {
        let object = json(line);
        let rows = object["counts"].as_array().unwrap().iter();
        let found: Vec<_> = rows.filter(|row| row["table"] == table && row[index] == value).collect();
        assert_eq!(found.len(), 1, "{line}: {table} {value}");
        assert_eq!(found[0]["count"], expected, "{line}");
    }
    let object = json("quoridor-fences 3x3 --table count");
    assert!(object.get("counts").is_none() && object["count"] == "4715", "{object}");
    // The flag is the same as the format.
    let flag: Value = serde_json::from_str(&count("square-free 4 --json")).unwrap();
    for field in ["count", "counts", "residues", "size"] {
        assert_eq!(flag[field], json("square-free 4")[field]);
    }
}

#[test]
fn b_files_have_the_published_numbers() {
    let one = |n: &str, count: &str| vec![(n.to_owned(), count.to_owned())];
    for (line, expected) in [
        // OEIS A006506.
        ("hard-squares 8x8", one("8", "660647962955")),
        ("go 7x7", one("7", &legal("7x7"))),
        ("knight 5x5 --open", one("5", "864")),
        ("quoridor 3 --all --table count", one("3", "2400")),
        ("quoridor 3x3 --all --table count", one("3", "2400")),
        ("square-free 7 --table count", one("7", "0")),
        ("quoridor-fences 3x3 --all --table count", one("3", "4715")),
        ("quoridor-fences 3x3 --table count", one("3", "4715")),
        ("quoridor-fences 8x8", fences()),
        ("quoridor-fences 8x8 --table by_fences", fences()),
    ] {
        let text = count(&format!("{line} --format bfile"));
        let expected: Vec<String> = expected.iter().map(|(n, count)| format!("{n} {count}")).collect();
        assert_eq!(text, expected.join("\n") + "\n", "{line}");
    }
    let text = count("go 7x8 --series --format bfile");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 8);
    for (n, size) in [(6, "6x7"), (7, "7x7"), (8, "7x8")] {
        assert_eq!(lines[n - 1], format!("{n} {}", legal(size)));
    }
    let text = count("square-free 6 --table by_x --format bfile");
    assert_eq!(text.lines().nth(18), Some("18 24"));
    assert_eq!(text.lines().count(), 37);
}

/// A request that cannot be printed is refused at once. Counting first would take far too long for a test.
#[test]
fn what_cannot_be_printed_is_refused_before_the_count() {
    for (line, text) in [
        ("count go 18x19 --format bfile", "use --series for the boards up to this length"),
        ("count knight 9x10 --closed --format bfile", "count a square board"),
        ("count quoridor 9 --format bfile", "one of by_fences, not_both_on_goals_by_fences"),
        (
            "count quoridor 9 --format bfile --table variants",
            "needs consecutive indices, and variants does not have them: use --format csv, or --table with one of \
             by_fences, not_both_on_goals_by_fences, neither_on_goal_by_fences, in_hand_by_fences, fences, count",
        ),
        ("count quoridor 9 --format bfile --series", "no series of shorter boards"),
        ("count quoridor 9 --series", "no series of shorter boards"),
        ("count quoridor 9 --table fence_law", "--table takes by_fences"),
        ("count go 19x19 --table by_x", "--table takes count"),
        ("count go 19x19 --series --table count", "cannot be used with"),
        ("count go 19x19 --format bfile --json", "--json is --format json"),
        ("count go 19x19 --format xml", "text, json, csv, bfile, latex, gp"),
        ("count go 19x19 --list", "leave out --list"),
        ("count square-free 11 --list", "more than 300000 partial boards"),
        ("count square-free 11 --list --format csv", "--list needs --format text or json"),
        ("count square-free 3 --list --format latex", "--list needs --format text or json"),
        ("submit go 19x19 --format csv", "--wait"),
        ("submit go 19x19 --format gp", "--wait"),
        ("submit go 18x19 --wait --format bfile", "use --series"),
    ] {
        let ran = keima(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{line}: {ran:#?}");
        assert!(ran.stderr.contains(text), "{line}: {}", ran.stderr);
    }
}

#[test]
fn text_is_aligned_and_tells_why_estimates_are_off() {
    let text = count("quoridor-fences 8x8");
    let mut blocks = text.split("\n\n");
    assert_eq!(blocks.next(), Some("1375968129062134174771"));
    let table: Vec<&str> = blocks.next().unwrap().lines().collect();
    assert_eq!(table[0], "by_fences");
    let heads: Vec<&str> = table[1].split_whitespace().collect();
    assert_eq!(heads, ["fences", "count", "mertens", "mertens_unordered"]);
    assert!(table[1..23].iter().all(|line| line.len() == table[1].len()), "{text}");
    let cells: Vec<&str> = table[4].split_whitespace().collect();
    assert_eq!(cells, ["2", "7952", "1.5872e4", "7.9360e3"]);
    let remarks = table[23..].join(" ");
    for said in ["6.1582e38", "4.5e17 times", "k! orders", "3.8921e20", "at the rim"] {
        assert!(remarks.contains(said), "{said}: {remarks}");
    }
    let object = json("quoridor-fences 8x8");
    assert_eq!(object["counts"][2]["mertens"], "1.5872e4");
    let said: Vec<&str> =
        object["remarks"].as_array().unwrap().iter().map(|remark| remark["remark"].as_str().unwrap()).collect();
    assert_eq!(said.join(" "), remarks);

    let text = count("go 5x9 --series --format text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), (format!("L(5,1)  {:>22}", 113).as_str(), 9));
}

/// A law of the run is checked, and is no result.
#[test]
fn laws_are_checked_and_not_shown() {
    let object = json("quoridor 3 --all");
    let known = object["checks"].as_array().unwrap().iter().find(|check| check["name"] == "known_rows").unwrap();
    assert_eq!((&known["ok"], &known["detail"]), (&true.into(), &"4 rows equal their known values".into()));
    let rows = object["counts"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["table"] != "fence_law"));
    for format in ["text", "csv"] {
        let text = count(&format!("quoridor 3 --all --format {format}"));
        assert!(text.contains("variants") && !text.contains("fence_law"), "{text}");
    }
}

/// Only laws that were checked are listed. Of these problems only Go has a law; the block executor checks it in its tables.
#[test]
fn a_law_is_told_where_there_is_one() {
    for (what, told) in [
        ("go 4x4 --executor stream", true),
        ("go 4x4 --executor block", false),
        ("square-free 3", false),
        ("quoridor 3", false),
    ] {
        let object = json(what);
        let names: Vec<&str> =
            object["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
        assert_eq!(names.contains(&"problem_law"), told, "{what}: {names:?}");
        assert!(names.contains(&"mass_balance"), "{what}: {names:?}");
    }
}

#[test]
fn listings_are_what_was_counted() {
    for side in 1..=4_u32 {
        let object = json(&format!("square-free {side} --list"));
        let boards = object["objects"].as_array().unwrap();
        assert_eq!(object["count"], boards.len().to_string(), "{side}");
        let squares = brute::squares(side);
        let mut before = "";
        for board in boards.iter().map(|board| board.as_str().unwrap()) {
            assert!(before < board, "{side}: in order, each once");
            before = board;
            assert!(board.lines().count() == side as usize && board.lines().all(|row| row.len() == side as usize));
            let cells = board.lines().flat_map(str::chars).enumerate();
            let x = cells.fold(0_u128, |set, (place, c)| set | u128::from(c == 'x') << place);
            assert!(brute::is_square_free(x, &squares), "{board}");
        }
        let expected: u64 = brute::counts(side).unwrap().iter().sum();
        assert_eq!(boards.len() as u64, expected, "{side}");
    }
    let text = count("square-free 2 --list --table count");
    assert!(text.starts_with("14\n\noo\nox\n\noo\nxo\n\n") && text.ends_with("\n\nxx\nxo\n"), "{text}");
}

/// The verbs of a cluster print the same.
#[test]
fn results_of_a_cluster_have_all_formats() {
    let cluster = Cluster::start(Setup::default());
    let _worker = cluster.worker("a", "");
    let submit = ["submit", "quoridor-fences", "3x4", "--all", "--task-memory", "64MiB", "--wait", "--format", "csv"];
    let csv = cluster.client(&submit).stdout;
    assert_eq!(csv, count("quoridor-fences 3x4 --all --format csv"));
    for verb in ["result", "watch"] {
        for format in ["text", "csv", "bfile", "latex", "gp"] {
            let ran = cluster.client(&[verb, "j1", "--format", format]);
            ran.ok();
            assert_eq!(ran.stdout, count(&format!("quoridor-fences 3x4 --all --format {format}")), "{verb} {format}");
        }
        let object = cluster.client(&[verb, "j1", "--format", "json", "--table", "count"]).json();
        assert_eq!(object["count"], read_csv(&csv)[1][2]);
        let status = cluster.client(&["status", "j1", "--json"]).json();
        assert!(object["options"].is_object(), "{object}");
        assert_eq!(status["options"], object["options"], "{status}");
        for (more, text) in [
            (&["--table", "by_x"][..], "--table takes by_fences, count"),
            (&["--table", "count", "--format", "bfile"], "count a square board"),
            (&["--list"], "leave out --list"),
        ] {
            let ran = cluster.client(&[&[verb, "j1"], more].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{verb} {more:?}: {ran:#?}");
            assert!(ran.stderr.contains(text), "{verb} {more:?}: {}", ran.stderr);
        }
    }
}
