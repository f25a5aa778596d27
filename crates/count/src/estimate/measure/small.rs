//! What is measured: small boards, and the times of their tasks.

use keima_model::{AnyProblem, ProblemRequest, Registry};
use keima_runs::TaskTimes;

use crate::estimate::Offer;
use crate::estimate::outline::Outline;

/// A small board to measure, and its plan.
pub(super) struct Small {
    pub(super) request: ProblemRequest,
    pub(super) problem: AnyProblem,
    pub(super) outline: Outline,
}

/// Square boards of at most `height` cells that can be planned, the highest first, down to two cells.
pub(super) fn smaller<'a>(
    registry: &'a dyn Registry,
    request: &'a ProblemRequest,
    height: u32,
    offer: &'a Offer,
) -> impl Iterator<Item = Small> + 'a {
    let sizes = (2..=height.max(2)).rev().map(|height| [format!("{height}x{height}"), height.to_string()]);
    let plan = |size| {
        let request = ProblemRequest { size, ..request.clone() };
        let problem = registry.open(&request).ok()?;
        let outline = Outline::new(&problem, offer).ok()?;
        Some(Small { request, problem, outline })
    };
    sizes.filter_map(move |sizes| sizes.into_iter().find_map(plan))
}

pub(super) fn outline_name(outline: &Outline) -> String {
    outline.plan.board.to_string()
}

/// Nanoseconds to read, pass and write.
pub(super) fn nanos(times: &TaskTimes) -> [f64; 3] {
    [times.read_nanos as f64, times.map_nanos as f64, times.write_nanos as f64]
}
