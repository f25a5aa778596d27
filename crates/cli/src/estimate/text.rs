//! An estimate for people: what will be done, what it takes, and what was taken for granted.

use keima_count::estimate::{Outline, PerState, Speeds, StageOutline, StageTime, Times, Way};
use keima_model::Direction;

use super::Estimate;
use crate::problems::wrapped_at;
use crate::units::{show_bytes, show_count, show_decimal_bytes, show_long_seconds};

/// Width of the names at the left.
const NAME: usize = 13;
/// Width of what stands beside them.
const WIDTH: usize = 100;

/// Everything.
pub(super) fn text(estimate: &Estimate) -> String {
    let Estimate { outline, measured, .. } = estimate;
    let mut lines = vec![format!("{} {} {}", estimate.problem, estimate.size, offered(estimate)), String::new()];
    let mut line = |name: &str, text: String| {
        for (number, part) in wrapped_at(&text, WIDTH).lines().enumerate() {
            let name = if number == 0 { name } else { "" };
            lines.push(format!("  {name:<NAME$}{part}"));
        }
    };
    line("plan", plan(outline));
    line("moduli", moduli(outline));
    match (outline.peak_states(), measured) {
        (Some(peak), Some((_, times))) => {
            let (state_passes, read, written, copied) = outline.totals();
            line(
                "states",
                format!("at most {} at a time; {} passes of a state", grouped(peak), show_count(state_passes)),
            );
            if outline.way == Way::InMemory {
                line("memory", format!("{}, nothing on disk", show_bytes(outline.memory_bytes.unwrap_or(0))));
            } else {
                let copied = if copied == 0 {
                    String::new()
                } else {
                    format!(", second copies of at most {}", show_decimal_bytes(copied as f64))
                };
                let bytes = |bytes: u64| show_decimal_bytes(bytes as f64 * times.filled);
                let (read, written) = (bytes(read), bytes(written));
                let fewer = if times.filled < 0.995 {
                    let percent = (1.0 - times.filled) * 100.0;
                    format!("; {percent:.0} % less than at most, since the first columns have fewer states")
                } else {
                    String::new()
                };
                line("runs", format!("{read} read, {written} written{copied}{fewer}"));
                line(
                    "disk",
                    format!(
                        "at most {} at a time, all workers together",
                        show_decimal_bytes(outline.plan.disk_bytes as f64)
                    ),
                );
                if outline.table_bytes > 0 {
                    line("tables", format!("about {} of each worker's memory", show_bytes(outline.table_bytes)));
                }
                line(
                    "disk time",
                    format!(
                        "{}, for {} that reach the disks",
                        show_long_seconds(times.total.disk_seconds),
                        show_decimal_bytes(times.disk_bytes)
                    ),
                );
            }
            line("core time", core_time(times.total.core_seconds));
            line("wall time", show_long_seconds(times.total.wall_seconds));
            line("families", waits(times));
        }
        (peak, _) => {
            line("states", peak.map_or("unknown".to_owned(), |peak| format!("at most {} at a time", grouped(peak))));
            for name in ["runs", "disk", "core time", "wall time"] {
                line(name, "unknown".to_owned());
            }
        }
    }
    if let Some((speeds, times)) = measured {
        line("speeds", measured_speeds(speeds, outline));
        line("disk speed", disk(estimate));
        lines.push(String::new());
        lines.extend(states(outline));
        lines.push(String::new());
        lines.extend(stages(outline, times));
    }
    let mut line = |text: &str| lines.extend(wrapped_at(text, WIDTH).lines().map(|line| format!("  {line}")));
    if !outline.notes.is_empty() {
        line("");
        outline.notes.iter().for_each(|note| line(&format!("Note: {note}.")));
    }
    lines.retain(|line| !line.trim().is_empty() || line.is_empty());
    lines.join("\n")
}

