//! The list of jobs in pages: the newest first, by state, owner, name and age.
//!
//! Cost: O(1) for a job that is passed over, and the cost of its status for one that is listed. A page ends at so many jobs or
//! bytes, whichever comes first; so no list grows with the number of jobs that the coordinator ever had.

use keima_orders::JobId;

use super::Coordinator;
use crate::api::{Millis, State};
use crate::job::Job;
use crate::job::shown::status::JobStatus;

/// Most jobs of a page.
pub const MOST_PAGE_JOBS: usize = 1000;
/// About so many bytes end a page; it has at least one job.
const MOST_PAGE_BYTES: usize = 4 << 20;

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
}

/// A part of the list of jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobPage {
    /// The newest first, without their values.
    pub jobs: Vec<JobStatus>,
    /// Where the list goes on: the `after` of the next page; `None` at its end.
    pub next: Option<JobId>,
}

impl JobFilter {
    fn takes(&self, job: &Job) -> bool {
        let is = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|wanted| wanted == has);
        let (terms, state) = (&job.account.terms, job.record.state);
        (self.states.is_empty() || self.states.contains(&state))
            && is(&self.owner, &terms.owner)
            && is(&self.name, &terms.name)
            && self.since.is_none_or(|since| job.account.submitted_at >= since)
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
        let most = if filter.limit == 0 { MOST_PAGE_JOBS } else { filter.limit.min(MOST_PAGE_JOBS) };
        let older = self.jobs.range(..filter.after.unwrap_or(JobId(u64::MAX)));
        let mut wanted = older.rev().map(|(_, job)| job).filter(|job| filter.takes(job)).peekable();
        let (order, mut page, mut length) = (self.in_order(), JobPage::default(), 0);
        while let Some(job) = wanted.next() {
            let status = self.shown(job, &order).without_values();
            length += bytes(&status);
            page.jobs.push(status);
            if page.jobs.len() >= most || length >= MOST_PAGE_BYTES {
                page.next = wanted.peek().map(|_| job.id);
                break;
            }
        }
        page
    }
}
