//! Converts between the generated gRPC types and the types of the other crates.
//!
//! Conversion to the wire cannot fail. Conversion from the wire can, because the peer may be of another build, broken or
//! hostile. It checks presence, size and range of every field, so that no other module sees an impossible value. The
//! transport bounds the size of a message, and so of every list (`access::calls`, `ANSWER_BYTES` in `grpc`); the limits here
//! are about meaning.
//!
//! Cost: one pass over the message; strings and vectors of an incoming message are moved, not copied.

pub(crate) mod carry;
mod job;
mod order;
mod outcome;
pub(crate) mod pages;
mod run;
mod weigh;
mod worker;

#[cfg(test)]
mod tests;

use std::fmt::Display;

pub(crate) use job::{job_filter, replan_from, terms_change};
pub(crate) use order::worker_id;
pub(crate) use run::{lane, run_id, run_ids};

/// Longest name of a problem, worker, run or option.
const NAME_BYTES: usize = 256;
/// Longest identity of a problem.
const IDENTITY_BYTES: usize = 4096;
/// Most builds that a result names.
const MOST_BUILDS: usize = 64;
/// Longest text for people.
pub(crate) const TEXT_BYTES: usize = 64 << 10;
/// Most moduli of a job, all sweeps together.
const MAX_JOB_MODULI: usize = 1 << 16;
/// Longest column of a board, and most columns.
const MAX_SIDE: u32 = 1 << 16;

/// A message field that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message field {field}: expected {expected}, got {got}; the peer may be of another build of keima")]
pub struct ConvertError {
    /// The field, as `"StageOrder.moduli"`.
    pub field: &'static str,
    /// What would be accepted.
    pub expected: String,
    /// What came, shortened.
    pub got: String,
}

impl ConvertError {
    fn new(field: &'static str, expected: impl Display, got: impl Display) -> Self {
        Self { field, expected: expected.to_string(), got: plain(got.to_string().chars().take(200).collect()) }
    }
}

/// A type with its message.
pub(crate) trait Wire: Sized {
    /// The generated type.
    type Message;
    /// Converts to a message.
    fn to_wire(&self) -> Self::Message;
    /// Checks a message and converts it.
    fn from_wire(message: Self::Message) -> Result<Self, ConvertError>;
}

/// Converts a list to the wire.
pub(crate) fn list_to<T: Wire>(items: &[T]) -> Vec<T::Message> {
    items.iter().map(Wire::to_wire).collect()
}

/// Converts a list from the wire.
pub(crate) fn list_from<T: Wire>(items: Vec<T::Message>) -> Result<Vec<T>, ConvertError> {
    items.into_iter().map(T::from_wire).collect()
}

/// A message that must be present.
pub(crate) fn required<M>(field: &'static str, message: Option<M>) -> Result<M, ConvertError> {
    message.ok_or_else(|| ConvertError::new(field, "a message", "none"))
}

/// A string of at most `limit` bytes.
pub(crate) fn bounded(field: &'static str, text: String, limit: usize) -> Result<String, ConvertError> {
    if text.len() <= limit {
        Ok(text)
    } else {
        Err(ConvertError::new(field, format_args!("at most {limit} bytes"), format_args!("{} bytes", text.len())))
    }
}

/// A text for people: plain, and cut if it is too long. An error must not get lost because of its length.
fn cut(text: String) -> String {
    cut_to(text, TEXT_BYTES)
}

/// The same with another limit.
fn cut_to(text: String, limit: usize) -> String {
    let mut text = plain(text);
    if text.len() > limit {
        let end = (0..=limit).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

/// A text that stays on its line and does nothing to a terminal: control characters, and those that turn the direction of
/// the text or are not seen, are written as escapes (`\n`, `\u{1b}`).
pub(crate) fn plain(text: String) -> String {
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    if !text.contains(acts) {
        return text;
    }
    text.chars().fold(String::new(), |mut plain, c| {
        if acts(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
        plain
    })
}

/// A name that is only shown, of at most `limit` bytes. They count as they are shown: an escape is longer than its character.
fn shown(field: &'static str, name: String, limit: usize) -> Result<String, ConvertError> {
    bounded(field, plain(bounded(field, name, limit)?), limit)
}

/// A list of at most `limit` entries.
fn at_most<T>(field: &'static str, items: Vec<T>, limit: usize) -> Result<Vec<T>, ConvertError> {
    if items.len() <= limit {
        Ok(items)
    } else {
        Err(ConvertError::new(field, format_args!("at most {limit} entries"), format_args!("{} entries", items.len())))
    }
}
