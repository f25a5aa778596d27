//! Planning, outside the machine: a plan is a pure function that may take seconds.
//!
//! ```text
//!   a submission                  consider -> Submission::plan (anywhere) -> admit
//!   a queued job, other workers   take_plan_request -> PlanRequest::make (anywhere) -> take_plan
//! ```
//!
//! A job whose limits follow the workers ([`Follows`](crate::Follows)) is planned for those that are there when its first
//! task is asked for. Until that plan is there, nobody gets a task of the job. Where the least memory that a worker offers
//! makes no plan, the most that one offers is tried: then the others get no tasks of the job.

use keima_model::mix::split_mix;
use keima_model::{AnyProblem, Registry};
use keima_orders::JobId;

use super::Coordinator;
use crate::api::{CallError, JobSpec, Millis, State};
use crate::fleet::Offer;
use crate::fleet::watched::{About, EventKind};
use crate::job::Job;
use crate::job::lives::unstored::Replanning;
use crate::plan::{Plan, PlanError, PlanLimits, choose_plan};
use crate::store::records::{Account, Notes, Record, Totals};
use crate::terms::Terms;

/// Memory of a task that is tried where no worker is there to say what it offers: a plan for it is made anew anyway.
const GUESSES_BYTES: [u64; 3] = [1 << 30, 16 << 30, 256 << 30];

/// A submission, with the limits that it may be planned for, the best ones first.
pub struct Submission {
    limits: Vec<JobSpec>,
    offer: Option<Offer>,
    second_copies: bool,
}

impl Submission {
    /// Opens the problem and plans the job. May take seconds.
    pub fn plan(self, registry: &dyn Registry) -> Result<Planned, CallError> {
        let invalid = |error: &dyn ToString| CallError::Invalid(error.to_string());
        let Self { limits, offer, second_copies } = self;
        let asked = limits.first().ok_or_else(|| invalid(&"no limits"))?;
        let problem = registry.open(&asked.problem).map_err(|error| invalid(&error))?;
        let (spec, plan) = first_plan(&problem, limits, second_copies).map_err(|error| invalid(&error))?;
        let info = problem.info();
        if plan.sweeps.is_empty() || plan.stages() == 0 {
            return Err(CallError::Invalid(format!("{} {}: nothing to count", info.name(), info.size())));
        }
        Ok(Planned { identity: problem.identity(), problem, spec, plan, offer })
    }
}

/// A submission with its plan.
pub struct Planned {
    problem: AnyProblem,
    /// Takes some milliseconds to make.
    identity: String,
    spec: JobSpec,
    plan: Plan,
    offer: Option<Offer>,
}

/// A queued job that is to be planned for the workers that are there now.
pub struct PlanRequest {
    job: JobId,
    problem: AnyProblem,
    limits: Vec<JobSpec>,
    offer: Offer,
    second_copies: bool,
}

impl PlanRequest {
    /// Makes the plan. May take seconds.
    pub fn make(self) -> NewPlan {
        let made = first_plan(&self.problem, self.limits, self.second_copies).map_err(|error| error.to_string());
        NewPlan { job: self.job, offer: self.offer, made }
    }
}

/// The answer to a [`PlanRequest`].
pub struct NewPlan {
    job: JobId,
    offer: Offer,
    made: Result<(JobSpec, Plan), String>,
}

