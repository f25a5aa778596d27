//! The list of jobs in pages: the newest first, by state, owner, name and age. A job's values in pages, too.
//!
//! Cost: O(1) for a job that is passed over, and the cost of its status for one that is listed. A page ends at so many jobs or
//! bytes, whichever comes first; so no list grows with the number of jobs that the coordinator ever had.

use keima_orders::JobId;

use crate::api::{Millis, State};
use crate::job::Job;
use crate::job::shown::status::JobStatus;
use crate::machine::Coordinator;
use crate::outcome::SeriesEntry;
use crate::terms::Terms;

/// Most jobs of a page.
pub const MOST_PAGE_JOBS: usize = 1000;
/// Bytes after which a page of jobs ends. It has at least one job.
const MOST_LIST_BYTES: usize = 4 << 20;
/// Bytes after which a page of values ends. It has at least one value.
const MOST_PAGE_BYTES: usize = 1 << 20;

/// Which jobs are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Those in one of these states; in any if there is none.
    pub states: Vec<State>,
    /// Those of this owner.
    pub owner: Option<String>,
    /// Those of this name.
    pub name: Option<String>,
    /// Those that were submitted at this moment or later, in milliseconds since the Unix epoch.
    pub since: Option<Millis>,
    /// Those that are older than this one.
    pub after: Option<JobId>,
    /// Most jobs of the page; 0 for [`MOST_PAGE_JOBS`], which no page exceeds.
    pub limit: usize,
    /// Those that have left the store, instead of those that are in it. The coordinator itself knows none of them.
    pub archived: bool,
}

/// A part of the list of jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobPage {
    /// The newest first, without their values.
    pub jobs: Vec<JobStatus>,
    /// Where the list goes on: the `after` of the next page; `None` at its end.
    pub next: Option<JobId>,
}

/// A part of a job's values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValuePage {
    /// In their order.
    pub values: Vec<SeriesEntry>,
    /// Where the next part begins; `None` at their end.
    pub next: Option<usize>,
}

impl ValuePage {
    /// The first page of `values`, of which the first one has number `from`.
    pub fn of<'a>(values: impl Iterator<Item = &'a SeriesEntry>, from: usize) -> Self {
        let (mut page, mut length, mut values) = (Self::default(), 0, values.peekable());
        while let Some(value) = values.next() {
            let checks: usize = value.checks.iter().map(|check| check.name.len() + check.detail.len() + 8).sum();
            let counts: usize = value.counts.iter().map(|count| count.len() + 4).sum();
            length += 32 + value.name.len() + value.count.len() + counts + checks;
            page.values.push(value.clone());
            if length >= MOST_PAGE_BYTES {
                page.next = values.peek().map(|_| from + page.values.len());
                break;
            }
        }
        page
    }
}

impl JobFilter {
    /// Most jobs of a page.
    pub fn most(&self) -> usize {
        if self.limit == 0 { MOST_PAGE_JOBS } else { self.limit.min(MOST_PAGE_JOBS) }
    }

    /// Whether it lets a job through.
    pub fn takes(&self, job: &JobStatus) -> bool {
        self.lets(&job.account.terms, job.state, job.account.submitted_at)
    }

    fn lets(&self, terms: &Terms, state: State, submitted_at: Millis) -> bool {
        let is = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|wanted| wanted == has);
        (self.states.is_empty() || self.states.contains(&state))
            && is(&self.owner, &terms.owner)
            && is(&self.name, &terms.name)
            && self.since.is_none_or(|since| submitted_at >= since)
    }

    fn takes_job(&self, job: &Job) -> bool {
        self.lets(&job.account.terms, job.record.state, job.account.submitted_at)
    }
}

impl JobPage {
    /// The first page of `jobs`, the newest first, at most `most` of them.
    pub fn of(mut jobs: impl Iterator<Item = JobStatus>, most: usize) -> Self {
        let (mut page, mut length) = (Self::default(), 0);
        let mut more = jobs.next();
        while let Some(job) = more {
            length += bytes(&job);
            let id = job.id;
            page.jobs.push(job);
            more = jobs.next();
            if page.jobs.len() >= most || length >= MOST_LIST_BYTES {
                page.next = more.map(|_| id);
                break;
            }
        }
        page
    }
}

/// About how long a job's message is.
fn bytes(status: &JobStatus) -> usize {
    let plan = status.plan.as_ref();
    let states = plan.map_or(0, |plan| plan.states.len() + plan.moduli.len() + plan.windows.len());
    let lanes = plan.and_then(|plan| plan.block()).map_or(0, |block| block.lanes.len());
    let texts: usize = status.notes.iter().map(String::len).sum();
    let checks = status.outcome.as_ref().map_or(0, |outcome| outcome.checks.len() * 200 + outcome.count.len());
    1024 + 10 * states + 2 * lanes + texts + checks + 100 * status.workers.len()
}

impl Coordinator {
    /// A part of the list of jobs.
    pub fn list(&self, filter: &JobFilter) -> JobPage {
        let order = self.in_order();
        let wanted = self.jobs.newest_first(filter.after).filter(|job| filter.takes_job(job));
        JobPage::of(wanted.map(|job| self.shown(job, &order)), filter.most())
    }

    /// Jobs that are not over, and the last `most` that ended, the newest first.
    pub fn newest(&self, most: usize) -> Vec<JobStatus> {
        let order = self.in_order();
        let live = self.jobs.live().filter(|job| !job.is_over());
        let ended = self.jobs.live().filter(|job| job.is_over()).chain(self.jobs.last_ended()).take(most);
        let mut newest: Vec<JobStatus> = live.chain(ended).map(|job| self.shown(job, &order)).collect();
        newest.sort_by_key(|job| std::cmp::Reverse(job.id));
        newest
    }

    /// How many jobs are in each state.
    pub fn by_state(&self) -> Vec<(State, usize)> {
        self.jobs.by_state()
    }
}
