//! Whether a file holds a Hamiltonian cycle: every move is played, by rules written down here once more.
//!
//! This file shares nothing with the search and with the rules that it uses. A position is a row of letters. A move puts a
//! stone down; then each neighbouring string of the other colour goes if it has no liberty, then the own one. In one row a
//! string is a stretch of one letter, and its liberties are the points at both ends.
//!
//! That all positions are visited follows by counting: moves lead to legal positions only, no position comes twice, and there
//! are as many as L(1,n) - 1, by the paper's recurrence L(1,n) = 3 L(1,n-1) - L(1,n-2) + L(1,n-3). Cost: a hash of n letters
//! for each move.

use std::collections::HashMap;

use serde_json::Value;

use super::file::{FORMAT, VERSION};

/// Longest row that is checked: it has 7.4e8 positions.
const MAX_LENGTH: usize = 20;

/// One check of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// `"moves"`.
    pub name: &'static str,
    /// Whether it holds.
    pub ok: bool,
    /// What was found; where it does not hold, what was expected.
    pub detail: String,
}

/// Why a text is no cycle at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotACycle {
    /// Another format or version.
    #[error("expected format {FORMAT:?}, version {VERSION}, got {0}; write the file with this build of `keima games`")]
    Format(String),
    /// A field is missing or has another form.
    #[error("field {field}: expected {expected}, got {got}")]
    Field {
        /// Its name.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        got: String,
    },
}

/// Whether a JSON value says that it is a cycle's file, of whatever version.
pub fn is_cycle(value: &Value) -> bool {
    value.get("format").and_then(Value::as_str) == Some(FORMAT)
}

/// What the file is about (`"cycle on 1x7"`) and its checks.
pub fn check(value: &Value) -> Result<(String, Vec<Checked>), NotACycle> {
    let version = value.get("version").and_then(Value::as_u64);
    if !is_cycle(value) || version != Some(VERSION) {
        let text = |key: &str| value.get(key).map_or_else(|| "none".to_owned(), |value| shortened(&value.to_string()));
        return Err(NotACycle::Format(format!("{}, version {}", text("format"), text("version"))));
    }
    let text = |field: &'static str| {
        value.get(field).and_then(Value::as_str).ok_or_else(|| wrong(field, "a string", value.get(field)))
    };
    let board = text("board")?;
    let length = board.strip_prefix("1x").and_then(|length| length.parse::<usize>().ok());
    let length = length.filter(|length| (1..=MAX_LENGTH).contains(length));
    let length = length.ok_or_else(|| wrong("board", "1xN with N from 1 to 20", value.get("board")))?;
    let start = text("start")?.as_bytes().to_vec();
    if start.len() != length || start.iter().any(|letter| !b".XO".contains(letter)) {
        return Err(wrong("start", "one of the letters . X O for each point", value.get("start")));
    }
    let lines = value.get("moves").and_then(Value::as_array);
    let lines = lines.map(|lines| lines.iter().map(Value::as_str).collect::<Option<String>>());
    let moves = lines.flatten().ok_or_else(|| wrong("moves", "a list of strings", value.get("moves")))?;
    Ok((format!("Hamiltonian cycle on {board}"), checks(&start, moves.as_bytes())))
}

fn wrong(field: &'static str, expected: &'static str, got: Option<&Value>) -> NotACycle {
    NotACycle::Field { field, expected, got: got.map_or_else(|| "none".to_owned(), |got| shortened(&got.to_string())) }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 40 { text.to_owned() } else { text.chars().take(40).chain("...".chars()).collect() }
}

fn checks(start: &[u8], moves: &[u8]) -> Vec<Checked> {
    let expected = positions(start.len()) - 1;
    let mut visited: HashMap<Vec<u8>, usize> = HashMap::new();
    let (mut row, mut illegal, mut again) = (start.to_vec(), None, None);
    if !(0..row.len()).all(|point| row[point] == b'.' || has_liberty(&row, point)) {
        illegal = Some("the start is no legal position".to_owned());
    }
    for (number, &letter) in moves.iter().enumerate() {
        if illegal.is_some() {
            break;
        }
        if row.iter().all(|&point| point == b'.') {
            again = again.or(Some(format!("the empty board stands before move {}", number + 1)));
        }
        if let Some(earlier) = visited.insert(row.clone(), number) {
            let text = format!("{} stands before move {} and move {}", show(&row), earlier + 1, number + 1);
            again = again.or(Some(text));
        }
        match play(&row, letter) {
            Ok(next) => row = next,
            Err(why) => illegal = Some(format!("move {} ({}) on {}: {why}", number + 1, letter as char, show(&row))),
        }
    }
    let (moves_ok, once) = (illegal.is_none(), again.is_none());
    let closed = moves_ok && row == start;
    let half = visited.len() / 2;
    let is_opposite = |(row, number): (&Vec<u8>, &usize)| {
        visited.get(&reversed(row)).is_some_and(|other| other.abs_diff(*number) == half)
    };
    let odd_one = visited.iter().filter(|&one| !is_opposite(one)).min_by_key(|(_, number)| **number);
    let check = |name, ok, good: String, bad: String| Checked { name, ok, detail: if ok { good } else { bad } };
    let played = format!("all {} moves lead to another legal position", moves.len());
    vec![
        check("moves", moves_ok, played, illegal.unwrap_or_default()),
        check(
            "closed",
            closed,
            format!("back at {}", show(start)),
            format!("expected {} at the end, got {}", show(start), show(&row)),
        ),
        check("once", once, "no position comes twice".to_owned(), again.unwrap_or_default()),
        check(
            "all",
            visited.len() as u64 == expected,
            format!("{expected} positions, as many as there are without the empty one"),
            format!("expected {expected} positions, got {}", visited.len()),
        ),
        check(
            "symmetric",
            moves_ok && odd_one.is_none(),
            "opposite positions are each other's colour reversals".to_owned(),
            odd_one
                .map_or_else(String::new, |(row, _)| format!("opposite to {} is another than its reversal", show(row))),
        ),
    ]
}

