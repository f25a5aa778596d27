//! Plans and results.

use keima_coordinator::{BlockPlan, Check, Execution, Outcome, Plan, Residue, SeriesEntry};
use keima_model::{Board, Window};
use keima_wire::v1;

use super::{
    ConvertError, IDENTITY_BYTES, MAX_JOB_MODULI, MAX_SIDE, MOST_BUILDS, NAME_BYTES, TEXT_BYTES, Wire, at_most, cut,
    list_from, list_to, required, shown,
};

impl Wire for Check {
    type Message = v1::Check;
    fn to_wire(&self) -> v1::Check {
        v1::Check { name: self.name.clone(), ok: self.ok, detail: cut(self.detail.clone()) }
    }
    fn from_wire(message: v1::Check) -> Result<Self, ConvertError> {
        let name = shown("Check.name", message.name, NAME_BYTES)?;
        Ok(Self { name, ok: message.ok, detail: cut(message.detail) })
    }
}

/// A count in decimal digits; empty if it is withheld.
fn decimal(field: &'static str, text: String) -> Result<String, ConvertError> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        Ok(text)
    } else {
        Err(ConvertError::new(field, "decimal digits", format_args!("{text:?}")))
    }
}

fn decimals(field: &'static str, texts: Vec<String>) -> Result<Vec<String>, ConvertError> {
    texts.into_iter().map(|text| decimal(field, text)).collect()
}

impl Wire for SeriesEntry {
    type Message = v1::SeriesEntry;
    fn to_wire(&self) -> v1::SeriesEntry {
        v1::SeriesEntry {
            index: self.index,
            name: self.name.clone(),
            count: self.count.clone(),
            counts: self.counts.clone(),
            checks: list_to(&self.checks),
            ok: self.ok,
        }
    }
    fn from_wire(message: v1::SeriesEntry) -> Result<Self, ConvertError> {
        Ok(Self {
            index: message.index,
            name: shown("SeriesEntry.name", message.name, NAME_BYTES)?,
            count: decimal("SeriesEntry.count", message.count)?,
            counts: decimals("SeriesEntry.counts", message.counts)?,
            checks: list_from(message.checks)?,
            ok: message.ok,
        })
    }
}

