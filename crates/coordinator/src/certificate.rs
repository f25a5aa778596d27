//! The certificate of a count: the evidence of every stage, in a form that others can check.
//!
//! ```text
//!   head      problem, moduli, functionals                       hash of the head
//!   sweeps    of each stage: what it read and wrote, its tallies    hash of a stage covers the hash before it
//!   result    residues, numbers, tables, checks                  begins with the hash of the last stage
//!   history   time, retries, fall-backs
//!   hash      BLAKE3 over all of this
//! ```
//!
//! A certificate holds objects, lists, texts and truth values, and no JSON number: integers are decimal texts. So its
//! canonical form is simple: keys sorted, no spaces. `docs/reference/certificate.md` defines the form to the byte.
//! `keima-verify` reads it, with code of its own. Cost: the size of the evidence; no vector is looked at.

use keima_model::{Functional, ProblemInfo, Window};
use keima_runs::PassTally;
use serde_json::{Map, Value};

use self::form::{Object, flag, hash_of, integer, integers, list, rows, text, texts};
use crate::outcome::{FunctionalValues, Outcome, tables};
use crate::plan::{Execution, Plan};

pub use self::evidence::{ManifestDigest, StageEvidence, VectorEvidence, manifest_digest};

mod evidence;
mod form;
#[cfg(test)]
mod tests;

/// What [`certificate`] is made from.
pub struct Certified<'a> {
    /// The problem.
    pub info: &'a dyn ProblemInfo,
    /// Its options.
    pub options: &'a [(String, String)],
    /// How it was counted.
    pub plan: &'a Plan,
    /// The number and its checks.
    pub outcome: &'a Outcome,
    /// The residues of all functionals.
    pub values: &'a FunctionalValues,
    /// The stages of each sweep, in order.
    pub sweeps: &'a [SweepEvidence],
    /// One number that was computed at two boundaries: its prime, and its residue at each.
    pub cuts: Option<[u64; 3]>,
    /// What happened on the way.
    pub history: History,
}

/// The evidence of one sweep.
pub struct SweepEvidence {
    /// The primes whose residues it found.
    pub moduli: Vec<u64>,
    /// Its stages, in order.
    pub stages: Vec<StageEvidence>,
}

/// What happened on the way: time, and everything that was done more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Processes that had the count, one after the other.
    pub lives: u64,
    /// Time of counting in all lives, lost work included.
    pub milliseconds: u64,
    /// Finished tasks, repeated ones included.
    pub tasks: u64,
    /// Finished stages, repeated ones included.
    pub stages: u64,
    /// Attempts at tasks that failed or ended without a report.
    pub failed_attempts: u64,
    /// How often the count went back to an older vector.
    pub fall_backs: u64,
    /// Tasks that two workers did with the same outcome.
    pub recounts: u64,
    /// Tasks that read a part of the answer and that one worker alone did.
    pub answers_alone: u64,
    /// Failed checks after which the count went on: name, sweep, stage, what was expected and what came.
    pub failed_checks: Vec<(String, u32, u32, String)>,
    /// Lines for people.
    pub notes: Vec<String>,
}

/// The certificate. Its last field, `hash`, covers all others.
pub fn certificate(of: &Certified<'_>) -> Value {
    let head = head(of);
    let mut before = hash_of(&head);
    let sweeps: Vec<Value> = of.sweeps.iter().map(|sweep| sweep_value(sweep, &mut before)).collect();
    let mut whole = Object::new()
        .put("format", text("keima certificate"))
        .put("version", text("1"))
        .put("head", head)
        .put("sweeps", Value::Array(sweeps))
        .put("cuts", of.cuts.map_or(Value::Null, cuts))
        .put("result", result(of, before))
        .put("history", history(&of.history))
        .into_map();
    let hash = hash_of(&Value::Object(whole.clone()));
    whole.insert("hash".into(), text(hash));
    Value::Object(whole)
}

/// The canonical form of a certificate as text.
pub fn canonical(value: &Value) -> String {
    form::canonical(value)
}

