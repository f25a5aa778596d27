//! A result, its numbers as integers.

use keima_coordinator::{JobStatus, Outcome, State};
use keima_residue::Integer;

use crate::Error;

/// Letters of a wrong number that an error shows.
const SHOWN: usize = 60;

/// What a finished job counted. All its checks hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The number.
    pub count: Integer,
    /// The number by coefficient, as fences by how many; empty where there is one only.
    pub coefficients: Vec<Integer>,
    /// Values that the count passed: for Go those of all shorter boards, if the job has [`Job::series`](crate::Job::series).
    pub series: Vec<Value>,
    /// What supports it: residues, checks, the problem's identity, the builds that took part.
    pub outcome: Outcome,
}

/// The value of one functional: for Go L(m, index) at the end of column `index`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Place in the series.
    pub index: u32,
    /// The functional's name.
    pub name: String,
    /// The value.
    pub count: Integer,
    /// The value by coefficient; empty where there is one only.
    pub coefficients: Vec<Integer>,
}

/// An integer in decimal. Costs O(M(d) log d) for d digits.
fn integer(what: &str, text: &str) -> Result<Integer, Error> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_decimal).ok_or_else(|| Error::Result {
        what: what.to_owned(),
        expected: "an integer in decimal",
        got: text.chars().take(SHOWN).collect(),
    })
}

fn integers(what: &str, texts: &[String]) -> Result<Vec<Integer>, Error> {
    texts.iter().map(|text| integer(what, text)).collect()
}

impl Counted {
    /// The result of a job that is done.
    pub fn of(status: JobStatus) -> Result<Self, Error> {
        match status.state {
            State::Done => {}
            State::CheckFailed => return Err(Error::CheckFailed(Box::new(status))),
            State::Cancelled => return Err(Error::Cancelled(Box::new(status))),
            State::Queued | State::Running | State::Paused => return Err(Error::NotFinished(Box::new(status))),
        }
        // A count is shown with its checks or not at all, whatever was sent.
        let checked = status.outcome.filter(|outcome| outcome.ok && outcome.checks.iter().all(|check| check.ok));
        let outcome = checked.ok_or_else(|| Error::Result {
            what: format!("result of job {}", status.id),
            expected: "a result whose checks all hold, for the job is done",
            got: String::new(),
        })?;
        let value = |entry: &keima_coordinator::SeriesEntry| {
            Ok::<_, Error>(Value {
                index: entry.index,
                name: entry.name.clone(),
                count: integer(&entry.name, &entry.count)?,
                coefficients: integers(&entry.name, &entry.counts)?,
            })
        };
        Ok(Self {
            count: integer("count", &outcome.count)?,
            coefficients: integers("counts", &outcome.counts)?,
            series: outcome.series.iter().map(value).collect::<Result<_, _>>()?,
            outcome,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_decimal_or_refused() {
        let check = |text: &str, is_taken: bool| match integer("count", text) {
            Ok(number) => assert_eq!((number.to_string(), is_taken), (text.to_owned(), true)),
            Err(error) => assert!(!is_taken && error.to_string().contains("count"), "{text:?}: {error}"),
        };
        check("0", true);
        check("-12", true);
        check(&"9".repeat(170), true);
        for text in ["", "-", "+1", " 1", "1_000", "1e9", "0x10", "٣"] {
            check(text, false);
        }
    }
}
