//! Reads series from b-files of the OEIS and from JSON results of `keima count --series --json`.
//!
//! Nothing that is read is trusted: a gap, a wrong first index or a word that is no number is refused with its line.
//! Cost: linear in the text; numbers are read by GMP.

use rug::Integer;
use serde_json::Value;

/// Where something stands in a text: both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a b-file.
    Line(usize),
    /// An entry of the list `series` in JSON.
    Entry(usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Entry(entry) => write!(f, "entry {entry} of `series`"),
        }
    }
}

/// A series and where its terms stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Index of the first term.
    pub first: u32,
    /// The terms.
    pub terms: Vec<Integer>,
    /// Place of each term.
    pub places: Vec<Place>,
}

/// A text that holds no series.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// A line is no pair of numbers.
    #[error("line {line}: expected `n a(n)`, two whole numbers, got {got:?}")]
    NoPair {
        /// The line.
        line: usize,
        /// What it holds, its beginning.
        got: String,
    },
    /// An index is out of range.
    #[error("line {line}: expected an index n from 0 to {}, got {got}", u32::MAX)]
    BadIndex {
        /// The line.
        line: usize,
        /// What it holds, its beginning.
        got: String,
    },
    /// An index is not the one after the last.
    #[error("{place}: expected n = {expected}, got n = {got}: {}", advice(*expected, *got))]
    Gap {
        /// The place.
        place: Place,
        /// The next index.
        expected: u64,
        /// What came.
        got: u64,
    },
    /// Two series differ.
    #[error("{place}: expected a({index}) = {expected}, as keima counts it, got {got}")]
    Differs {
        /// The place.
        place: Place,
        /// The index.
        index: u64,
        /// What was counted.
        expected: Box<Integer>,
        /// What was read.
        got: Box<Integer>,
    },
    /// The series begins elsewhere.
    #[error("{place}: expected the first index {expected}, got {got}: the file has another offset")]
    Offset {
        /// The place.
        place: Place,
        /// The first index of the problem's series.
        expected: u32,
        /// What came.
        got: u32,
    },
    /// No terms at all.
    #[error("expected a b-file (lines `n a(n)`) or a result of `keima count --series --json`, got no term")]
    Empty,
    /// JSON of another kind.
    #[error(
        "expected the field `series` of `keima count --series --json`, got JSON without it; count again with --series"
    )]
    NoSeries,
    /// JSON that cannot be read, or whose entries are no terms.
    #[error("entry {entry} of `series`: expected an index and a count that passed its checks, got {got}")]
    BadEntry {
        /// The entry, from 1.
        entry: usize,
        /// What it holds.
        got: String,
    },
    /// No JSON.
    #[error("expected JSON, since the text begins with a brace: {0}")]
    Json(String),
}

/// What is wrong with the order of indices.
fn advice(expected: u64, got: u64) -> &'static str {
    if got > expected {
        "a series has no gaps; add the missing terms"
    } else {
        "the terms stand in the order of n, each once; sort the lines"
    }
}

/// A text without the mark that some editors put before UTF-8.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads a text of either kind. JSON begins with a brace.
pub fn read(text: &str) -> Result<Series, InputError> {
    let text = without_mark(text);
    let series = if text.trim_start().starts_with('{') { json(text)? } else { bfile(text)? };
    if series.terms.is_empty() { Err(InputError::Empty) } else { Ok(series) }
}

/// Longest part of a wrong line that is shown.
const SHOWN: usize = 60;

fn bfile(text: &str) -> Result<Series, InputError> {
    let mut series = Series { first: 0, terms: Vec::new(), places: Vec::new() };
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let no_pair = || InputError::NoPair { line, got: content.chars().take(SHOWN).collect() };
        let (index, term) = content.split_once(char::is_whitespace).ok_or_else(no_pair)?;
        // GMP takes blanks and underscores, which a b-file has not.
        let is_number = |text: &str| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        let term = term.trim();
        let term: Integer = is_number(term).then(|| term.parse().ok()).flatten().ok_or_else(no_pair)?;
        let bad_index = || InputError::BadIndex { line, got: index.chars().take(SHOWN).collect() };
        let index: u32 = index.parse().map_err(|_| if is_number(index) { bad_index() } else { no_pair() })?;
        add(&mut series, Place::Line(line), index, term)?;
    }
    Ok(series)
}

fn add(series: &mut Series, place: Place, index: u32, term: Integer) -> Result<(), InputError> {
    if series.terms.is_empty() {
        series.first = index;
    }
    let expected = u64::from(series.first) + series.terms.len() as u64;
    if u64::from(index) != expected {
        return Err(InputError::Gap { place, expected, got: index.into() });
    }
    series.terms.push(term);
    series.places.push(place);
    Ok(())
}

