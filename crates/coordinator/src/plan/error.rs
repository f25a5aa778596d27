//! Why a job cannot be planned, and what to do about it.

/// A limit that no plan keeps, or words that make no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The forecast of disk exceeds the cap.
    #[error(
        "needs about {} of disk with {residues_per_sweep} residues a sweep, but only {} are allowed: {}",
        size(*needed_bytes), size(*allowed_bytes), disk_advice(*residues_per_sweep)
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
        "{} of memory for a task are too little for states of {lanes} lanes: give each task at least {}, by more \
         memory, fewer threads or fewer residues a sweep",
        size(*got_bytes), size(*least_bytes)
    )]
    TaskMemory {
        /// What was offered.
        got_bytes: u64,
        /// What is needed.
        least_bytes: u64,
        /// Lanes of a state's value.
        lanes: u32,
    },
    /// The problem is not made of blocks.
    #[error("the block executor cannot count {what}: {why}; use --executor stream")]
    NoBlocks {
        /// The problem and its size.
        what: String,
        /// What it lacks.
        why: &'static str,
    },
    /// A family does not fit a task.
    #[error(
        "{} of memory for a task are too little for the block executor: {} are needed for one residue of the largest \
         family and the tables, with all of a worker's memory for one task at a time; give more memory, leave out --window \
         if it was given, or use --executor stream",
        size(*got_bytes), size(*least_bytes)
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
    /// More coefficients than a record of a run has room for.
    #[error(
        "each state would have {coefficients} numbers for each residue, and a record has room for {most} in all; choose a smaller \
         size, or options that ask for fewer of them"
    )]
    Coefficients {
        /// What came.
        coefficients: u32,
        /// Room of a record.
        most: u32,
    },
    /// The problem's own figures do not fit together; a fault of the program.
    #[error("cannot plan a {what}: expected {expected}; this is a fault of the program, please report it")]
    Problem {
        /// What came.
        what: String,
        /// What is needed.
        expected: String,
    },
}

fn disk_advice(residues_per_sweep: u32) -> &'static str {
    if residues_per_sweep > 1 { "allow more disk, or carry fewer residues per sweep" } else { "allow more disk" }
}

/// `bytes` in the largest binary unit that leaves at least 1, with one decimal: `"1.5 GiB"`.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let place = bytes.checked_ilog2().unwrap_or(0) / 10;
    let unit = units.get(place as usize).unwrap_or(&"B");
    format!("{:.1} {unit}", bytes as f64 / (1_u64 << (10 * place)) as f64)
}
