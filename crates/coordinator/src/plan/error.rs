//! Why a job cannot be planned, and what to do about it.

/// A limit that no plan keeps, or words that make no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The forecast of disk exceeds the cap.
    #[error(
        "needs about {} of disk with {residues_per_sweep} {} a sweep, but --disk allows {}: {}",
        size(*needed_bytes), residues(*residues_per_sweep), size(*allowed_bytes), disk_advice(*residues_per_sweep)
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
        "each task needs at least {} for states of {lanes} {}, and has {}; raise --memory (of submit: --task-memory), or \
         use fewer threads or fewer residues a sweep",
        size(*least_bytes), if *lanes == 1 { "lane" } else { "lanes" }, size(*got_bytes)
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
        "the block executor needs at least {} for each task, and has {}: the tables and one residue of the largest family \
         take that much, even if a single task at a time uses all of a worker's memory; raise --memory (of submit: \
         --task-memory), leave out --window if it was given, or use --executor stream",
        size(*least_bytes), size(*got_bytes)
    )]
    Family {
        /// What was offered.
        got_bytes: u64,
        /// What is needed.
        least_bytes: u64,
    },
    /// An option that must be at least 1 is 0.
    #[error("{option} is 0; give at least 1, or leave it out to let the planner choose")]
    Zero {
        /// The option's name.
        option: &'static str,
    },
    /// A record of a run has no room for all coefficients.
    #[error(
        "each state has {coefficients} numbers for each residue, but a record has room for {most} in all; choose a smaller \
         size, or options that ask for fewer numbers"
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
    if residues_per_sweep > 1 { "raise --disk, or carry fewer residues a sweep" } else { "raise --disk" }
}

const fn residues(number: u32) -> &'static str {
    if number == 1 { "residue" } else { "residues" }
}

/// `bytes` in the largest binary unit of which there is at least one, with one decimal: `"1.5 GiB"`.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let place = bytes.checked_ilog2().unwrap_or(0) / 10;
    let unit = units.get(place as usize).unwrap_or(&"B");
    format!("{:.1} {unit}", bytes as f64 / (1_u64 << (10 * place)) as f64)
}
