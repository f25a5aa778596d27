//! Reads a user's request for a count of knight's tours.

use std::sync::Arc;

use keima_model::{About, AnyProblem, Board, ProblemError, ProblemRequest};

use super::Knight;
use super::layout::MAX_NARROW_HEIGHT;
use super::prune::Prunes;
use super::tours::Tours;
use crate::size::{number, sides};

/// Most cells of the smaller side: 12 pairs and the one that a cell may open have codes of their own.
pub const MAX_HEIGHT: u32 = 12;
/// Most cells of the larger side.
pub const MAX_LENGTH: u32 = 1_000;

/// The description for `keima problems knight`.
pub const ABOUT: About = About {
    summary: "knight's tours, open or closed",
    definition: "Undirected knight's tours of a board of M rows and N columns: Hamiltonian paths (open) or cycles (closed) of \
                 the graph of its knight's moves. A tour and its reversal count once; rotations and reflections count apart. \
                 Directed tours are twice as many. Open tours include those whose ends are a knight's move apart.",
    size: "MxN, M rows and N columns; the smaller side 1 to 12, the larger up to 1000",
    options: &[
        ("open", "", "all open tours"),
        ("closed", "", "closed tours"),
        (
            "from",
            "SQ",
            "open tours from this square (with --to): a letter for the column and a number for the row, a1 in a corner, or \
             row,column counted from 0; b1 is 0,1",
        ),
        ("to", "SQ", "the other end"),
    ],
    known: "Closed: OEIS A175881 (6xn), A193054 (7xn), A193055 (8xn); 8x8: 13267364410532 (B. D. McKay 1997; the often quoted \
            33439123484294 is wrong). Open: OEIS A079137 (4xn), A083386 (5xn); 6x6, 7x7 and 8x8 by pair of ends: \"O \
            kolichestve nezamknutykh marshrutov konya\" (2013-2014), in all half of A165134; all open 8x8: \
            9795914085489952.",
    examples: &[
        "keima count knight 6x6 --open",
        "keima count knight 6x8 --closed",
        "keima count knight 7x7 --from a1 --to c1",
        "keima count knight 5x9 --from 0,0 --to 4,8",
    ],
};

/// The problem that `request` describes.
pub fn open(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    let (rows, columns) = sides(request, MAX_HEIGHT, MAX_LENGTH)?;
    let board = Board { height: rows.min(columns), length: rows.max(columns) };
    // Columns of the board that is filled run along the smaller side.
    let cell = |(row, column): (u32, u32)| {
        if rows <= columns { column * rows + row } else { row * columns + column }
    };
    let tours = match wanted(&request.options, rows, columns)? {
        Wanted::Open => Tours::Open,
        Wanted::Closed => Tours::Closed,
        Wanted::Between(from, to) => Tours::Between(cell(from), cell(to)),
    };
    let size = request.size.clone();
    Ok(if board.height <= MAX_NARROW_HEIGHT {
        AnyProblem::Narrow(Arc::new(Knight::<u64>::new(size, board, tours, Prunes::ALL)))
    } else {
        AnyProblem::Wide(Arc::new(Knight::<u128>::new(size, board, tours, Prunes::ALL)))
    })
}

/// The same number on the turned board; `None` for a square board, one that would be too high, or tours between two squares.
pub(crate) fn turned(request: &ProblemRequest) -> Option<AnyProblem> {
    let board = crate::size::turned(request, MAX_HEIGHT, MAX_LENGTH)?;
    let tours = match wanted(&request.options, board.length, board.height).ok()? {
        Wanted::Open => Tours::Open,
        Wanted::Closed => Tours::Closed,
        Wanted::Between(..) => return None,
    };
    let size = request.size.clone();
    Some(if board.height <= MAX_NARROW_HEIGHT {
        AnyProblem::Narrow(Arc::new(Knight::<u64>::new(size, board, tours, Prunes::ALL)))
    } else {
        AnyProblem::Wide(Arc::new(Knight::<u128>::new(size, board, tours, Prunes::ALL)))
    })
}

/// Row and column, counted from 0.
type Square = (u32, u32);

/// The tours that the options ask for.
#[derive(Clone, Copy)]
enum Wanted {
    Open,
    Closed,
    Between(Square, Square),
}

const CHOICE: &str = "say which tours to count: --open, --closed, or --from SQ --to SQ";

fn bad_option(option: &str, got: &str, why: impl Into<String>) -> ProblemError {
    ProblemError::BadOption {
        problem: "knight".to_owned(),
        option: option.to_owned(),
        got: got.to_owned(),
        why: why.into(),
    }
}