fn json(text: &str) -> Result<Series, InputError> {
    let value: Value = serde_json::from_str(text).map_err(|error| InputError::Json(error.to_string()))?;
    let entries = value.get("series").and_then(Value::as_array).ok_or(InputError::NoSeries)?;
    let mut series = Series { first: 0, terms: Vec::new(), places: Vec::new() };
    for (number, entry) in (1..).zip(entries) {
        let bad = || InputError::BadEntry { entry: number, got: entry.to_string().chars().take(SHOWN).collect() };
        let index = entry.get("index").and_then(Value::as_u64).and_then(|index| u32::try_from(index).ok());
        let count = entry.get("count").and_then(Value::as_str);
        let count = count.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        let term = count.and_then(|text| text.parse().ok()).ok_or_else(bad)?;
        if entry.get("ok").and_then(Value::as_bool) == Some(false) {
            return Err(bad());
        }
        add(&mut series, Place::Entry(number), index.ok_or_else(bad)?, term)?;
    }
    Ok(series)
}

impl Series {
    /// Compares all terms with a count of the same series, which begins at `first`.
    pub fn check(&self, first: u32, counted: impl Iterator<Item = Integer>) -> Result<(), InputError> {
        if self.first != first {
            let place = self.places.first().copied().unwrap_or(Place::Line(1));
            return Err(InputError::Offset { place, expected: first, got: self.first });
        }
        for (index, ((got, &place), expected)) in
            (u64::from(first)..).zip(self.terms.iter().zip(&self.places).zip(counted))
        {
            if *got != expected {
                let (expected, got) = (Box::new(expected), Box::new(got.clone()));
                return Err(InputError::Differs { place, index, expected, got });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_read_or_refused_with_their_line() {
        for (text, expected) in [
            ("1 2\n2 3\n3 5\n", Ok((1, 3))),
            ("# A000045\n0 0\n\n1 1   \n2\t1 # two\n", Ok((0, 3))),
            ("1 -5\n2 7\n", Ok((1, 2))),
            (r#"{"series": [{"index": 1, "count": "5"}, {"index": 2, "count": "57", "ok": true}]}"#, Ok((1, 2))),
            ("1 2\n3 5\n", Err("line 2: expected n = 2, got n = 3")),
            ("1 2\n2 3\n2 3\n", Err("line 3: expected n = 3, got n = 2")),
            ("1 2\n3 5\n", Err("add the missing terms")),
            ("3 5\n2 3\n1 2\n", Err("line 2: expected n = 4, got n = 2: the terms stand in the order of n")),
            ("1 2\n1 2\n", Err("each once; sort the lines")),
            ("\u{feff}1 15\n2 16\n", Ok((1, 2))),
            ("\u{feff}{\"series\": [{\"index\": 3, \"count\": \"5\"}]}", Ok((3, 1))),
            ("-3 15\n", Err("line 1: expected an index n from 0 to 4294967295, got -3")),
            ("1 2\n4294967296 15\n", Err("line 2: expected an index n from 0 to 4294967295, got 4294967296")),
            ("1 2\ntwo 3\n", Err("line 2: expected `n a(n)`")),
            ("1 2\n2 3x\n", Err("line 2: expected `n a(n)`")),
            ("1 2\n2\n", Err("line 2: expected `n a(n)`")),
            ("1 2\n2 1_000\n", Err("line 2: expected `n a(n)`")),
            ("1 2\n2 3 4\n", Err("line 2: expected `n a(n)`")),
            ("-1 2\n", Err("line 1: expected an index n from 0")),
            ("", Err("no term")),
            ("# nothing\n", Err("no term")),
            ("{", Err("expected JSON")),
            ("{}", Err("with --series")),
            (r#"{"series": []}"#, Err("no term")),
            (r#"{"series": [{"index": 1, "count": 5}]}"#, Err("entry 1 of `series`")),
            (r#"{"series": [{"index": 1, "count": "5", "ok": false}]}"#, Err("entry 1 of `series`")),
            (
                r#"{"series": [{"index": 1, "count": "5"}, {"index": 3, "count": "7"}]}"#,
                Err("entry 2 of `series`: expected n = 2"),
            ),
        ] {
            match (read(text), expected) {
                (Ok(series), Ok((first, terms))) => assert_eq!((series.first, series.terms.len()), (first, terms)),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{text:?}: {error}"),
                (got, expected) => panic!("{text:?}: {got:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn a_recount_names_the_line() {
        let counted = || [5, 57, 489].into_iter().map(Integer::from);
        for (text, expected) in [
            ("1 5\n2 57\n3 489\n", None),
            ("1 5\n2 57\n", None),
            ("# go\n1 5\n2 58\n3 489\n", Some("line 3: expected a(2) = 57, as keima counts it, got 58")),
            ("0 5\n1 57\n", Some("line 1: expected the first index 1, got 0")),
            (
                r#"{"series": [{"index": 1, "count": "5"}, {"index": 2, "count": "75"}]}"#,
                Some("entry 2 of `series`: expected a(2) = 57"),
            ),
            (r#"{"series": [{"index": 2, "count": "57"}]}"#, Some("entry 1 of `series`: expected the first index 1")),
        ] {
            let error = read(text).unwrap().check(1, counted()).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), expected.is_some(), "{text:?}: {error:?}");
            assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()), "{text:?}");
        }
    }
}