fn plural(n: u32, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn offered(estimate: &Estimate) -> String {
    let offer = &estimate.offer;
    let each = if offer.workers == 1 { "with" } else { "with, each," };
    let (workers, threads) = (plural(offer.workers, "worker"), plural(offer.threads, "thread"));
    format!("on {workers} {each} {threads} and {} of memory", show_bytes(offer.memory_bytes))
}

fn plan(outline: &Outline) -> String {
    let windows: Vec<String> = runs(&outline.plan.windows.iter().map(|window| window.len).collect::<Vec<_>>())
        .into_iter()
        .map(|(first, last, len)| match last - first {
            0 => len.to_string(),
            more => format!("{} times {len}", more + 1),
        })
        .collect();
    let place = match outline.way {
        Way::InMemory if is_forward_alone(outline) => "in memory, from the first column to the last",
        Way::InMemory => "in memory, from both ends of the board to the middle",
        Way::OneProcess => "in one process, with runs on disk",
        Way::Cluster => "on a cluster, with runs on disk",
    };
    let executor = outline.plan.execution.name();
    format!("{executor} executor, {place}; columns in windows of {} cells ({})", windows.join(" + "), outline.plan.why)
}

/// In memory without transposed passes: then no vector grows.
fn is_forward_alone(outline: &Outline) -> bool {
    outline.way == Way::InMemory && outline.stages.iter().all(|stage| stage.direction == Direction::Forward)
}

fn moduli(outline: &Outline) -> String {
    let plan = &outline.plan;
    let sizes: Vec<String> = plan.sweeps.iter().map(|(first, end)| (end - first).to_string()).collect();
    // One lane has the vector of ones beside the numbers; these begin with two.
    let mut lanes: Vec<u32> = outline.stages.iter().map(|stage| stage.lanes).filter(|&lanes| lanes > 1).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let sweeps = if outline.way == Way::InMemory && !is_forward_alone(outline) {
        String::new()
    } else if sizes.len() == 1 {
        ", in one sweep".to_owned()
    } else {
        format!(", in {} sweeps of {}", sizes.len(), sizes.join("+"))
    };
    let grow = if plan.execution.name() == "block" && lanes.len() > 1 && !is_forward_alone(outline) {
        let lanes: Vec<String> = lanes.iter().map(u32::to_string).collect();
        format!("; numbers are small at first: {} residues a state, as they grow", lanes.join(", then "))
    } else {
        String::new()
    };
    format!("{} primes, the spare included{sweeps}{grow}", plan.moduli.len())
}

fn core_time(seconds: f64) -> String {
    let hours = seconds / 3600.0;
    if hours < 1.0 {
        format!("{} core-seconds", significant(seconds))
    } else {
        format!("{} core-hours", significant(hours))
    }
}

/// Where the largest family takes longer than all together, if anywhere.
fn waits(times: &Times) -> String {
    let waiting: Vec<StageTime> = times.stages.iter().copied().filter(StageTime::waits_for_family).collect();
    if waiting.is_empty() {
        return String::new();
    }
    let (number, time) = (waiting.len(), waiting.into_iter().sum::<StageTime>());
    format!(
        "in {number} of {} all wait for the largest family: {} instead of {}",
        plural(times.stages.len() as u32, "stage"),
        show_long_seconds(time.family_seconds),
        show_long_seconds(time.threads_seconds),
    )
}

/// A number with three digits or more: `"0.0123"`, `"7.25"`, `"85.1"`, `"12,345"`.
fn significant(number: f64) -> String {
    match number {
        100.0.. => show_count(number.round() as u64),
        10.0.. => format!("{number:.1}"),
        1.0.. => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

/// `"12,345"`, of any size.
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
            "{measured}: ns of a thread per state and pass, {sweeps}; a whole count {:.2} times as much",
            speeds.rest
        );
    }
    let linear = |per: &PerState| format!("{:.1} + {:.2} K", per.base_nanos, per.lane_nanos);
    let parts = speeds.parts.map_or_else(String::new, |parts| {
        format!("; tables that are made a part at a time take {parts:.2} of what is estimated")
    });
    format!(
        "{measured}: ns of a thread with K lanes, per state that is read {}, per state and pass {}, per state that is \
         written {}{parts}",
        linear(&speeds.read),
        linear(&speeds.pass),
        linear(&speeds.write),
    )
}

fn disk(estimate: &Estimate) -> String {
    let Some(speed) = estimate.offer.disk_bytes_per_second.filter(|_| estimate.outline.way != Way::InMemory) else {
        return String::new();
    };
    let how = if estimate.disk_measured { "measured here" } else { "as given" };
    let cache = estimate.offer.cache_bytes;
    let cached = if cache > 0 {
        format!("; what fits {} of other memory is not read from disk again", show_bytes(cache))
    } else {
        "; all that is read comes from disk".to_owned()
    };
    format!("{} a second and worker, {how}{cached}; the network is taken to be no slower", show_bytes(speed as u64))
}