fn show(row: &[u8]) -> String {
    String::from_utf8_lossy(row).into_owned()
}

fn reversed(row: &[u8]) -> Vec<u8> {
    let letter = |&letter: &u8| match letter {
        b'X' => b'O',
        b'O' => b'X',
        other => other,
    };
    row.iter().map(letter).collect()
}

/// L(1,n).
fn positions(length: usize) -> u64 {
    let mut last = [1, 1, 5];
    for _ in 1..length {
        last = [last[1], last[2], 3 * last[2] - last[1] + last[0]];
    }
    last[1]
}

/// First and last point of the string of the stone at `point`.
fn string(row: &[u8], point: usize) -> (usize, usize) {
    let before = row[..point].iter().rev().take_while(|&&letter| letter == row[point]).count();
    let after = row[point..].iter().take_while(|&&letter| letter == row[point]).count();
    (point - before, point + after - 1)
}

fn has_liberty(row: &[u8], point: usize) -> bool {
    let (first, last) = string(row, point);
    first > 0 && row[first - 1] == b'.' || row.get(last + 1) == Some(&b'.')
}

fn play(row: &[u8], letter: u8) -> Result<Vec<u8>, String> {
    let point = usize::from(letter.to_ascii_uppercase()).wrapping_sub(usize::from(b'A'));
    if !letter.is_ascii_alphabetic() || point >= row.len() {
        return Err("there is no such point".to_owned());
    }
    if row[point] != b'.' {
        return Err("the point is not empty".to_owned());
    }
    let (own, other) = if letter.is_ascii_uppercase() { (b'X', b'O') } else { (b'O', b'X') };
    let mut next = row.to_vec();
    next[point] = own;
    for neighbour in [point.checked_sub(1), Some(point + 1)].into_iter().flatten() {
        if next.get(neighbour) == Some(&other) && !has_liberty(&next, neighbour) {
            let (first, last) = string(&next, neighbour);
            next[first..=last].fill(b'.');
        }
    }
    if !has_liberty(&next, point) {
        let (first, last) = string(&next, point);
        next[first..=last].fill(b'.');
    }
    if next == row { Err("suicide of a single stone leads nowhere".to_owned()) } else { Ok(next) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use keima_problems::go::rules::{Move, Rules};
    use serde_json::json;

    use super::*;
    use crate::cycle::{find, to_text};

    /// The rules of this file and those of the game graph, on all positions of short rows.
    #[test]
    fn both_rules_agree() {
        for length in 1..=7_u32 {
            let rules = Rules::new(1, length).unwrap();
            let all: HashSet<_> = rules.legal_positions().collect();
            assert_eq!(positions(length as usize), all.len() as u64, "1x{length}");
            for &position in &all {
                for letter in (b'A'..b'A' + length as u8).chain(b'a'..b'a' + length as u8) {
                    let colour = keima_problems::go::rules::Colour::BOTH[usize::from(letter.is_ascii_lowercase())];
                    let point = u32::from(letter.to_ascii_uppercase() - b'A');
                    let expected = rules.play(position, Move { point, colour }).map(|next| rules.letters(next));
                    let row = rules.letters(position);
                    assert_eq!(play(row.as_bytes(), letter).ok().map(|next| show(&next)), expected, "{row} {letter}");
                }
            }
        }
    }

    fn failed(value: &Value) -> Vec<&'static str> {
        check(value).unwrap().1.into_iter().filter(|check| !check.ok).map(|check| check.name).collect()
    }

    #[test]
    fn found_cycles_pass_and_changed_ones_fail() {
        for length in 3..=7 {
            let text = to_text(&find(length, 5, 10).unwrap()).unwrap();
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(failed(&value), [""; 0], "seed 5: {text}");
            let moves: String = value["moves"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
            let with = |moves: &str| {
                let mut value = value.clone();
                value["moves"] = json!([moves]);
                failed(&value)
            };
            assert_eq!(with(&moves), [""; 0]);
            assert_eq!(with(&moves.repeat(2)), ["once"], "twice round");
            assert!(with(&moves[1..]).len() > 1);
            assert!(with(&moves[..moves.len() - 1]).contains(&"closed"));
            assert!(with("").contains(&"all"));
            assert!(with(&format!("{}?", &moves[..3])).contains(&"moves"));
            for at in 0..moves.len() {
                let mut changed = moves.clone().into_bytes();
                changed[at] ^= 0x20;
                assert!(!with(std::str::from_utf8(&changed).unwrap()).is_empty(), "1x{length}: colour of move {at}");
            }
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let good = json!({"format": FORMAT, "version": 1, "board": "1x3", "start": "X..", "moves": []});
        assert!(check(&good).is_ok());
        for (field, value) in [
            ("format", json!("keima-go-graph")),
            ("version", json!(2)),
            ("board", json!("1x0")),
            ("board", json!("1x21")),
            ("board", json!("2x3")),
            ("start", json!("X.")),
            ("start", json!("X.\u{e9}")),
            ("start", json!(7)),
            ("moves", json!("ABC")),
            ("moves", json!([1])),
        ] {
            let mut bad = good.clone();
            bad[field] = value.clone();
            assert!(check(&bad).is_err(), "{field} {value}");
        }
        let full = json!({"format": FORMAT, "version": 1, "board": "1x2", "start": "XX", "moves": ["A"]});
        assert!(failed(&full).contains(&"moves"));
    }
}
