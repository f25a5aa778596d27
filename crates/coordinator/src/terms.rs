//! What people say of a job beside what is to be counted: whose it is, its name, its note, its caps.
//!
//! Terms decide when and where a job's tasks run. They never change what a task computes, so they may be changed at any time.

use serde::{Deserialize, Serialize};

use crate::api::{CallError, JobSpec};

/// Most bytes of a name, of a job or of an owner.
pub const MOST_NAME_BYTES: usize = 64;
/// Most bytes of a note.
pub const MOST_NOTE_BYTES: usize = 1000;

/// What people say of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Its name for people, beside the one that the coordinator gives it; empty for none. Several jobs may have one name.
    pub name: String,
    /// A line for people; may be empty.
    pub note: String,
    /// Who submitted it, as the submitter says. Owners share the workers; nothing is protected by it.
    pub owner: String,
    /// Most workers that have tasks of it at a time; `None` for no limit.
    pub max_workers: Option<u32>,
    /// Most bytes of its runs on all workers together, second copies included. Beyond it the job pauses. `None` for no limit.
    pub max_disk_bytes: Option<u64>,
}

/// A change of a job's terms; `None` leaves a thing as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermsChange {
    /// Jobs of higher priority go first.
    pub priority: Option<i32>,
    /// Another name; empty for none.
    pub name: Option<String>,
    /// Another note; empty for none.
    pub note: Option<String>,
    /// Another owner.
    pub owner: Option<String>,
    /// Another cap on workers; 0 lifts it.
    pub max_workers: Option<u32>,
    /// Another cap on bytes; 0 lifts it.
    pub max_disk_bytes: Option<u64>,
}

impl Terms {
    /// Refuses names that could not be typed or shown.
    pub fn check(&self) -> Result<(), CallError> {
        check_name("name", &self.name)?;
        check_name("owner", &self.owner)?;
        if is_job_number(&self.name) {
            return Err(CallError::Invalid(format!(
                "a job cannot be called {:?}: the coordinator gives names of that form; take another --name",
                self.name
            )));
        }
        if self.note.len() > MOST_NOTE_BYTES || self.note.chars().any(char::is_control) {
            let got = match self.note.chars().find(|c| c.is_control()) {
                Some(control) => format!("the control character {control:?} in it; leave it out of the --note"),
                None => format!("{} bytes; shorten the --note", self.note.len()),
            };
            return Err(CallError::Invalid(format!(
                "a note is one line of at most {MOST_NOTE_BYTES} bytes, got {got}"
            )));
        }
        if self.max_workers == Some(0) || self.max_disk_bytes == Some(0) {
            return Err(CallError::Invalid("a cap of 0 would let the job do nothing; leave the cap out".to_owned()));
        }
        Ok(())
    }

    /// A job as it is to be planned: its forecast keeps to the cap on bytes.
    #[must_use]
    pub fn limit(&self, mut spec: JobSpec) -> JobSpec {
        if let Some(most) = self.max_disk_bytes
            && (spec.follows.disk || spec.disk_bytes.is_none_or(|bytes| bytes > most))
        {
            (spec.disk_bytes, spec.follows.disk) = (Some(most), false);
        }
        spec
    }

    /// The terms after a change.
    #[must_use]
    pub fn after(&self, change: &TermsChange) -> Self {
        let TermsChange { name, note, owner, max_workers, max_disk_bytes, .. } = change.clone();
        Self {
            name: name.unwrap_or_else(|| self.name.clone()),
            note: note.unwrap_or_else(|| self.note.clone()),
            owner: owner.unwrap_or_else(|| self.owner.clone()),
            max_workers: max_workers.map_or(self.max_workers, |most| (most > 0).then_some(most)),
            max_disk_bytes: max_disk_bytes.map_or(self.max_disk_bytes, |most| (most > 0).then_some(most)),
        }
    }
}

/// Whether a text has the form of the names that the coordinator gives: `j12`, or `12`.
pub fn is_job_number(text: &str) -> bool {
    let digits = text.strip_prefix('j').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn check_name(what: &str, name: &str) -> Result<(), CallError> {
    let fits = |c: char| c.is_alphanumeric() || "._-+@:".contains(c);
    if name.len() <= MOST_NAME_BYTES && name.chars().all(fits) && !name.starts_with('-') {
        return Ok(());
    }
    let shown: String = name.chars().take(MOST_NAME_BYTES).filter(|c| !c.is_control()).collect();
    Err(CallError::Invalid(format!(
        "{what} {shown:?}: expected at most {MOST_NAME_BYTES} bytes of letters, digits and . _ - + @ :, not beginning with -, got {} \
         bytes",
        name.len()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_taken_or_refused_with_the_reason() {
        let check = |terms: Terms, expected: Option<&str>| match (terms.check(), expected) {
            (Ok(()), None) => {}
            (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{terms:?}: {error}"),
            (got, _) => panic!("{terms:?}: {got:?}, expected {expected:?}"),
        };
        let named = |name: &str| Terms { name: name.into(), ..Terms::default() };
        let owned = |owner: &str| Terms { owner: owner.into(), ..Terms::default() };
        let noted = |note: &str| Terms { note: note.into(), ..Terms::default() };
        for name in ["", "nightly", "go-19x19.2", "job", "j", "j1a", "größe"] {
            check(named(name), None);
        }
        for name in ["j1", "12", "j0012"] {
            check(named(name), Some("cannot be called"));
        }
        for name in ["two words", "-x", "a/b", "a\nb", &"x".repeat(65)] {
            check(named(name), Some("expected at most 64 bytes"));
        }
        check(owned("ada@lab"), None);
        check(owned("ada lovelace"), Some("owner \"ada lovelace\""));
        check(noted(&"x".repeat(1000)), None);
        check(noted(&"x".repeat(1001)), Some("shorten the --note"));
        check(noted("two\nlines"), Some("one line"));
        check(Terms { max_workers: Some(0), ..Terms::default() }, Some("cap of 0"));
        check(Terms { max_disk_bytes: Some(0), ..Terms::default() }, Some("cap of 0"));
    }

    #[test]
    fn a_change_leaves_the_rest_and_0_lifts_a_cap() {
        let terms = Terms { name: "a".into(), max_workers: Some(2), max_disk_bytes: Some(7), ..Terms::default() };
        assert_eq!(terms.after(&TermsChange::default()), terms);
        let change = TermsChange { note: Some("n".into()), max_workers: Some(0), ..TermsChange::default() };
        assert_eq!(terms.after(&change), Terms { note: "n".into(), max_workers: None, ..terms });
    }
}