/// Rows of cells with equally wide columns: the first to the left, the others to the right.
fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells =
            cells.map(|(i, (cell, &width))| if i == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
        format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// States before each pass of a column: equal columns as one.
fn states(outline: &Outline) -> Vec<String> {
    let board = outline.plan.board;
    let Some(all) = &outline.states else { return Vec::new() };
    let columns: Vec<&[u128]> = all.chunks(board.height as usize).take(board.length as usize).collect();
    let groups = runs(&columns);
    let mut rows = vec![vec!["states before".to_owned()]];
    rows[0].extend(groups.iter().map(|&(first, last, _)| span("column", first + 1, last + 1)));
    for cell in 0..board.height as usize {
        let mut row = vec![format!("cell {}", cell + 1)];
        row.extend(groups.iter().map(|(.., column)| column.get(cell).map_or(String::new(), |&states| grouped(states))));
        rows.push(row);
    }
    if groups.len() > MOST_COLUMNS {
        // Many different columns: their largest numbers.
        rows = vec![vec!["states before".to_owned(), "at most".to_owned()]];
        rows.extend(groups.iter().map(|&(first, last, column)| {
            vec![span("column", first + 1, last + 1), grouped(column.iter().max().copied().unwrap_or(0))]
        }));
    }
    table(&rows)
}

/// Kinds of columns that are shown side by side.
const MOST_COLUMNS: usize = 5;

/// Equal neighbours as one: (place of the first, of the last, what they are).
fn runs<T: PartialEq + Copy>(all: &[T]) -> Vec<(usize, usize, T)> {
    let mut runs: Vec<(usize, usize, T)> = Vec::new();
    for (place, &one) in all.iter().enumerate() {
        match runs.last_mut() {
            Some((_, last, same)) if *same == one => *last = place,
            _ => runs.push((place, place, one)),
        }
    }
    runs
}

/// `"column 3"`, `"columns 3-9"`.
fn span(what: &str, first: usize, last: usize) -> String {
    if first == last { format!("{what} {first}") } else { format!("{what}s {first}-{last}") }
}

/// One row for a column's stages, equal columns as one.
fn stages(outline: &Outline, times: &Times) -> Vec<String> {
    let in_memory = outline.way == Way::InMemory;
    let header = if in_memory {
        &["stages of", "residues", "passes of a state", "core time", "wall time"][..]
    } else {
        &["stages of", "residues", "passes of a state", "read", "written", "core time", "disk time", "wall time"]
    };
    let mut rows = vec![header.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()];
    let mut all: Vec<(&StageOutline, &StageTime)> = outline.stages.iter().zip(&times.stages).collect();
    // In memory one stage forward comes between those backward.
    all.sort_by_key(|(stage, _)| (stage.sweep, stage.direction == Direction::Transposed, stage.column));
    let of_column = |a: &(&StageOutline, &StageTime), b: &(&StageOutline, &StageTime)| {
        (a.0.sweep, a.0.column, a.0.direction) == (b.0.sweep, b.0.column, b.0.direction)
    };
    let both_ways = outline.stages.iter().any(|stage| stage.direction == Direction::Transposed);
    let columns: Vec<ShownColumn> = all.chunk_by(of_column).map(ShownColumn::new).collect();
    let equal: Vec<_> = columns.chunk_by(ShownColumn::looks_like).collect();
    for same in equal {
        let (Some(first), Some(last)) = (same.first(), same.last()) else { continue };
        let sum = |field: fn(&ShownColumn) -> f64| same.iter().map(field).sum::<f64>();
        let sweep = if outline.plan.sweeps.len() > 1 { format!("sweep {}, ", first.sweep + 1) } else { String::new() };
        let place = span("column", first.column as usize + 1, last.column as usize + 1);
        let place = match (in_memory || both_ways, first.direction) {
            (false, _) => place,
            (true, Direction::Forward) => format!("{place} from the first"),
            (true, Direction::Transposed) => format!("{place} from the last"),
        };
        let mut row = vec![format!("{sweep}{place}"), first.lanes.clone(), show_count(sum(|c| c.state_passes) as u64)];
        if !in_memory {
            row.push(show_decimal_bytes(sum(|c| c.bytes_read) * times.filled));
            row.push(show_decimal_bytes(sum(|c| c.bytes_written) * times.filled));
        }
        row.push(core_time(sum(|c| c.time.core_seconds)).replace("core-", ""));
        if !in_memory {
            row.push(show_long_seconds(sum(|c| c.time.disk_seconds)));
        }
        row.push(show_long_seconds(sum(|c| c.time.wall_seconds)));
        rows.push(row);
    }
    if times.setup_seconds > 0.0 {
        let mut row = vec!["tables".to_owned()];
        row.resize(header.len() - 1, String::new());
        row.push(show_long_seconds(times.setup_seconds));
        rows.push(row);
    }
    table(&rows)
}

/// The stages of one column together.
struct ShownColumn {
    sweep: u32,
    column: u32,
    direction: Direction,
    /// `"2"`, or `"2-4"` where they grow within the column.
    lanes: String,
    state_passes: f64,
    bytes_read: f64,
    bytes_written: f64,
    time: StageTime,
}

impl ShownColumn {
    fn new(stages: &[(&StageOutline, &StageTime)]) -> Self {
        let lanes = || stages.iter().map(|(stage, _)| stage.lanes);
        let (least, most) = (lanes().min().unwrap_or(0), lanes().max().unwrap_or(0));
        let sum = |field: fn(&StageOutline) -> u64| stages.iter().map(|(stage, _)| field(stage) as f64).sum();
        let first = stages.first().map(|(stage, _)| **stage);
        Self {
            sweep: first.map_or(0, |stage| stage.sweep),
            column: first.map_or(0, |stage| stage.column),
            direction: first.map_or(Direction::Forward, |stage| stage.direction),
            lanes: if least == most { least.to_string() } else { format!("{least}-{most}") },
            state_passes: sum(|stage| stage.state_passes),
            bytes_read: sum(|stage| stage.bytes_read),
            bytes_written: sum(|stage| stage.bytes_written),
            time: stages.iter().map(|(_, time)| **time).sum(),
        }
    }

    /// Whether both are shown as one.
    fn looks_like(&self, next: &Self) -> bool {
        (self.sweep, self.direction, &self.lanes) == (next.sweep, next.direction, &next.lanes)
            && self.column + 1 == next.column
            && [(self.state_passes, next.state_passes), (self.bytes_read, next.bytes_read)]
                .iter()
                .all(|(one, other)| (one - other).abs() <= 0.001 * one.abs())
    }
}
