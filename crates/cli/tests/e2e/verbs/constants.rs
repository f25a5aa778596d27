//! `keima analyse --constants`: text, JSON and plot say the same, and counts of a file join in.

use std::io::Write;

use serde_json::Value;

use crate::harness::process::keima;

const RATIOS: &str = include_str!("../../../../../tests/golden/go_base_of_liberties.csv");
const COUNTS: &str = include_str!("../../../../../tests/golden/go_legal_positions.csv");

fn json(more: &[&str]) -> Value {
    keima(&[&["analyse", "go", "--constants", "--json", "--quiet"][..], more].concat()).json()
}

/// The ratios of table 6 of the paper.
#[test]
fn the_table_of_ratios_is_printed() {
    let text = keima(&["analyse", "go", "--constants"]).ok().to_owned();
    let json = json(&[]);
    let ratios: Vec<&str> = json["ratios"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let mut compared = 0;
    for (n, printed) in RATIOS.lines().filter_map(|line| line.split_once(',')) {
        let Ok(n) = n.parse::<usize>() else { continue };
        // The last printed digit may be rounded or cut. That of n = 16 is misprinted.
        let places = printed.len() - 2;
        let digits = |text: &str| text.replace('.', "")[..=places].parse::<i128>().unwrap();
        let off = digits(ratios[n - 1]) - digits(printed);
        assert!(off.abs() <= if n == 16 { 4 } else { 1 }, "{n}: {printed}, {}", ratios[n - 1]);
        assert!(text.contains(&format!("\n{n:>4}  {}", &ratios[n - 1][..24])), "{n}: {} in {text}", ratios[n - 1]);
        compared += 1;
    }
    assert_eq!((compared, ratios.len()), (18, 18));
    assert!(ratios[15].starts_with("2.975734192043357249366"), "{}", ratios[15]);
}

/// A value and its bar as numbers with 25 places; what f64 keeps of them is enough for a difference of digits in common.
fn barred(limit: &Value) -> (i128, i128) {
    let digits = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap();
        format!("{whole}{part:0<25}").parse::<i128>().unwrap()
    };
    let (digit, exponent) = limit["error"].as_str().unwrap().split_once("e-").unwrap();
    let error = digit.parse::<i128>().unwrap() * 10_i128.pow(25 - exponent.parse::<u32>().unwrap());
    (digits(limit["value"].as_str().unwrap()), error)
}

#[test]
fn json_has_both_ways_to_the_constants() {
    let json = json(&[]);
    let [ratios, heights] = [&json["from_ratios"], &json["from_heights"]];
    let published = [("L", "2.975734192043357249381"), ("B", "0.96553505933837387"), ("A", "0.8506399258457145")];
    for (letter, printed) in published {
        let printed = barred(&serde_json::json!({ "value": printed, "error": "1e-16" })).0;
        let unit = match letter {
            "L" => 10_i128.pow(25 - 21),
            "B" => 10_i128.pow(25 - 17),
            _ => 10_i128.pow(25 - 16),
        };
        let [(first, first_bar), (second, second_bar)] = [ratios, heights].map(|way| barred(&way[letter]));
        assert!((first - second).abs() <= first_bar + second_bar, "{letter}: {first} and {second}");
        assert!((first - printed).abs() <= first_bar + unit && (second - printed).abs() <= second_bar + unit);
        // The second is better, and the one that is used.
        assert!(second_bar < first_bar && json[letter] == heights[letter], "{letter}: {json:#}");
        assert!(
            heights[letter]["trials"].as_u64() > Some(50)
                && heights[letter]["trials_held"] == heights[letter]["trials"]
        );
    }
    assert_eq!((json["squares"].as_u64(), json["oblongs"].as_u64()), (Some(19), Some(19)));
    let errors = json["relative_errors"].as_array().unwrap();
    assert_eq!((errors.len(), errors[4]["square"].as_str()), (19, Some("7.0e-5")));
    let parts = json["error_parts"].as_array().unwrap();
    assert_eq!((parts.len(), parts[21]["d"].as_str()), (22, Some("-7.1e-22")));
    assert_eq!((parts[12]["d"].as_str(), parts[10]["e"].as_str()), (Some("-1.1e-13"), Some("1.6e-15")));
    // Theorem 3: of squares and of other boards.
    let bounds = json["theorem_3"].as_array().unwrap();
    assert!(bounds.len() >= 12 && bounds.iter().all(|row| row["holds"] == true), "{json:#}");
    let of = |board: &str| bounds.iter().find(|row| row["board"] == board).unwrap();
    // 79^4 3^4 and 79^4 3^4 241, and one to spare.
    let expected = ["3154956561", "414295148741", "760344531202"];
    assert_eq!(["lower", "count", "upper"].map(|name| of("5x5")[name].as_str().unwrap()), expected);
    for board in ["5x10", "10x15", "10x30", "15x15"] {
        let lengths = ["lower", "count", "upper"].map(|name| of(board)[name].as_str().unwrap().len());
        assert!(lengths.is_sorted() && lengths[0] > 9, "{board}: {lengths:?}");
    }
}

