//! Holds the tables drawn on top of `builder.rs` against the tables that are built.

use std::collections::BTreeMap;
use std::ops::Range;

use keima_model::Window;

use crate::go::block::cells::inside_of;
use crate::go::block::passes::builder::TableBuilder;
use crate::go::block::signature::lists::WindowSignatures;

const HEIGHT: u32 = 3;
const WINDOW: Window = Window { first: 0, len: 2 };
/// Cell 2: a needy black stone whose string has another border stone above.
const OUTSIDE: u64 = 0xa00;

/// Cells as the drawing writes them: `.` empty, `f` free and `n` needy, black or white, with the flags `a` above and `b` below.
fn cells(code: u64, cells: Range<u32>) -> String {
    let cell = |cell: u32| {
        let nibble = code >> (4 * cell) & 15;
        let flag = |bit: u64, name: &'static str| if nibble & bit == 0 { "" } else { name };
        let colour = if nibble & 1 == 1 { "W" } else { "B" };
        match nibble {
            1 => ".".to_owned(),
            2 | 3 => format!("f{colour}"),
            _ => format!("n{colour}{}{}", flag(2, "a"), flag(4, "b")),
        }
    };
    cells.map(cell).collect::<Vec<_>>().join(" ")
}

/// The lines of the drawing.
fn drawing() -> Vec<String> {
    let WindowSignatures { signatures, outsides } = WindowSignatures::<u64>::new(HEIGHT, WINDOW).unwrap();
    let signature_of: BTreeMap<u64, u32> = outsides.iter().copied().collect();
    let inside = inside_of::<u64>(WINDOW);
    let made = TableBuilder::new(WINDOW, inside, signatures, 1)
        .unwrap()
        .with_passes(|outside| signature_of.get(&outside).copied(), false);
    let made = &made.unwrap()[signature_of[&OUTSIDE] as usize];
    let entries = |step: usize| {
        let mut codes: Vec<(u16, u64)> =
            (0..0x100).filter_map(|code| Some((made.entries[step].get(code)?, code))).collect();
        codes.sort_unstable();
        codes
    };
    let mut columns: Vec<Vec<String>> =
        vec![entries(0).iter().map(|(entry, code)| format!("{entry} {}", cells(*code, 0..2))).collect()];
    let mut far = Vec::new();
    for (pass, table) in made.signature.passes.iter().enumerate() {
        let mut sources = table.sources.iter();
        let degrees = (0..).zip(&table.in_degrees).flat_map(|(degree, &count)| vec![degree; count as usize]);
        let column = entries(pass + 1).into_iter().zip(degrees).map(|((entry, code), degree)| {
            let from: Vec<String> = sources.by_ref().take(degree).map(u16::to_string).collect();
            format!("{entry} {:<9}<- {}", cells(code, 0..2), from.join(" "))
        });
        columns.push(column.collect());
        for (operation, found) in table.far.iter().zip(&made.far[pass]) {
            let (next, _) = crate::go::state::successors(WINDOW.first + pass as u32, OUTSIDE | found.code);
            let to = cells(next[usize::from(found.successor)], 2..3);
            let pairs: Vec<String> = operation.pairs.iter().map(|(from, to)| format!("{from} {to}")).collect();
            far.push(format!("far, pass {pass}, to the block with {to} at cell 2: {}", pairs.join(", ")));
        }
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let text = |column: usize, row: usize| columns[column].get(row).map_or("", String::as_str);
    let row = |row| format!("{:<13}{:<23}{}", text(0, row), text(1, row), text(2, row)).trim_end().to_owned();
    (0..rows).map(row).chain(far).collect()
}

#[test]
fn what_is_drawn_is_made() {
    let drawn: Vec<&str> =
        include_str!("builder.rs").lines().filter_map(|line| line.strip_prefix("//!   ")).map(str::trim_end).collect();
    let made = drawing();
    let at = drawn.windows(made.len()).position(|lines| lines == made);
    assert!(at.is_some(), "not drawn so:\n{}", made.join("\n"));
}