fn wanted(options: &[(String, String)], rows: u32, columns: u32) -> Result<Wanted, ProblemError> {
    let mut all = None;
    let (mut from, mut to) = (None, None);
    for (option, value) in options {
        let twice = match option.as_str() {
            "open" | "closed" if !value.is_empty() => {
                return Err(bad_option(option, value, format!("--{option} takes no value")));
            }
            "open" => all.replace(Wanted::Open).is_some(),
            "closed" => all.replace(Wanted::Closed).is_some(),
            "from" | "to" => {
                let square = square(value, rows, columns).map_err(|why| bad_option(option, value, why))?;
                let end = if option == "from" { &mut from } else { &mut to };
                end.replace((square, value)).is_some()
            }
            _ => return Err(bad_option(option, value, "knight has no such option; it has open, closed, from and to")),
        };
        if twice {
            return Err(bad_option(option, value, format!("once is enough; {CHOICE}")));
        }
    }
    match (all, from, to) {
        (Some(all), None, None) => Ok(all),
        (None, Some((from, _)), Some((to, value))) if from == to => {
            Err(bad_option("to", value, "the ends of a tour are two different squares"))
        }
        (None, Some((from, _)), Some((to, _))) => Ok(Wanted::Between(from, to)),
        (None, Some(_), None) => Err(bad_option("to", "", "missing: --from needs --to, the tour's other end")),
        (None, None, Some(_)) => Err(bad_option("from", "", "missing: --to needs --from, the tour's other end")),
        (None, None, None) => Err(bad_option("", "", CHOICE)),
        (Some(_), Some((_, value)), _) => Err(bad_option("from", value, format!("too many choices; {CHOICE}"))),
        (Some(_), None, Some((_, value))) => Err(bad_option("to", value, format!("too many choices; {CHOICE}"))),
    }
}

/// A square of the board: a letter and a number, `c2`, or row and column from 0, `1,2`. `Err` says what is expected.
fn square(text: &str, rows: u32, columns: u32) -> Result<Square, String> {
    let expected = || {
        format!(
            "a square is a letter and a number, such as c2, or row,column from 0, such as 1,2 for c2; this board has {rows} rows and {columns} columns"
        )
    };
    let (row, column) = if let Some((row, column)) = text.split_once(',') {
        (number(row.trim()), number(column.trim()))
    } else {
        let mut characters = text.chars();
        let letter = characters.next().map(|c| c.to_ascii_lowercase()).filter(char::is_ascii_lowercase);
        let column = letter.map(|letter| letter as u32 - 'a' as u32);
        (number(characters.as_str()).and_then(|row| row.checked_sub(1)), column)
    };
    match (row, column) {
        (Some(row), Some(column)) if row < rows && column < columns => Ok((row, column)),
        (Some(_), Some(_)) => Err(format!("not on the board; {}", expected())),
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(size: &str, options: &[(&str, &str)]) -> Result<AnyProblem, ProblemError> {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        open(&ProblemRequest { name: "knight".to_owned(), size: size.to_owned(), options })
    }

    #[test]
    fn requests_name_boards_and_tours() {
        for (size, options, identity) in [
            ("6x6", vec![("open", "")], "knight: open tours, board 6x6, encoding 1, 64-bit keys"),
            ("8x6", vec![("closed", "")], "knight: closed tours, board 6x8, encoding 1, 64-bit keys"),
            ("8X8", vec![("closed", "")], "knight: closed tours, board 8x8, encoding 1, 128-bit keys"),
            (
                "5x6",
                vec![("from", "a1"), ("to", "b3")],
                "knight: open tours from cell 0 to cell 7, board 5x6, encoding 1, 64-bit keys",
            ),
            (
                "5x6",
                vec![("to", "2,1"), ("from", "0,0")],
                "knight: open tours from cell 0 to cell 7, board 5x6, encoding 1, 64-bit keys",
            ),
            // The other way round: rows are columns of the board that is filled.
            ("6x5", vec![("from", "F1"), ("to", "1,0")], ""),
            (
                "6x5",
                vec![("from", "e1"), ("to", "1,0")],
                "knight: open tours from cell 4 to cell 5, board 5x6, encoding 1, 64-bit keys",
            ),
        ] {
            match ask(size, &options) {
                Ok(problem) => assert_eq!(problem.info().identity(), identity),
                Err(error) => assert!(identity.is_empty(), "{error}"),
            }
        }
    }

    #[test]
    fn bad_requests_say_what_is_wrong() {
        for (size, options, expected) in [
            ("6", vec![("open", "")], "say 6x6"),
            ("13x13", vec![("open", "")], "at most 12, it is 13"),
            ("3x1001", vec![("open", "")], "at most 1000"),
            ("0x3", vec![("open", "")], "at least 1"),
            ("3x-3", vec![("open", "")], "\"-3\" is not a whole number"),
            ("6x6", vec![], "--open, --closed, or --from SQ --to SQ"),
            ("6x6", vec![("open", "yes")], "takes no value"),
            ("6x6", vec![("open", ""), ("closed", "")], "once is enough"),
            ("6x6", vec![("open", ""), ("from", "a1")], "too many choices"),
            ("6x6", vec![("closed", ""), ("to", "a1")], "too many choices"),
            ("6x6", vec![("from", "a1")], "--from needs --to"),
            ("6x6", vec![("to", "a1")], "--to needs --from"),
            ("6x6", vec![("from", "a1"), ("to", "0,0")], "two different squares"),
            ("6x6", vec![("from", "a0"), ("to", "b1")], "a letter and a number"),
            ("6x6", vec![("from", "a7"), ("to", "b1")], "not on the board"),
            ("6x6", vec![("from", "6,0"), ("to", "b1")], "not on the board"),
            ("6x6", vec![("from", "-1,0"), ("to", "b1")], "a letter and a number"),
            ("6x6", vec![("from", ""), ("to", "b1")], "a letter and a number"),
            ("6x6", vec![("max-fences", "3")], "open, closed, from and to"),
        ] {
            let error = ask(size, &options).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(expected), "{size} {options:?}: {error}");
        }
    }
}
