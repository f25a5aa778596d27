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

use keima_analyse::plot::Chart;

use self::input::Counted;
use crate::args::{PlotArgs, Plotted};
use crate::exit::Failed;
use crate::terminal::output::hand_over;

fn chart(results: &[Counted], what: Option<Plotted>, table: Option<&str>) -> Result<Chart, Failed> {
    match (table, what) {
        (Some(name), _) => table::chart(results, name),
        (None, Some(Plotted::Formula)) => formula::chart(results),
        (None, Some(Plotted::States) | None) => states::chart(results),
    }
}

/// The number of pictures that a text gives, of those that `keima plot` draws.
pub(crate) fn pictures(text: &str) -> usize {
    let Ok(results) = input::results_of("probe", text) else { return 0 };
    if results.is_empty() {
        return 0;
    }
    let all = [(Some(Plotted::States), None), (Some(Plotted::Formula), None), (None, Some("by_fences"))];
    let drawn = all.into_iter().filter_map(|(what, table)| chart(&results, what, table).ok());
    drawn.filter(|chart| chart.svg().ends_with("</svg>\n")).count()
}

pub(crate) fn plot(args: &PlotArgs) -> Result<(), Failed> {
    let results = input::read(&args.files)?;
    let svg = chart(&results, args.what, args.table.as_deref())?.svg();
    match &args.out {
        None => hand_over(svg.trim_end()),
        Some(path) => std::fs::write(path, svg).map_err(|error| {
            Failed::other(format!("cannot write {}: {error}; choose another file with --out", path.display()))
        }),
    }
}
