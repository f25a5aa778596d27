//! Doors for fuzzing: what reads bytes of peers and of files, without socket and folder.
//!
//! ```text
//!   messages   every message, there and back
//!   calls      a request of a worker or a user, as a service takes it out of its message
//!   answers    what a user's program reads of a coordinator
//!   transfers  what a worker reads of another: chunks of a run, and requests for parts of one
//!   texts      credentials, names, and files of the system
//! ```

mod answers;
mod calls;
mod framed;
mod messages;
mod texts;
mod transfers;

pub use self::answers::{answered, answers_of, list_of, watch_of};
pub use self::calls::{Asked, asked};
pub use self::framed::framed;
pub use self::messages::message;
pub use self::texts::{credentials, name, system_file};
pub use self::transfers::{blocks_of, sent, wanted_part};

use crate::store;

/// Reads the bytes of a coordinator's log. Returns the number of edits that count.
pub fn log(bytes: &[u8]) -> usize {
    store::probe_log(bytes)
}

/// Reads the bytes of a coordinator's store, in memory. Returns the number of records, if it is one.
pub fn store_file(bytes: &[u8]) -> Option<usize> {
    store::probe_file(bytes)
}
