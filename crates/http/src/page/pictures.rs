//! The board as it fills, and the states of each pass against their forecast, as SVG.

use std::fmt::Write as _;

use keima_coordinator::{JobStatus, JobView};

use crate::board::{Board, Cell};
use crate::units::show_count;

/// Columns of the board that are drawn.
const MOST_COLUMNS: u32 = 32;
/// Rows that are drawn.
const MOST_ROWS: u32 = 32;
/// Points of a line. Of longer boards every few passes have one.
const MOST_POINTS: usize = 400;
/// Height and width of the picture of states, in its own units.
const CHART: (f64, f64) = (1000.0, 300.0);

/// The board, cell by cell, and the kink.
pub(super) fn board(page: &mut String, job: &JobStatus) {
    let Some(board) = Board::of(job) else { return };
    let (first, end) = board.shown(MOST_COLUMNS);
    let rows = board.height.min(MOST_ROWS);
    let columns = end.saturating_sub(first).max(1);
    let ((done, now), all) = (board.done_and_now(), board.cells());
    let text = format!("{done} of {all} cells are done, {now} are under way");
    let _ = write!(
        page,
        "<section class=\"half\" aria-labelledby=\"h-board\"><h2 id=\"h-board\">Board</h2><figure>\
         <svg class=\"board\" viewBox=\"-0.1 -0.1 {columns}.2 {rows}.2\" role=\"img\" aria-label=\"{text}\">"
    );
    for column in first..end {
        for row in 0..rows {
            let class = match board.cell(row, column) {
                Cell::Done => "d",
                Cell::Now => "c",
                Cell::ToCome => "t",
            };
            let _ = write!(
                page,
                "<rect class=\"{class}\" x=\"{}\" y=\"{row}\" width=\"1\" height=\"1\" rx=\".12\"/>",
                column - first
            );
        }
    }
    if let Some(kink) = board.kink {
        let (column, row) = (kink / board.height, (kink % board.height).min(rows));
        let x = f64::from(column) - f64::from(first);
        let _ = write!(page, "<polyline class=\"kink\" points=\"{0},0 {0},{row} {x},{row} {x},{rows}\"/>", x + 1.0);
    }
    let part = if columns < board.length || rows < board.height {
        format!(" Columns {} to {end} of {} are shown.", first + 1, board.length)
    } else {
        String::new()
    };
    let _ = writeln!(
        page,
        "</svg><figcaption><span class=\"key kd\"></span>done <span class=\"key kc\"></span>this stage \
         <span class=\"key kt\"></span>to come <span class=\"key kk\"></span>kink. {text}.{part}</figcaption></figure></section>"
    );
}

/// States of each pass, counted and forecast.
pub(super) fn states(page: &mut String, view: &JobView) {
    let empty = Vec::new();
    let forecast = view.status.plan.as_ref().map_or(&empty, |plan| &plan.states);
    let seen = &view.pass_states;
    let most = forecast.iter().copied().chain(seen.iter().flatten().copied()).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let passes = seen.len().max(forecast.len()).max(2);
    let step = passes.div_ceil(MOST_POINTS).max(1);
    let at = |pass: usize, states: u64| {
        let x = CHART.0 * pass as f64 / (passes - 1) as f64;
        let y = CHART.1 * (1.0 - (1.0 + states as f64).ln() / (1.0 + most as f64).ln());
        format!("{x:.1},{y:.1} ")
    };
    let shown = |pass: &usize| pass.is_multiple_of(step) || pass + 1 == passes;
    let expected: String = forecast.iter().enumerate().filter(|(p, _)| shown(p)).map(|(p, &n)| at(p, n)).collect();
    let counted = seen.iter().enumerate().filter_map(|(pass, states)| Some((pass, (*states)?)));
    let known = counted.clone().count();
    let line: String = counted.clone().filter(|(p, _)| shown(p)).map(|(p, n)| at(p, n)).collect();
    let x = CHART.0 * f64::from(view.status.position.pass) / (passes - 1) as f64;
    let _ = write!(
        page,
        "<section class=\"half\" aria-labelledby=\"h-states\"><h2 id=\"h-states\">States of each pass</h2><figure>\
         <svg class=\"chart\" viewBox=\"0 0 {w} {h}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"States of {known} \
         of {passes} passes are known; the most are {most}\"><line class=\"at\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{h}\"/>\
         <polyline class=\"f\" points=\"{expected}\"/><polyline class=\"s\" points=\"{line}\"/></svg>\
         <div class=\"axis\"><span>pass 0</span><span>pass {last}</span></div>\
         <figcaption><span class=\"key kd\"></span>counted <span class=\"key kf\"></span>forecast \
         <span class=\"key kc\"></span>now. Logarithmic, up to {top} states.</figcaption></figure>\
         <details id=\"passes\"><summary>As a table</summary><div class=\"scroll\" id=\"passes-box\"><table><thead><tr>\
         <th class=\"n\">pass<th class=\"n\">counted<th class=\"n\">forecast</tr></thead><tbody>",
        w = CHART.0,
        h = CHART.1,
        last = passes - 1,
        top = show_count(most),
    );
    for pass in (0..passes).filter(shown) {
        let number = |states: Option<u64>| states.map_or_else(|| "-".to_owned(), show_count);
        let (seen, forecast) = (seen.get(pass).copied().flatten(), forecast.get(pass).copied());
        let _ = write!(
            page,
            "<tr><td class=\"n\">{pass}<td class=\"n\">{}<td class=\"n\">{}</tr>",
            number(seen),
            number(forecast)
        );
    }
    *page += "</tbody></table></div></details></section>\n";
}