/// A point for each board that has an error, and one for each name in the key.
#[test]
fn the_plot_has_a_point_for_each_board() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("error.svg");
    let json = json(&["--svg", path.to_str().unwrap()]);
    let boards = json["relative_errors"].as_array().unwrap().iter();
    let boards: usize = boards.map(|row| 1 + usize::from(row["oblong"].is_string())).sum();
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(svg.contains("n x n") && svg.contains("n x (n+1)"), "{svg}");
    let points = svg.matches("<circle").count();
    assert_eq!((boards, points), (38, 38 + 2 * 2), "two marks for each of two names beside the points");
    let ran = keima(&["analyse", "go", "--constants", "--svg", dir.path().join("none/x.svg").to_str().unwrap()]);
    assert!(ran.code != Some(0) && ran.stderr.contains("cannot write"), "{ran:#?}");
}

/// Counts of a file join those that are known, in both forms; what does not fit is refused with its line.
#[test]
fn counts_of_a_file_join_in() {
    let check = |problem: &str, text: &str, code: i32, expected: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let path = file.path().to_str().unwrap();
        let ran = keima(&["analyse", problem, "--constants", "--from", path, "--quiet"]);
        let said = if code == 0 { &ran.stdout } else { &ran.stderr };
        assert!(ran.code == Some(code) && said.contains(expected), "{problem}, {expected}: {ran:#?}");
    };
    check("go", COUNTS, 0, "from 19 squares and 19 boards one longer");
    check("go", "m,n,count\n2,2,57\n2,2,58\n", 2, "line 3: expected the count 57 of 2x2, as it is known, got 58");
    check("go", "2,2,57\nno table\n", 2, "line 2: expected `m,n,count` or");
    check("go", "20,20,1234567\n", 2, "line 1: expected a count of 20x20 within");
    check("go", "# none\n", 2, "got none");
    check("hard-squares", "1,1,2\n", 2, "add counts with --from FILE");
    // A problem of which squares alone are known: the others come from the file, as keima prints them.
    let mut text = String::new();
    for height in 1..=8 {
        let size = format!("{height}x18");
        text += keima(&["count", "hard-squares", &size, "--series", "--format", "csv", "--quiet"]).ok();
        text.push('\n');
    }
    check("hard-squares", &text, 0, "from 15 squares and 8 boards one longer");
    check("hard-squares", &text, 0, "heights 1 to 8 up to length 18");
    // OEIS A085850: 1.5030480824753...; so few boards give it by ratios, and no way is better by name.
    check("hard-squares", &text, 0, "  L  1.50305 ");
    check("hard-squares", &text, 0, "the first L has the narrower bar");
    // Not long enough.
    let short: String = text.split_inclusive('\n').filter(|line| !line.starts_with("series,18,")).collect();
    check("hard-squares", &short, 0, "not from boards of small heights: with squares up to");
}