impl Wire for Outcome {
    type Message = v1::Outcome;
    fn to_wire(&self) -> v1::Outcome {
        let residue = |&Residue { modulus, residue }: &Residue| v1::Residue { modulus, residue };
        v1::Outcome {
            problem: self.problem.clone(),
            size: self.size.clone(),
            count: self.count.clone(),
            counts: self.counts.clone(),
            residues: self.residues.iter().map(residue).collect(),
            series: list_to(&self.series),
            checks: list_to(&self.checks),
            ok: self.ok,
            identity: self.identity.clone(),
            builds: self.builds.clone(),
        }
    }
    fn from_wire(message: v1::Outcome) -> Result<Self, ConvertError> {
        let residues = at_most("Outcome.residues", message.residues, MAX_JOB_MODULI)?;
        Ok(Self {
            problem: shown("Outcome.problem", message.problem, NAME_BYTES)?,
            size: shown("Outcome.size", message.size, NAME_BYTES)?,
            count: decimal("Outcome.count", message.count)?,
            counts: decimals("Outcome.counts", message.counts)?,
            residues: residues.into_iter().map(|r| Residue { modulus: r.modulus, residue: r.residue }).collect(),
            series: list_from(message.series)?,
            checks: list_from(message.checks)?,
            ok: message.ok,
            identity: shown("Outcome.identity", message.identity, IDENTITY_BYTES)?,
            builds: at_most("Outcome.builds", message.builds, MOST_BUILDS)?
                .into_iter()
                .map(|build| shown("Outcome.builds", build, NAME_BYTES))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Wire for Board {
    type Message = v1::Board;
    fn to_wire(&self) -> v1::Board {
        v1::Board { height: self.height, length: self.length }
    }
    fn from_wire(message: v1::Board) -> Result<Self, ConvertError> {
        let v1::Board { height, length } = message;
        // Other code divides by the height.
        if !(1..=MAX_SIDE).contains(&height)
            || !(1..=MAX_SIDE).contains(&length)
            || height.checked_mul(length).is_none()
        {
            let expected = format!("sides from 1 to {MAX_SIDE}");
            return Err(ConvertError::new("Board", expected, format_args!("{height}x{length}")));
        }
        Ok(Self { height, length })
    }
}

impl Wire for Plan {
    type Message = v1::Plan;
    fn to_wire(&self) -> v1::Plan {
        v1::Plan {
            executor: self.execution.name().to_owned(),
            board: Some(self.board.to_wire()),
            windows: list_to(&self.windows),
            key_bytes: self.key_bytes,
            coefficients: self.coefficients,
            moduli: self.moduli.clone(),
            sweeps: self.sweeps.iter().map(|&(first, end)| v1::Sweep { first, end }).collect(),
            task_memory_bytes: self.task_memory_bytes,
            task_records: self.task_records,
            min_task_records: self.min_task_records,
            slots: self.slots,
            states: self.states.clone(),
            peak_states: self.peak_states,
            disk_bytes: self.disk_bytes,
            record_bytes: self.record_bytes,
            block: self.block().map(|block| v1::BlockPlan {
                group_records: block.group_records,
                lanes: block.lanes.clone(),
                parted: block.parted,
                middle: block.middle,
                room_states: block.room_states,
            }),
            why: self.why.clone(),
        }
    }
    fn from_wire(message: v1::Plan) -> Result<Self, ConvertError> {
        let windows: Vec<Window> = list_from(at_most("Plan.windows", message.windows, MAX_SIDE as usize)?)?;
        let sweeps = at_most("Plan.sweeps", message.sweeps, MAX_JOB_MODULI)?;
        let block = message.block.map(block_plan_from).transpose()?;
        let executor = shown("Plan.executor", message.executor, NAME_BYTES)?;
        let execution = Execution::of(&executor, block)
            .ok_or_else(|| ConvertError::new("Plan.executor", "stream or block", format_args!("{executor:?}")))?;
        let plan = Self {
            execution,
            board: Board::from_wire(required("Plan.board", message.board)?)?,
            windows,
            key_bytes: message.key_bytes,
            coefficients: message.coefficients,
            moduli: at_most("Plan.moduli", message.moduli, MAX_JOB_MODULI)?,
            sweeps: sweeps.into_iter().map(|sweep| (sweep.first, sweep.end)).collect(),
            task_memory_bytes: message.task_memory_bytes,
            task_records: message.task_records,
            min_task_records: message.min_task_records,
            slots: message.slots,
            states: message.states,
            peak_states: message.peak_states,
            disk_bytes: message.disk_bytes,
            record_bytes: message.record_bytes,
            why: shown("Plan.why", message.why, TEXT_BYTES)?,
        };
        plan.check().map_err(|flaw| ConvertError::new("Plan", flaw.expected, flaw.got))?;
        Ok(plan)
    }
}

fn block_plan_from(message: v1::BlockPlan) -> Result<BlockPlan, ConvertError> {
    let lanes = at_most("BlockPlan.lanes", message.lanes, 1 << 20)?;
    let v1::BlockPlan { group_records, room_states, parted, middle, .. } = message;
    Ok(BlockPlan { group_records, lanes, room_states, parted, middle })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever shows a job counts its stages by the windows, and its residues by the sweeps.
    #[test]
    fn plans_that_cannot_be_are_refused() {
        let window = |first, len| v1::Window { first, len };
        let sound = || v1::Plan {
            executor: "stream".to_owned(),
            board: Some(v1::Board { height: 3, length: 2 }),
            windows: vec![window(0, 2), window(2, 1)],
            moduli: vec![5, 7],
            sweeps: vec![v1::Sweep { first: 0, end: 2 }],
            ..Default::default()
        };
        let check = |change: fn(&mut v1::Plan), expected: &str| {
            let mut message = sound();
            change(&mut message);
            let got = Plan::from_wire(message).map_or_else(|error| error.to_string(), |_| "a plan".to_owned());
            assert!(got.contains(expected), "expected {expected:?}, got {got:?}");
        };
        check(|_| (), "a plan");
        check(|plan| plan.windows.truncate(1), "windows that make up a column of 3 cells");
        check(|plan| plan.windows.reverse(), "windows that make up a column of 3 cells");
        check(|plan| plan.sweeps = vec![v1::Sweep { first: 0, end: 3 }], "sweeps that carry some of 2 moduli");
    }
}
