//! Measured speeds of this machine, from which times are forecast.

/// Nanoseconds of one thread, linear in the lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerState {
    /// Without lanes.
    pub base_nanos: f64,
    /// For each lane.
    pub lane_nanos: f64,
}

impl PerState {
    /// With `lanes` lanes.
    pub fn at(&self, lanes: u32) -> f64 {
        self.in_slices(lanes, 1.0)
    }

    /// With `lanes` lanes in `slices` slices: each slice pays the fixed cost again.
    pub(super) fn in_slices(&self, lanes: u32, slices: f64) -> f64 {
        self.lane_nanos.mul_add(f64::from(lanes), self.base_nanos * slices)
    }
}

/// Nanoseconds of one thread for a state-pass in memory, with the exchange between windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SweepSpeed {
    /// Lanes.
    pub lanes: u32,
    /// Forward.
    pub forward_nanos: f64,
    /// Transposed.
    pub backward_nanos: f64,
}

/// Speeds that were measured or given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speeds {
    /// Measured boards, for people.
    pub boards: String,
    /// What else must be said about them.
    pub note: Option<String>,
    /// Their height in cells.
    pub height: u32,
    /// Width of their keys.
    pub key_bytes: u32,
    /// Threads of the measurement.
    pub threads: u32,
    /// Runs on disk: to read a state.
    pub read: PerState,
    /// Runs on disk: to take a state through a pass.
    pub pass: PerState,
    /// Runs on disk: to write a state.
    pub write: PerState,
    /// In memory: speeds by lanes.
    pub sweeps: Vec<SweepSpeed>,
    /// In memory: time of a whole count without tables, divided by the time of its sweeps alone. It covers growing numbers,
    /// inner products, weighing and the first touch of memory. It also covers folding, which outlines do not count.
    pub rest: f64,
    /// Block executor: seconds to build the measured tables.
    pub table_seconds: f64,
    /// Block executor: the problem's estimate of their size.
    pub table_bytes: u64,
    /// Block executor with tables in parts: measured time divided by the problem's estimate; `None` if not measured.
    pub parts: Option<f64>,
    /// Stream executor: how many columns' worth of states the problem's upper bounds count too much, per cell of height.
    /// The first columns have fewer states than later ones. Blocks are dense from the start.
    pub missing: f64,
}
