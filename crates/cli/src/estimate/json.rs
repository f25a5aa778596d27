//! An estimate as one JSON object, in bytes, seconds and plain numbers; what is unknown is null.

use keima_count::estimate::{StageOutline, StageTime, Times, Way};
use keima_model::Direction;
use serde_json::{Value, json};

use super::printed::Estimate;
use crate::sample::{bits, to_json};

/// The name of a way to count.
fn way(way: Way) -> &'static str {
    match way {
        Way::InMemory => "memory",
        Way::OneProcess => "process",
        Way::Cluster => "cluster",
    }
}

/// The name of a direction.
fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Transposed => "backward",
    }
}

/// The object.
pub(super) fn object(estimate: &Estimate) -> Value {
    let Estimate { offer, outline, measured, .. } = estimate;
    let plan = &outline.plan;
    let known = !outline.stages.is_empty();
    let when_known = |value: Value| if known { value } else { Value::Null };
    let (state_passes, bytes_read, bytes_written, bytes_copied) = outline.totals();
    let times = measured.as_ref().map(|(_, times)| times);
    let seconds = |of: fn(&Times) -> f64| times.map_or(Value::Null, |times| of(times).into());
    json!({
        "problem": estimate.problem,
        "size": estimate.size,
        "offer": {
            "workers": offer.workers,
            "threads": offer.threads,
            "memory_bytes": offer.memory_bytes,
            "cache_bytes": offer.cache_bytes,
            "disk_bytes": offer.disk_bytes,
            "disk_bytes_per_second": offer.disk_bytes_per_second,
            "disk_measured": estimate.disk_measured,
        },
        "plan": {
            "runs_in": way(outline.way),
            "executor": plan.execution.name(),
            "why": plan.why,
            "windows": plan.windows.iter().map(|window| window.len).collect::<Vec<_>>(),
            "moduli": plan.moduli.len(),
            "sweeps": plan.sweeps.iter().map(|(first, end)| end - first).collect::<Vec<_>>(),
            "task_memory_bytes": plan.task_memory_bytes,
        },
        "answer": estimate.answer.as_ref().map(|(sampled, plan)| {
            let mut answer = to_json(sampled, *plan);
            answer["bits"] = if sampled.mean.is_zero() { Value::Null } else { bits(sampled.mean).into() };
            answer
        }),
        "states": outline.states,
        "peak_states": outline.peak_states(),
        "state_passes": when_known(state_passes.into()),
        "memory_bytes": outline.memory_bytes,
        "table_bytes": outline.table_bytes,
        "bytes_read": when_known(bytes_read.into()),
        "bytes_written": when_known(bytes_written.into()),
        "bytes_copied": when_known(bytes_copied.into()),
        "disk_peak_bytes": when_known(plan.disk_bytes.into()),
        "disk_seconds": seconds(|times| times.total.disk_seconds),
        "core_seconds": seconds(|times| times.total.core_seconds),
        "wall_seconds": seconds(|times| times.total.wall_seconds),
        "largest_family_seconds": seconds(|times| times.total.family_seconds),
        "stages_that_wait_for_largest_family": times.map(|times| {
            times.stages.iter().filter(|time| time.waits_for_family()).count()
        }),
        "setup_seconds": seconds(|times| times.setup_seconds),
        "filled": seconds(|times| times.filled),
        "stages": stages(&outline.stages, times.map_or(&[], |times| &times.stages)),
        "speeds": measured.as_ref().map(|(speeds, _)| json!({
            "boards": speeds.boards,
            "threads": speeds.threads,
            "read_nanos": [speeds.read.base_nanos, speeds.read.lane_nanos],
            "pass_nanos": [speeds.pass.base_nanos, speeds.pass.lane_nanos],
            "write_nanos": [speeds.write.base_nanos, speeds.write.lane_nanos],
            "sweeps": speeds.sweeps.iter().map(|sweep| json!({
                "lanes": sweep.lanes, "forward_nanos": sweep.forward_nanos, "backward_nanos": sweep.backward_nanos,
            })).collect::<Vec<_>>(),
            "rest": speeds.rest,
            "table_seconds": speeds.table_seconds,
            "parts": speeds.parts,
            "missing_columns_per_cell": speeds.missing,
        })),
        "notes": outline.notes,
    })
}

fn stages(stages: &[StageOutline], times: &[StageTime]) -> Value {
    let object = |(stage, time): (&StageOutline, &StageTime)| {
        json!({
            "sweep": stage.sweep,
            "column": stage.column,
            "first_cell": stage.window.first,
            "cells": stage.window.len,
            "direction": direction(stage.direction),
            "lanes": stage.lanes,
            "states_before": stage.states_before,
            "states_after": stage.states_after,
            "state_passes": stage.state_passes,
            "largest_family_share": stage.family_share,
            "largest_family_slices": stage.family_slices,
            "largest_family_workers": stage.family_workers,
            "largest_family_threads": stage.family_threads,
            "slices": stage.slices,
            "grows": stage.grows,
            "bytes_read": stage.bytes_read,
            "bytes_written": stage.bytes_written,
            "bytes_copied": stage.bytes_copied,
            "table_seconds": time.table_seconds,
            "core_seconds": time.core_seconds,
            "largest_family_seconds": time.family_seconds,
            "disk_seconds": time.disk_seconds,
            "wall_seconds": time.wall_seconds,
        })
    };
    stages.iter().zip(times).map(object).collect()
}
