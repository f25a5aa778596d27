//! The codes that may follow each other down a border: the rule for neighbours, and the rule for the kink.
//!
//! Before the pass over cell y the border has a kink: cells above y are of the new column, the others of the old one.
//!
//! ```text
//!   height 5, y = 3       old   new
//!                          .     0
//!                          .     1
//!                          w     2 = y-1      w lies behind the border now. It is a neighbour of both,
//!                    y  =  3     .            cells 2 and 3 are none of each other
//!                          4     .
//! ```
//!
//! Cell 3 has the same from w as cell 2. If w is empty, both are free; if w is a stone of their colour, both are of its
//! string. Cell 3 knows nothing of what cell 2 has from cell 1 or from above. So, the paper's definition 3:
//!
//! ```text
//!   cell 1        cell 2            explained without w?             cell 3 agrees with
//!   empty         free black        yes: its liberty is cell 1       anything
//!   free white    free black        no: its liberty is w             cell 2 as with a neighbour
//!   any           needy, no flags   yes: it has nothing              anything
//!   needy black   needy black,      yes, if cell 1 leads below:      anything
//!                 above             they are neighbours
//!   any           needy, below      no: that way leads through w     cell 2 as with a neighbour
//! ```
//!
//! Without this rule blocks have more entries, all of them 0. Paper: section 5.2. Cost: a few comparisons; only tables and
//! the automaton ask.

use super::state::{ABOVE, BELOW, COLOUR, EDGE, EMPTY, FREE, NEEDY};

/// Whether `code` may follow `previous` in a neighbouring cell below. [`EDGE`] as `previous` allows everything.
pub(super) fn neighbours_agree(previous: u32, code: u32) -> bool {
    let same_colour = (previous ^ code) & COLOUR == 0;
    match (previous, code) {
        (EDGE, _) => true,
        (NEEDY.., EMPTY) | (EMPTY, NEEDY..) => false,
        (NEEDY.., NEEDY..) if same_colour => previous & BELOW != 0 && code & ABOVE != 0,
        (NEEDY.., FREE..NEEDY) | (FREE..NEEDY, NEEDY..) => !same_colour,
        _ => true,
    }
}

/// The code that cell y must agree with at kink y: the code `last` of cell y-1 where it depends on the west neighbour, else
/// [`EDGE`]. `previous` is the code of cell y-2 ([`EDGE`] for none).
pub(super) fn neighbour_across_kink(previous: u32, last: u32) -> u32 {
    let explained = match last {
        EDGE | EMPTY => true,
        FREE..NEEDY => previous == EMPTY || previous == last,
        // Its only possible connections besides the one to y-2 lead through the west.
        _ => {
            let connected =
                previous >= NEEDY && (previous ^ last) & COLOUR == 0 && previous & BELOW != 0 && last & ABOVE != 0;
            last & (ABOVE | BELOW) == 0 || connected
        }
    };
    if explained { EDGE } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE: u32 = COLOUR;

    #[test]
    fn neighbours_are_empty_free_or_of_one_string() {
        for (previous, code, agree) in [
            (EDGE, NEEDY | ABOVE, true),
            (EMPTY, EMPTY, true),
            (EMPTY, FREE | WHITE, true),
            (EMPTY, NEEDY, false),
            (NEEDY, EMPTY, false),
            (FREE, NEEDY, false),
            (FREE, NEEDY | WHITE, true),
            (NEEDY, NEEDY | WHITE, true),
            (NEEDY, NEEDY, false),
            (NEEDY | BELOW, NEEDY, false),
            (NEEDY | BELOW, NEEDY | ABOVE, true),
        ] {
            assert_eq!(neighbours_agree(previous, code), agree, "{previous} above {code}");
        }
    }

    /// The table above, and what is like it.
    #[test]
    fn what_the_cell_above_does_not_explain_comes_from_the_west() {
        for (previous, last, explained) in [
            (EMPTY, FREE, true),
            (FREE, FREE, true),
            (FREE | WHITE, FREE, false),
            (NEEDY | WHITE, FREE, false),
            (EDGE, FREE, false),
            (FREE, NEEDY | WHITE, true),
            (NEEDY | BELOW, NEEDY | ABOVE, true),
            (NEEDY | BELOW | WHITE, NEEDY | ABOVE, false),
            (NEEDY | WHITE, NEEDY | BELOW, false),
            (EDGE, NEEDY | BELOW, false),
            (EDGE, NEEDY, true),
            (FREE, EMPTY, true),
        ] {
            let expected = if explained { EDGE } else { last };
            assert_eq!(neighbour_across_kink(previous, last), expected, "{last} below {previous}");
        }
    }
}
