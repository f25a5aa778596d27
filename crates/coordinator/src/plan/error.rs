//! Why a job cannot be planned, and what to do about it.

use keima_blocks::sizes::show_bytes;

/// A limit that no plan keeps, or words that make no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The forecast of disk exceeds the cap.
    #[error(
        "the count needs about {} of disk with {residues_per_sweep} {} a sweep, but --disk allows {}: {}",
        show_bytes(*needed_bytes), residues(*residues_per_sweep), show_bytes(*allowed_bytes), disk_advice(*residues_per_sweep)
    )]
    Disk {
        /// Forecast of the peak.
        needed_bytes: u64,
        /// The cap.
        allowed_bytes: u64,
        /// Residues in the largest sweep of the leanest plan that was tried.
        residues_per_sweep: u32,
    },
    /// A task has too little memory.
    #[error(
        "each task needs at least {} but has {}; raise --memory (of submit: --task-memory), or use fewer threads{}",
        show_bytes(*least_bytes), show_bytes(*got_bytes),
        if *lanes > 1 { " or fewer residues a sweep" } else { "" }
    )]
    TaskMemory {
        /// What was offered.
        got_bytes: u64,
        /// What is needed.
        least_bytes: u64,
        /// Lanes of a state's value.
        lanes: u32,
    },
    /// The problem has no block form.
    #[error("the block executor cannot count {what}: {why}; use --executor stream")]
    NoBlocks {
        /// The problem and its size.
        what: String,
        /// What it lacks.
        why: &'static str,
    },
    /// A family does not fit a task.
    #[error(
        "the block executor needs at least {} for each task, but has {}: the tables and one residue of the largest family \
         take that much, even if one task at a time uses all of a worker's memory; raise --memory (of submit: \
         --task-memory), leave out --window if it was given, or use --executor stream",
        show_bytes(*least_bytes), show_bytes(*got_bytes)
    )]
    Family {
        /// What was offered.
        got_bytes: u64,
        /// What is needed.
        least_bytes: u64,
    },
    /// The rest of a job does not fit a task.
    #[error(
        "the rest of this job needs more than {} for each task, and {} would do: its families and groups stay as they were \
         planned; start workers with more --memory or fewer --threads, or give a larger --task-memory",
        show_bytes(*got_bytes), show_bytes(*enough_bytes)
    )]
    Rest {
        /// What was offered.
        got_bytes: u64,
        /// What is enough, to a factor of two.
        enough_bytes: u64,
    },
    /// The board is too large.
    #[error("a board of {cells} cells is too large, at most {most} can be counted; choose a smaller size")]
    Board {
        /// Cells of the board.
        cells: u64,
        /// Most cells.
        most: u32,
    },
    /// An option that must be at least 1 is 0.
    #[error("{option} is 0; give at least 1, or leave it out to let the planner choose")]
    Zero {
        /// The option's name.
        option: &'static str,
    },
    /// A record of a run has no room for all coefficients.
    #[error(
        "each state has {coefficients} numbers for each residue, but a record has room for {most}; choose a smaller size, or \
         options that ask for fewer numbers"
    )]
    Coefficients {
        /// What came.
        coefficients: u32,
        /// Room of a record.
        most: u32,
    },
    /// The problem's own figures contradict each other: a fault of the program.
    #[error("cannot plan a {what}: expected {expected}; this is a fault of the program, please report it")]
    Problem {
        /// What came.
        what: String,
        /// What is needed.
        expected: String,
    },
}

fn disk_advice(residues_per_sweep: u32) -> &'static str {
    if residues_per_sweep > 1 {
        "raise --disk (of count and of workers; of submit --max-disk, if it is given), or carry fewer residues a sweep"
    } else {
        "raise --disk (of count and of workers; of submit --max-disk, if it is given)"
    }
}

const fn residues(number: u32) -> &'static str {
    if number == 1 { "residue" } else { "residues" }
}
