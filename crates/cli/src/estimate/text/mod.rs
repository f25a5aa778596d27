//! An estimate for people: the plan, what it takes, and what the forecast assumes.

mod tables;

use keima_count::estimate::{Outline, PerState, Speeds, StageTime, Times, Way};
use keima_model::Direction;

use super::printed::Estimate;
use crate::result::{sum, windows};
use crate::sample::bits;
use crate::terminal::units::{show_bytes, show_count, show_decimal_bytes, show_long_seconds};
use crate::terminal::wrap::beside;

/// Column of the text beside a name.
const COLUMN: usize = 15;
/// Column of the text of a note.
const NOTE_COLUMN: usize = 8;

/// The forecast, the speeds it rests on, the states, the stages, and the notes.
pub(super) fn text(estimate: &Estimate) -> String {
    let Estimate { outline, measured, .. } = estimate;
    let mut lines = vec![format!("{} {} {}", estimate.problem, estimate.size, offered(estimate)), String::new()];
    let mut named = vec![("plan", plan(outline)), ("answer", answer(estimate)), ("moduli", moduli(outline))];
    match (outline.peak_states(), measured) {
        (Some(peak), Some((speeds, times))) => {
            named.extend(costs(outline, times, peak));
            named.extend([("speeds", measured_speeds(speeds, outline)), ("disk speed", disk_speed(estimate))]);
        }
        (peak, _) => {
            named.push((
                "states",
                peak.map_or("unknown".to_owned(), |peak| format!("at most {} at a time", grouped(peak))),
            ));
            named.extend(["runs", "disk", "core time", "wall time"].map(|name| (name, "unknown".to_owned())));
        }
    }
    for (name, text) in named.iter().filter(|(_, text)| !text.is_empty()) {
        lines.extend(beside(&format!("  {name}"), COLUMN, text).lines().map(str::to_owned));
    }
    if let Some((_, times)) = measured {
        lines.push(String::new());
        lines.extend(tables::states(outline));
        lines.push(String::new());
        lines.extend(tables::stages(outline, times));
    }
    if !outline.notes.is_empty() {
        lines.push(String::new());
    }
    for note in &outline.notes {
        lines.extend(beside("  Note:", NOTE_COLUMN, &format!("{note}.")).lines().map(str::to_owned));
    }
    lines.join("\n")
}

/// What the count takes, by name. Texts are empty where there is nothing to say.
fn costs(outline: &Outline, times: &Times, peak_states: u128) -> Vec<(&'static str, String)> {
    let (state_passes, read, written, copied) = outline.totals();
    let states = format!("at most {} at a time; {} state-passes", grouped(peak_states), show_count(state_passes));
    let mut costs = vec![("states", states)];
    if outline.way == Way::InMemory {
        costs.push(("memory", format!("{}, nothing on disk", show_bytes(outline.memory_bytes.unwrap_or(0)))));
    } else {
        let bytes = |bytes: u64| show_decimal_bytes(bytes as f64 * times.filled);
        let copies = match copied {
            0 => String::new(),
            _ => format!(", second copies of at most {}", show_decimal_bytes(copied as f64)),
        };
        let percent = (1.0 - times.filled) * 100.0;
        let fewer = if percent > 0.5 {
            format!("; {percent:.0} % less than the upper bound, because the first columns have fewer states")
        } else {
            String::new()
        };
        costs.push(("runs", format!("{} read, {} written{copies}{fewer}", bytes(read), bytes(written))));
        let disk = show_decimal_bytes(outline.plan.disk_bytes as f64);
        costs.push(("disk", format!("at most {disk} at a time on all workers together")));
        if outline.table_bytes > 0 {
            costs.push(("tables", format!("about {} of each worker's memory", show_bytes(outline.table_bytes))));
        }
        let disk_time = show_long_seconds(times.total.disk_seconds);
        costs.push(("disk time", format!("{disk_time} for {} of disk traffic", show_decimal_bytes(times.disk_bytes))));
    }
    costs.push(("core time", core_time(times.total.core_seconds)));
    costs.push(("wall time", show_long_seconds(times.total.wall_seconds)));
    costs.push(("families", waits(times)));
    costs
}

/// How large the answer is, where that was sampled.
fn answer(estimate: &Estimate) -> String {
    let Some((sampled, _)) = &estimate.answer else { return String::new() };
    let runs = sampled.runs;
    if sampled.mean.is_zero() {
        return format!("none of {runs} sampled runs came to an object that counts");
    }
    let error = sampled.relative_error();
    let error = error.map_or_else(|| "unknown".to_owned(), |error| format!("{:.0} %", 100.0 * error));
    format!("about {:.1}, {} bits; standard error {error}; {runs} sampled runs", sampled.mean, bits(sampled.mean))
}

