//! What a request asks for behind its question mark.
//!
//! ```text
//!   /api/v1/jobs             state=running (may be repeated), owner=ada, name=nightly, since=1764000000, after=j90, limit=100,
//!                            archived=true
//!   /api/v1/jobs/j1/values   from=1000
//! ```
//!
//! A word that is not known is refused: a person who mistypes a filter must not get everything.

use keima_coordinator::{JobFilter, JobId, MOST_PAGE_JOBS, State};

/// Jobs of a page without a limit.
const JOBS: usize = 100;

/// The number of a job's name, `"j1"`.
pub(crate) fn job_id(name: &str) -> Option<JobId> {
    name.strip_prefix('j').and_then(|digits| digits.parse().ok()).map(JobId)
}

fn refused(name: &str, value: &str, expected: &str) -> String {
    let value: String = value.chars().take(80).collect();
    format!("{name}={value}: expected {expected}")
}

/// The jobs that are asked for.
pub(crate) fn jobs(query: &str) -> Result<JobFilter, String> {
    let mut filter = JobFilter { limit: JOBS, ..JobFilter::default() };
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let wrong = |expected: &str| refused(&name, &value, expected);
        match &*name {
            "state" => {
                let is = |state: &State| state.to_string().replace(' ', "_") == value.replace([' ', '-'], "_");
                let words = || wrong("queued, running, paused, done, check_failed or cancelled");
                filter.states.push(State::ALL.into_iter().find(is).ok_or_else(words)?);
            }
            "owner" => filter.owner = Some(value.into_owned()),
            "name" => filter.name = Some(value.into_owned()),
            "since" => {
                let seconds = value.parse().ok().filter(|seconds: &f64| (0.0..1e12).contains(seconds));
                let seconds = seconds.ok_or_else(|| wrong("seconds since 1970"))?;
                filter.since = Some((seconds * 1000.0) as u64);
            }
            "after" => filter.after = Some(job_id(&value).ok_or_else(|| wrong("the name of a job, such as j1"))?),
            "limit" => {
                let most = value.parse().ok().filter(|most| (1..=MOST_PAGE_JOBS).contains(most));
                filter.limit = most.ok_or_else(|| wrong(&format!("a whole number from 1 to {MOST_PAGE_JOBS}")))?;
            }
            "archived" => filter.archived = value.parse().map_err(|_| wrong("true or false"))?,
            _ => return Err(refused(&name, &value, "state, owner, name, since, after, limit or archived")),
        }
    }
    Ok(filter)
}

/// The number of the first value that is asked for.
pub(crate) fn values(query: &str) -> Result<usize, String> {
    let mut from = 0;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "from" => from = value.parse().map_err(|_| refused(&name, &value, "a whole number"))?,
            _ => return Err(refused(&name, &value, "from")),
        }
    }
    Ok(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_or_refused_with_the_word() {
        let any = || JobFilter { limit: JOBS, ..JobFilter::default() };
        let check = |query: &str, expected: Result<JobFilter, &str>| match (jobs(query), expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{query}"),
            (Err(error), Err(words)) => assert!(error.contains(words), "{query}: {error}"),
            (got, expected) => panic!("{query}: {got:?}, expected {expected:?}"),
        };
        check("", Ok(any()));
        let states = vec![State::Done, State::CheckFailed];
        check("state=done&state=check_failed", Ok(JobFilter { states: states.clone(), ..any() }));
        check("state=done&state=check+failed", Ok(JobFilter { states, ..any() }));
        check("owner=gr%C3%B6%C3%9Fe%40lab", Ok(JobFilter { owner: Some("größe@lab".into()), ..any() }));
        check("name=", Ok(JobFilter { name: Some(String::new()), ..any() }));
        check("since=1.5&limit=1000", Ok(JobFilter { since: Some(1500), limit: 1000, ..any() }));
        check("after=j7&archived=true", Ok(JobFilter { after: Some(JobId(7)), archived: true, ..any() }));
        check("state=gone", Err("state=gone: expected queued"));
        check("after=7", Err("such as j1"));
        check("limit=0", Err("from 1 to 1000"));
        check("limit=1001", Err("from 1 to 1000"));
        check("since=NaN", Err("seconds since 1970"));
        check("archived=yes", Err("true or false"));
        check("stat=done", Err("stat=done: expected state, owner"));
    }

    #[test]
    fn values_begin_where_it_is_said() {
        assert_eq!((values(""), values("from=12")), (Ok(0), Ok(12)));
        assert!(values("from=-1").unwrap_err().contains("a whole number"));
        assert!(values("to=1").unwrap_err().contains("expected from"));
    }
}