/// The first of some limits for which there is a plan. The error is that of the last ones.
fn first_plan(problem: &AnyProblem, limits: Vec<JobSpec>, second_copies: bool) -> Result<(JobSpec, Plan), PlanError> {
    let mut refusal = PlanError::Zero { option: "limits" };
    for spec in limits {
        let limits = PlanLimits {
            task_memory_bytes: spec.task_memory_bytes,
            disk_bytes: spec.disk_bytes,
            residues_per_sweep: spec.residues_per_sweep,
            window: spec.window,
            slots: spec.slots,
            worker_slots: spec.worker_slots,
            second_copies,
            series: spec.series,
        };
        match choose_plan(problem.info(), problem.key_bytes(), &limits, spec.executor) {
            Ok(plan) if spec.other_primes => return Ok((spec, plan.with_other_primes(problem.info()))),
            Ok(plan) => return Ok((spec, plan)),
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

/// The limits that a job may be planned for, the best ones first.
fn limits_for(spec: &JobSpec, offer: Option<&Offer>) -> Vec<JobSpec> {
    let follows = spec.follows;
    let memories = match offer {
        _ if !follows.task_memory => vec![spec.task_memory_bytes],
        Some(offer) if offer.least_task_bytes == offer.most_task_bytes => vec![offer.least_task_bytes],
        Some(offer) => vec![offer.least_task_bytes, offer.most_task_bytes],
        None => {
            let larger = GUESSES_BYTES.into_iter().filter(|&guess| guess > spec.task_memory_bytes);
            std::iter::once(spec.task_memory_bytes).chain(larger).collect()
        }
    };
    let with = |task_memory_bytes| {
        let mut spec = JobSpec { task_memory_bytes, ..spec.clone() };
        if let Some(offer) = offer {
            if follows.disk {
                spec.disk_bytes = Some(offer.disk_bytes);
            }
            if follows.slots {
                // More workers may come later. Tasks cut for one slot would leave a second one idle at the end of each stage.
                (spec.slots, spec.worker_slots) = (offer.slots.max(2), offer.worker_slots);
            }
        }
        spec
    };
    memories.into_iter().map(with).collect()
}

impl Coordinator {
    /// Whether column ends get second copies, as far as a plan can know.
    pub(super) fn plans_second_copies(&self) -> bool {
        // A single worker has nobody to hold a second copy. While none is there, more than one may come.
        self.fleet.config.second_copies && self.fleet.here().count() != 1
    }

    /// What a submission may be planned for. Changes nothing.
    pub fn consider(&self, spec: &JobSpec) -> Submission {
        let offer = self.fleet.offer().filter(|_| spec.follows.any());
        Submission { limits: limits_for(spec, offer.as_ref()), offer, second_copies: self.plans_second_copies() }
    }

    /// Puts a planned job in the queue.
    pub fn admit(&mut self, now: Millis, planned: Planned) -> Result<JobId, CallError> {
        self.admit_as(now, planned, Terms::default())
    }

    /// The same under terms, which were checked.
    pub fn admit_as(&mut self, now: Millis, planned: Planned, terms: Terms) -> Result<JobId, CallError> {
        self.advance(now);
        self.jobs.check_room()?;
        let Planned { problem, identity, spec, mut plan, offer } = planned;
        if let Some(most) = self.fleet.config.most_task_records {
            plan.cut_finer(most);
        }
        let info = problem.info();
        let id = JobId(self.next_job);
        self.next_job += 1;
        let tag = self.tag(id, &identity);
        let lot = self.fleet.life.random();
        let record = Record {
            identity,
            builds: vec![self.fleet.config.build.clone()],
            size: info.size(),
            pass_states: vec![None; info.board().passes() as usize + 1],
            spec,
            plan,
            tag,
            salt: split_mix(&mut tag.clone()),
            lot,
            state: State::Queued,
            reason: String::new(),
            waits: false,
            sweep: 0,
            generation: 0,
            active_millis: 0,
            lives: 1,
            totals: Totals::default(),
            notes: Notes::default(),
            disk_peak_bytes: 0,
            trusted: Vec::new(),
            second_tries: Vec::new(),
            last_stage: None,
            outcome: None,
            adopted: Vec::new(),
        };
        let account = Account { terms, submitted_at: self.fleet.now, ..Account::default() };
        let replanning = Replanning { planned_for: offer, ..Replanning::default() };
        let job = Job { account, replanning, ..Job::new(id, record, Some(problem), self.fleet.now) };
        self.store_meta();
        job.store(&mut self.fleet);
        let text = format!("queued: {} {}", job.record.spec.problem.name, job.record.size);
        self.fleet.tell(EventKind::Job, About::job(id), &text);
        self.jobs.insert(id, job);
        self.fleet.work_changed();
        Ok(id)
    }

    /// A job to plan anew, if there is one. The answer goes to [`Coordinator::take_plan`].
    pub fn take_plan_request(&mut self) -> Option<PlanRequest> {
        while let Some(id) = self.fleet.plans_wanted.pop_first() {
            let offer = self.fleet.offer();
            let second_copies = self.plans_second_copies();
            let Some(job) = self.jobs.get_mut(&id).filter(|job| job.wants_plan(&self.fleet)) else { continue };
            let (Some(offer), Some(problem)) = (offer, job.problem.clone()) else { continue };
            job.replanning.is_under_way = true;
            let limits = limits_for(&job.record.spec, Some(&offer));
            return Some(PlanRequest { job: id, problem, limits, offer, second_copies });
        }
        None
    }

    /// Takes the answer to a [`PlanRequest`]. Without a plan the job keeps the one that it has, and notes why.
    pub fn take_plan(&mut self, now: Millis, plan: NewPlan) {
        self.advance(now);
        let NewPlan { job, offer, made } = plan;
        let Some(job) = self.jobs.get_mut(&job) else { return };
        job.replanning.is_under_way = false;
        if !job.is_not_begun() {
            return;
        }
        job.replanning.planned_for = Some(offer);
        match made {
            Ok((spec, plan)) => (job.record.spec, job.record.plan) = (spec, plan),
            Err(why) => job.note(format!("cannot be planned for the workers that are here: {why}")),
        }
        job.store(&mut self.fleet);
        self.fleet.work_changed();
    }

    /// A number that distinguishes this job's runs from those of all others.
    fn tag(&mut self, id: JobId, identity: &str) -> u64 {
        let mut tag = self.fleet.life.random() ^ id.0;
        for byte in identity.bytes() {
            tag = split_mix(&mut tag) ^ u64::from(byte);
        }
        split_mix(&mut tag)
    }
}
