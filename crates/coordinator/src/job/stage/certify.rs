//! Keeps the evidence of stages that have ended, and makes the certificate of it when the job is done.

use crate::api::State;
use crate::certificate::{Certified, History, StageEvidence, SweepEvidence, canonical, certificate};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::store::restore::StageNumber;

impl Job {
    /// Keeps the evidence of a stage that has just ended.
    pub(crate) fn keep_evidence(&mut self, fleet: &mut Fleet, stage: u32, evidence: &StageEvidence) {
        let number = StageNumber { sweep: self.record.sweep, stage };
        if let Some(bytes) = fleet.journal.put_evidence(self.id, number, evidence) {
            self.evidence.0.insert(number, bytes);
        }
    }

    /// Drops the evidence of stages that are to be done again.
    pub(crate) fn drop_evidence(&mut self, fleet: &mut Fleet) {
        let next = StageNumber { sweep: self.record.sweep, stage: self.boundaries.next_stage() };
        for (number, _) in self.evidence.0.split_off(&next) {
            fleet.journal.delete_evidence(self.id, number);
        }
    }

    /// Drops all evidence: there is no number to certify.
    pub(crate) fn drop_all_evidence(&mut self, fleet: &mut Fleet) {
        for (number, _) in std::mem::take(&mut self.evidence.0) {
            fleet.journal.delete_evidence(self.id, number);
        }
    }

    /// The certificate of a finished job in canonical form. `None` if it is not done, if an older program counted it, or if
    /// this program does not know its problem.
    pub(crate) fn certificate(&self) -> Option<String> {
        let record = &self.record;
        let (info, plan) = (self.info()?, &record.plan);
        let outcome = record.outcome.as_ref().filter(|outcome| outcome.ok && record.state == State::Done)?;
        let sweep = |number: u32| {
            let stages = self.evidence.sweep(number, plan.stages())?;
            Some(SweepEvidence { moduli: plan.sweep_moduli(number).to_vec(), stages })
        };
        let sweeps = (0..plan.sweeps.len() as u32).map(sweep).collect::<Option<Vec<_>>>()?;
        let failed = record.second_tries.iter();
        let history = History {
            lives: record.lives.into(),
            milliseconds: record.active_millis,
            tasks: record.totals.tasks,
            stages: record.totals.stages,
            failed_attempts: record.totals.failed_attempts,
            fall_backs: record.totals.fall_backs,
            recounts: record.totals.recounts,
            answers_alone: record.totals.answers_alone,
            failed_checks: failed.map(|f| (f.check.clone(), f.sweep, f.stage, f.evidence.clone())).collect(),
            notes: record.notes.to_vec(),
        };
        let certified = Certified {
            info,
            options: &record.spec.problem.options,
            plan,
            outcome,
            values: &self.functionals.all(Some(info), plan),
            sweeps: &sweeps,
            cuts: None,
            history,
        };
        Some(canonical(&certificate(&certified)))
    }
}