fn head(of: &Certified<'_>) -> Value {
    let Certified { info, plan, outcome, .. } = of;
    let option = |(name, value): &(String, String)| texts([name, value]);
    let way = if plan.execution == Execution::InMemory { "memory" } else { "runs" };
    Object::new()
        .put("problem", text(&outcome.problem))
        .put("size", text(&outcome.size))
        .put("options", list(of.options.iter().map(option)))
        .put("identity", text(&outcome.identity))
        .put("builds", texts(&outcome.builds))
        .put("height", integer(plan.board.height))
        .put("length", integer(plan.board.length))
        .put("coefficients", integer(plan.coefficients))
        .put("executor", text(plan.execution.name()))
        .put("way", text(way))
        .put("windows", list(plan.windows.iter().copied().map(window)))
        .put("moduli", integers(&plan.moduli))
        .put("functionals", list(info.functionals().iter().map(|one| functional(*info, one))))
        .into_value()
}

fn window(window: Window) -> Value {
    integers(&[window.first, window.len])
}

fn functional(info: &dyn ProblemInfo, functional: &Functional) -> Value {
    let bound = info.bound_after(functional.after_pass);
    Object::new()
        .put("name", text(&functional.name))
        .put("index", integer(functional.index))
        .put("after_pass", integer(functional.after_pass))
        .put("answer", flag(functional.answer))
        .put("bound", list(bound.iter().map(|&(base, exponent)| integers(&[base, exponent]))))
        .into_value()
}

/// `before` is the hash of the stage before, and becomes that of the last stage.
fn sweep_value(sweep: &SweepEvidence, before: &mut String) -> Value {
    let stages = sweep.stages.iter().map(|evidence| {
        let mut stage = stage(evidence).put("before", text(&*before)).into_map();
        *before = hash_of(&Value::Object(stage.clone()));
        stage.insert("hash".into(), text(&*before));
        Value::Object(stage)
    });
    let stages = Value::Array(stages.collect());
    Object::new().put("moduli", integers(&sweep.moduli)).put("stages", stages).into_value()
}

fn stage(stage: &StageEvidence) -> Object {
    let functional = |sum: &keima_runs::FunctionalSum| {
        Object::new().put("functional", integer(sum.functional)).put("lanes", integers(&sum.lanes)).into_value()
    };
    let balance = stage.balance.as_ref().map_or(Value::Null, |balance| {
        Object::new().put("expected", integers(&balance.expected)).put("got", integers(&balance.got)).into_value()
    });
    let manifest = stage.manifest.as_ref().map_or(Value::Null, |digest| {
        Object::new()
            .put("runs", integer(digest.runs))
            .put("records", integer(digest.records))
            .put("bytes", integer(digest.bytes))
            .put("hash", text(&digest.hash))
            .into_value()
    });
    let passes = (stage.first_pass..).zip(&stage.passes).map(|(number, tally)| pass(number, tally));
    Object::new()
        .put("direction", text(if stage.transposed { "transposed" } else { "forward" }))
        .put("first_pass", integer(stage.first_pass))
        .put("cells", integer(stage.cells))
        .put("moduli", integers(&stage.moduli))
        .put("starts", flag(stage.starts))
        .put("exact", flag(stage.exact))
        .put("tasks", integer(stage.tasks))
        .put("recounted", integer(stage.recounted))
        .put("reads", vector(stage.reads.as_ref()))
        .put("writes", vector(stage.writes.as_ref()))
        .put("kept", vector(stage.kept.as_ref()))
        .put("passes", list(passes))
        .put("balance", balance)
        .put("functionals", list(stage.functionals.iter().map(functional)))
        .put("manifest", manifest)
}

fn vector(vector: Option<&VectorEvidence>) -> Value {
    vector.map_or(Value::Null, |vector| {
        Object::new()
            .put("moduli", integers(&vector.moduli))
            .put("states", integer(vector.tally.states))
            .put("sums", integers(&vector.tally.sums))
            .put("fingerprint", integers(&vector.tally.fingerprint))
            .into_value()
    })
}

