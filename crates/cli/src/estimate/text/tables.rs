//! Tables of an estimate: the states before each pass, and the stages column by column.

use keima_count::estimate::{Outline, StageOutline, StageTime, Times, Way};
use keima_model::Direction;

use super::{core_time, grouped};
use crate::terminal::units::{show_count, show_decimal_bytes, show_long_seconds};

/// Lines of rows with aligned columns: the first to the left, the others to the right.
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

/// States before each pass of a column. Equal neighbours are one column of the table.
pub(super) fn states(outline: &Outline) -> Vec<String> {
    let board = outline.plan.board;
    let Some(all) = &outline.states else { return Vec::new() };
    let columns: Vec<&[u128]> = all.chunks(board.height as usize).take(board.length as usize).collect();
    let groups = equal_neighbours(&columns);
    let mut rows = vec![vec!["states before".to_owned()]];
    rows[0].extend(groups.iter().map(|group| span("column", group.first + 1, group.last + 1)));
    for cell in 0..board.height as usize {
        let mut row = vec![format!("cell {}", cell + 1)];
        row.extend(groups.iter().map(|group| group.value.get(cell).map_or(String::new(), |&states| grouped(states))));
        rows.push(row);
    }
    if groups.len() > MOST_COLUMNS {
        // Too many different columns to stand side by side: only their largest numbers.
        rows = vec![vec!["states before".to_owned(), "at most".to_owned()]];
        rows.extend(groups.iter().map(|group| {
            let most = group.value.iter().max().copied().unwrap_or(0);
            vec![span("column", group.first + 1, group.last + 1), grouped(most)]
        }));
    }
    table(&rows)
}

/// Most different columns that stand side by side.
const MOST_COLUMNS: usize = 5;

/// Equal neighbours in a list, `first` and `last` included.
struct Equal<T> {
    first: usize,
    last: usize,
    value: T,
}

fn equal_neighbours<T: PartialEq + Copy>(all: &[T]) -> Vec<Equal<T>> {
    let mut groups: Vec<Equal<T>> = Vec::new();
    for (place, &value) in all.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if group.value == value => group.last = place,
            _ => groups.push(Equal { first: place, last: place, value }),
        }
    }
    groups
}

/// `"column 3"`, `"columns 3-9"`.
fn span(what: &str, first: usize, last: usize) -> String {
    if first == last { format!("{what} {first}") } else { format!("{what}s {first}-{last}") }
}

/// One row per column with all its stages. Equal neighbours are one row.
pub(super) fn stages(outline: &Outline, times: &Times) -> Vec<String> {
    let in_memory = outline.way == Way::InMemory;
    let header = if in_memory {
        &["stages of", "residues", "state-passes", "core time", "wall time"][..]
    } else {
        &["stages of", "residues", "state-passes", "read", "written", "core time", "disk time", "wall time"]
    };
    let mut rows = vec![header.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()];
    let mut all: Vec<(&StageOutline, &StageTime)> = outline.stages.iter().zip(&times.stages).collect();
    // In memory one forward stage comes between the transposed ones.
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

/// All stages of one column.
struct ShownColumn {
    sweep: u32,
    column: u32,
    direction: Direction,
    /// `"2"`, or `"2-4"` if they grow within the column.
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

    /// Whether both are shown in one row.
    fn looks_like(&self, next: &Self) -> bool {
        (self.sweep, self.direction, &self.lanes) == (next.sweep, next.direction, &next.lanes)
            && self.column + 1 == next.column
            && [(self.state_passes, next.state_passes), (self.bytes_read, next.bytes_read)]
                .iter()
                .all(|(one, other)| (one - other).abs() <= 0.001 * one.abs())
    }
}