fn plural(n: u32, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn offered(estimate: &Estimate) -> String {
    let offer = &estimate.offer;
    let each = if offer.workers == 1 { "" } else { ", each" };
    let (workers, threads) = (plural(offer.workers, "worker"), plural(offer.threads, "thread"));
    format!("on {workers}{each} with {threads} and {} of memory", show_bytes(offer.memory_bytes))
}

fn plan(outline: &Outline) -> String {
    let place = match outline.way {
        Way::InMemory if is_forward_alone(outline) => "in memory, from the first column to the last",
        Way::InMemory => "in memory, from both ends of the board to the middle",
        Way::OneProcess => "in one process, with runs on disk",
        Way::Cluster => "on a cluster, with runs on disk",
    };
    let executor = outline.plan.execution.name();
    format!("{executor} executor, {place}; windows of {} cells ({})", windows(&outline.plan), outline.plan.why)
}

/// Whether a count in memory has no transposed passes. Then the lanes do not grow.
fn is_forward_alone(outline: &Outline) -> bool {
    outline.way == Way::InMemory && outline.stages.iter().all(|stage| stage.direction == Direction::Forward)
}

fn moduli(outline: &Outline) -> String {
    let plan = &outline.plan;
    let sizes: Vec<u32> = plan.sweeps.iter().map(|(first, end)| end - first).collect();
    // A stage with one lane carries a vector of ones. The residues of counts begin with two.
    let mut lanes: Vec<u32> = outline.stages.iter().map(|stage| stage.lanes).filter(|&lanes| lanes > 1).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let sweeps = if outline.way == Way::InMemory && !is_forward_alone(outline) {
        String::new()
    } else if sizes.len() == 1 {
        ", in one sweep".to_owned()
    } else {
        format!(", in {} sweeps of {}", sizes.len(), sum(&sizes))
    };
    let grow = if plan.execution.name() == "block" && lanes.len() > 1 && !is_forward_alone(outline) {
        let lanes: Vec<String> = lanes.iter().map(u32::to_string).collect();
        format!("; counts grow: {} residues a state", lanes.join(", then "))
    } else {
        String::new()
    };
    format!("{} primes including the spare{sweeps}{grow}", plan.moduli.len())
}

fn core_time(seconds: f64) -> String {
    let hours = seconds / 3600.0;
    if hours < 1.0 {
        format!("{} core-seconds", significant(seconds))
    } else {
        format!("{} core-hours", significant(hours))
    }
}

/// The stages in which the largest family takes longer than an even share of all; empty if there are none.
fn waits(times: &Times) -> String {
    let waiting: Vec<StageTime> = times.stages.iter().copied().filter(StageTime::waits_for_family).collect();
    if waiting.is_empty() {
        return String::new();
    }
    let (number, time) = (waiting.len(), waiting.into_iter().sum::<StageTime>());
    format!(
        "in {number} of {} all threads wait for the largest family: {} instead of {}",
        plural(times.stages.len() as u32, "stage"),
        show_long_seconds(time.family_seconds),
        show_long_seconds(time.threads_seconds),
    )
}

/// A number with at least three digits: `"0.0123"`, `"7.25"`, `"85.1"`, `"12,345"`.
fn significant(number: f64) -> String {
    match number {
        100.0.. => show_count(number.round() as u64),
        10.0.. => format!("{number:.1}"),
        1.0.. => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

/// `"12,345"`, or `"1.234e25"` beyond 64 bits.
fn grouped(count: u128) -> String {
    u64::try_from(count).map_or_else(|_| format!("{:.3e}", count as f64), show_count)
}

fn measured_speeds(speeds: &Speeds, outline: &Outline) -> String {
    let measured = format!("measured here on {} with {}", speeds.boards, plural(speeds.threads, "thread"));
    if outline.way == Way::InMemory {
        let sweeps = speeds.sweeps.iter().map(|sweep| {
            let lanes = plural(sweep.lanes, "lane");
            format!("{lanes}: {:.1} forward, {:.1} transposed", sweep.forward_nanos, sweep.backward_nanos)
        });
        let sweeps = sweeps.collect::<Vec<_>>().join("; ");
        return format!(
            "{measured}: nanoseconds per state-pass and thread, {sweeps}; a whole count takes {:.2} times as long",
            speeds.rest
        );
    }
    let linear = |per: &PerState| format!("{:.1} + {:.2} K", per.base_nanos, per.lane_nanos);
    let parts = speeds
        .parts
        .map_or_else(String::new, |parts| format!("; tables built in parts take {parts:.2} of the estimated time"));
    format!(
        "{measured}: nanoseconds per thread with K lanes, {} per state read, {} per state-pass, {} per state \
         written{parts}",
        linear(&speeds.read),
        linear(&speeds.pass),
        linear(&speeds.write),
    )
}

/// The disk speed, and what the forecast assumes of caches and network; empty for a count in memory.
fn disk_speed(estimate: &Estimate) -> String {
    let Some(speed) = estimate.offer.disk_bytes_per_second.filter(|_| estimate.outline.way != Way::InMemory) else {
        return String::new();
    };
    let how = if estimate.disk_measured { "measured here" } else { "as given" };
    let cache = estimate.offer.cache_bytes;
    let cached = if cache > 0 {
        format!("; files in {} of cache are not read from disk again", show_bytes(cache))
    } else {
        "; all reads come from disk".to_owned()
    };
    format!("{} per second and worker, {how}{cached}; the network is assumed to be as fast", show_bytes(speed as u64))
}
