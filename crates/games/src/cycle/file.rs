//! A cycle as a file.
//!
//! ```json
//! {
//!   "format": "keima-go-cycle", "version": 1, "board": "1x3", "start": "X..",
//!   "moves": ["Bc...", "..."]
//! }
//! ```
//!
//! Positions have one letter a point: `.` empty, `X` black, `O` white. Moves have one letter each: the point, `A` or `a` for
//! the first, as a capital for black. The strings of `moves` are read as one. The last move leads back to the start. A cycle of
//! 1x10 takes 19 kB.

use keima_problems::go::rules::{Colour, Rules};

use super::Cycle;

/// The name of the format.
pub const FORMAT: &str = "keima-go-cycle";
/// Its version.
pub const VERSION: u64 = 1;
/// Moves in one string.
const LINE: usize = 100;

/// The cycle as the text of a file; `None` for a board without rules.
pub fn to_text(cycle: &Cycle) -> Option<String> {
    let rules = Rules::new(1, cycle.length)?;
    let letters: Vec<u8> =
        cycle.moves.iter().map(|one| one.point as u8 + if one.colour == Colour::Black { b'A' } else { b'a' }).collect();
    let lines: Vec<String> =
        letters.chunks(LINE).map(|line| format!("    \"{}\"", String::from_utf8_lossy(line))).collect();
    Some(format!(
        "{{\n  \"format\": \"{FORMAT}\", \"version\": {VERSION}, \"board\": \"{rules}\", \"start\": \"{}\",\n  \"moves\": \
         [\n{}\n  ]\n}}\n",
        rules.letters(cycle.start),
        lines.join(",\n"),
    ))
}
