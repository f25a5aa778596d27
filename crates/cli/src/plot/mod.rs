//! `keima plot`: a picture of results, as SVG.
//!
//! ```text
//!   input    results of `keima count --json` out of files
//!   states   border states at each boundary, from certificates
//!   formula  relative error of the problem's formula, over the length of the board
//!   table    one table over its index
//! ```

mod formula;
mod input;
mod states;
mod table;

use crate::args::{PlotArgs, Plotted};
use crate::exit::Failed;
use crate::terminal::output::hand_over;

pub(crate) fn plot(args: &PlotArgs) -> Result<(), Failed> {
    let results = input::read(&args.files)?;
    let chart = match (&args.table, args.what) {
        (Some(name), _) => table::chart(&results, name),
        (None, Some(Plotted::Formula)) => formula::chart(&results),
        (None, Some(Plotted::States) | None) => states::chart(&results),
    };
    let svg = chart?.svg();
    match &args.out {
        None => hand_over(svg.trim_end()),
        Some(path) => std::fs::write(path, svg).map_err(|error| {
            Failed::other(format!("cannot write {}: {error}; choose another file with --out", path.display()))
        }),
    }
}
