//! Keys, run ids and manifests.

use keima_runs::{
    Balance, FunctionalSum, KeyGap, MAX_GAPS, MAX_LANES, MAX_SPLITS, PassTally, RunId, RunManifest, Split, Tally,
    TaskManifest, TaskTimes,
};
use keima_wire::v1;

use super::{ConvertError, NAME_BYTES, Wire, at_most, list_from, list_to, required};

impl Wire for u128 {
    type Message = v1::Key;
    fn to_wire(&self) -> v1::Key {
        v1::Key { high: (self >> 64) as u64, low: *self as u64 }
    }
    fn from_wire(message: v1::Key) -> Result<Self, ConvertError> {
        Ok((Self::from(message.high) << 64) | Self::from(message.low))
    }
}

/// A run's name: `[a-z0-9]` words between slashes. It becomes a path, so anything else is refused.
pub(crate) fn run_id(field: &'static str, text: String) -> Result<RunId, ConvertError> {
    let word = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if text.len() <= NAME_BYTES && text.split('/').all(word) {
        Ok(RunId(text))
    } else {
        Err(ConvertError::new(field, "a run id of [a-z0-9] words between slashes", format_args!("{text:?}")))
    }
}

/// The number of a lane.
pub(crate) fn lane(field: &'static str, number: u32) -> Result<u32, ConvertError> {
    let is_one = (number as usize) < MAX_LANES;
    is_one.then_some(number).ok_or_else(|| ConvertError::new(field, format_args!("below {MAX_LANES}"), number))
}

/// A list of run ids.
pub(crate) fn run_ids(field: &'static str, texts: Vec<String>) -> Result<Vec<RunId>, ConvertError> {
    texts.into_iter().map(|text| run_id(field, text)).collect()
}

impl Wire for RunManifest {
    type Message = v1::RunManifest;
    fn to_wire(&self) -> v1::RunManifest {
        v1::RunManifest {
            id: self.id.0.clone(),
            bytes: self.bytes,
            records: self.records,
            first_key: Some(self.first_key.to_wire()),
            last_key: Some(self.last_key.to_wire()),
            sums: self.sums.clone(),
            checksum: self.checksum,
        }
    }
    fn from_wire(message: v1::RunManifest) -> Result<Self, ConvertError> {
        let first_key = u128::from_wire(required("RunManifest.first_key", message.first_key)?)?;
        let last_key = u128::from_wire(required("RunManifest.last_key", message.last_key)?)?;
        if first_key > last_key {
            return Err(ConvertError::new(
                "RunManifest.last_key",
                format_args!("at least the first key {first_key:#x}"),
                format_args!("{last_key:#x}"),
            ));
        }
        if message.records == 0 {
            return Err(ConvertError::new("RunManifest.records", "at least 1", 0));
        }
        Ok(Self {
            id: run_id("RunManifest.id", message.id)?,
            bytes: message.bytes,
            records: message.records,
            first_key,
            last_key,
            sums: at_most("RunManifest.sums", message.sums, MAX_LANES)?,
            checksum: message.checksum,
        })
    }
}

impl Wire for Split {
    type Message = v1::Split;
    fn to_wire(&self) -> v1::Split {
        v1::Split { key: Some(self.key.to_wire()), records: self.records }
    }
    fn from_wire(message: v1::Split) -> Result<Self, ConvertError> {
        Ok(Self { key: u128::from_wire(required("Split.key", message.key)?)?, records: message.records })
    }
}

impl Wire for Tally {
    type Message = v1::Tally;
    fn to_wire(&self) -> v1::Tally {
        v1::Tally { states: self.states, sums: self.sums.clone(), fingerprint: self.fingerprint.clone() }
    }
    fn from_wire(message: v1::Tally) -> Result<Self, ConvertError> {
        Ok(Self {
            states: message.states,
            sums: at_most("Tally.sums", message.sums, MAX_LANES)?,
            fingerprint: at_most("Tally.fingerprint", message.fingerprint, MAX_LANES)?,
        })
    }
}

fn sums_to(sums: &[Vec<u64>]) -> Vec<v1::DegreeSums> {
    sums.iter().map(|lanes| v1::DegreeSums { lanes: lanes.clone() }).collect()
}

/// Sums by number of successors or by shift. Both are bytes.
fn sums_from(field: &'static str, sums: Vec<v1::DegreeSums>) -> Result<Vec<Vec<u64>>, ConvertError> {
    let sums = at_most(field, sums, 256)?;
    sums.into_iter().map(|sums| at_most("DegreeSums.lanes", sums.lanes, MAX_LANES)).collect()
}