fn pass(number: u32, tally: &PassTally) -> Value {
    Object::new()
        .put("pass", integer(number))
        .put("states", integer(tally.states))
        .put("successors", integer(tally.successors))
        .put("by_degree", rows(&tally.by_degree))
        .put("by_shift", rows(&tally.by_shift))
        .put("new_sums", integers(&tally.new_sums))
        .into_value()
}

fn cuts([modulus, one, other]: [u64; 3]) -> Value {
    Object::new().put("modulus", integer(modulus)).put("one", integer(one)).put("other", integer(other)).into_value()
}

fn result(of: &Certified<'_>, before: String) -> Value {
    let Certified { info, outcome, values, .. } = of;
    let numbers = (0_u32..).zip(info.functionals()).filter_map(|(number, functional)| {
        let residues = values.get(&number)?;
        let entry = outcome.series.iter().find(|entry| entry.name == functional.name);
        let count = entry.map_or(Value::Null, |entry| text(&entry.count));
        let object = Object::new().put("functional", integer(number)).put("residues", rows(residues));
        Some(object.put("count", count).into_value())
    });
    let check = |check: &crate::outcome::Check| {
        Object::new()
            .put("name", text(&check.name))
            .put("ok", flag(check.ok))
            .put("detail", text(&check.detail))
            .into_value()
    };
    Object::new()
        .put("before", text(before))
        .put("count", text(&outcome.count))
        .put("counts", texts(&outcome.counts))
        .put("functionals", list(numbers))
        .put("tables", table_values(*info, outcome))
        .put("checks", list(outcome.checks.iter().map(check)))
        .into_value()
}

/// The tables that are shown, with what their numbers are made of.
fn table_values(info: &dyn ProblemInfo, outcome: &Outcome) -> Value {
    let reports = info.reports();
    let tables = tables(info, outcome).into_iter().map(|table| {
        let report = reports.iter().find(|report| report.name == table.name);
        let terms = |index: &str| {
            let row = report.and_then(|report| report.rows.iter().find(|row| row.index == index));
            let terms = row.map(|row| row.terms.clone()).unwrap_or_default();
            list(terms.iter().map(|(functional, coefficient, weight)| {
                texts([functional.to_string(), coefficient.to_string(), weight.to_string()])
            }))
        };
        let row = |row: &crate::outcome::TableRow| {
            Object::new()
                .put("index", text(&row.index))
                .put("count", text(&row.count))
                .put("terms", terms(&row.index))
                .into_value()
        };
        Object::new().put("name", text(&table.name)).put("rows", list(table.rows.iter().map(row))).into_value()
    });
    list(tables)
}

fn history(history: &History) -> Value {
    let failed = |(check, sweep, stage, evidence): &(String, u32, u32, String)| {
        Object::new()
            .put("check", text(check))
            .put("sweep", integer(*sweep))
            .put("stage", integer(*stage))
            .put("evidence", text(evidence))
            .into_value()
    };
    Object::new()
        .put("lives", integer(history.lives))
        .put("milliseconds", integer(history.milliseconds))
        .put("tasks", integer(history.tasks))
        .put("stages", integer(history.stages))
        .put("failed_attempts", integer(history.failed_attempts))
        .put("fall_backs", integer(history.fall_backs))
        .put("recounts", integer(history.recounts))
        .put("answers_alone", integer(history.answers_alone))
        .put("failed_checks", list(history.failed_checks.iter().map(failed)))
        .put("notes", texts(&history.notes))
        .into_value()
}

/// The hash of a certificate.
pub fn certificate_hash(certificate: &Value) -> Option<&str> {
    certificate.get("hash").and_then(Value::as_str)
}

/// A certificate from its text; `None` if it is no object.
pub fn read_certificate(text: &str) -> Option<Value> {
    serde_json::from_str::<Map<String, Value>>(text).ok().map(Value::Object)
}