impl Wire for PassTally {
    type Message = v1::PassTally;
    fn to_wire(&self) -> v1::PassTally {
        v1::PassTally {
            states: self.states,
            successors: self.successors,
            by_degree: sums_to(&self.by_degree),
            by_shift: sums_to(&self.by_shift),
            new_sums: self.new_sums.clone(),
        }
    }
    fn from_wire(message: v1::PassTally) -> Result<Self, ConvertError> {
        Ok(Self {
            states: message.states,
            successors: message.successors,
            by_degree: sums_from("PassTally.by_degree", message.by_degree)?,
            by_shift: sums_from("PassTally.by_shift", message.by_shift)?,
            new_sums: at_most("PassTally.new_sums", message.new_sums, MAX_LANES)?,
        })
    }
}

impl Wire for FunctionalSum {
    type Message = v1::FunctionalSum;
    fn to_wire(&self) -> v1::FunctionalSum {
        v1::FunctionalSum { functional: self.functional, lanes: self.lanes.clone() }
    }
    fn from_wire(message: v1::FunctionalSum) -> Result<Self, ConvertError> {
        let lanes = at_most("FunctionalSum.lanes", message.lanes, MAX_LANES)?;
        Ok(Self { functional: message.functional, lanes })
    }
}

impl Wire for Balance {
    type Message = v1::Balance;
    fn to_wire(&self) -> v1::Balance {
        v1::Balance { expected: self.expected.clone(), got: self.got.clone() }
    }
    fn from_wire(message: v1::Balance) -> Result<Self, ConvertError> {
        Ok(Self {
            expected: at_most("Balance.expected", message.expected, MAX_LANES)?,
            got: at_most("Balance.got", message.got, MAX_LANES)?,
        })
    }
}

impl Wire for KeyGap {
    type Message = v1::KeyGap;
    fn to_wire(&self) -> v1::KeyGap {
        v1::KeyGap { after: Some(self.after.to_wire()), before: Some(self.before.to_wire()) }
    }
    fn from_wire(message: v1::KeyGap) -> Result<Self, ConvertError> {
        Ok(Self {
            after: u128::from_wire(required("KeyGap.after", message.after)?)?,
            before: u128::from_wire(required("KeyGap.before", message.before)?)?,
        })
    }
}

impl Wire for TaskTimes {
    type Message = v1::TaskTimes;
    fn to_wire(&self) -> v1::TaskTimes {
        v1::TaskTimes { read_nanos: self.read_nanos, map_nanos: self.map_nanos, write_nanos: self.write_nanos }
    }
    fn from_wire(message: v1::TaskTimes) -> Result<Self, ConvertError> {
        let v1::TaskTimes { read_nanos, map_nanos, write_nanos } = message;
        Ok(Self { read_nanos, map_nanos, write_nanos })
    }
}

impl Wire for TaskManifest {
    type Message = v1::TaskManifest;
    fn to_wire(&self) -> v1::TaskManifest {
        v1::TaskManifest {
            runs: list_to(&self.runs),
            splits: list_to(&self.splits),
            gaps: list_to(&self.gaps),
            input: Some(self.input.to_wire()),
            output: Some(self.output.to_wire()),
            kept: self.kept.as_ref().map(Wire::to_wire),
            passes: list_to(&self.passes),
            functionals: list_to(&self.functionals),
            balance: self.balance.as_ref().map(Wire::to_wire),
            bytes_read: self.bytes_read,
            bytes_written: self.bytes_written,
            bytes_spilled: self.bytes_spilled,
            times: Some(self.times.to_wire()),
            first_lane: self.first_lane,
        }
    }
    fn from_wire(message: v1::TaskManifest) -> Result<Self, ConvertError> {
        Ok(Self {
            runs: list_from(message.runs)?,
            splits: list_from(at_most("TaskManifest.splits", message.splits, MAX_SPLITS)?)?,
            gaps: list_from(at_most("TaskManifest.gaps", message.gaps, MAX_GAPS)?)?,
            input: Tally::from_wire(required("TaskManifest.input", message.input)?)?,
            output: Tally::from_wire(required("TaskManifest.output", message.output)?)?,
            kept: message.kept.map(Tally::from_wire).transpose()?,
            passes: list_from(message.passes)?,
            functionals: list_from(message.functionals)?,
            balance: message.balance.map(Balance::from_wire).transpose()?,
            bytes_read: message.bytes_read,
            bytes_written: message.bytes_written,
            bytes_spilled: message.bytes_spilled,
            times: TaskTimes::from_wire(required("TaskManifest.times", message.times)?)?,
            first_lane: lane("TaskManifest.first_lane", message.first_lane)?,
        })
    }
}
