//! Printing: results to standard output, everything else to standard error.
//!
//! A result that nobody has got is an error, or a number could be lost ([`hand_over`]):
//!
//! ```text
//!   before   its reader is gone                                       nothing is written
//!   write    an error: the reader is gone, the disk is full ...
//!   after    a pipe: its reader goes away and leaves text in it        looked for until the text is taken, at most half a second
//!            a file: it cannot be flushed (a full disk of a network file system)
//! ```
//!
//! /dev/null is an output like any other. A closed output looks like one that was opened for reading and writing, as some programs
//! open it for others: then the number is thrown away, but what it was made from is kept ([`may_be_closed`]).
//!
//! A list whose reader has gone away (`| head`) is no error ([`print`]). Lines for standard error that nobody can read are
//! dropped, and the work continues.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fdatasync, fstat, major, minor};
use rustix::io::{Errno, ioctl_fionread};
use serde_json::json;

use super::events;
use crate::exit::Failed;

/// How long a living reader of a pipe may take before it counts as one that will read.
const TAKEN_WITHIN: Duration = Duration::from_millis(500);
/// Time between two looks at a pipe.
const LOOK: Duration = Duration::from_millis(1);
/// The device number of /dev/null.
const NULL_DEVICE: (u32, u32) = (1, 3);

/// The command that prints a result once more, where it is not the same one.
static PRINTS_AGAIN: OnceLock<String> = OnceLock::new();

/// Names the command that prints the result of a job once more: to submit it again would count it again.
pub(crate) fn prints_again(command: String) {
    let _ = PRINTS_AGAIN.set(command);
}

/// What to do for a result that nobody got.
fn again() -> String {
    PRINTS_AGAIN.get().map_or("run the same command again".to_owned(), |command| format!("type `{command}`"))
}

/// Prints a list, a status or the like, and a line end.
pub(crate) fn print(text: &str) -> Result<(), Failed> {
    print_to(&mut io::stdout().lock(), text)
}

/// Whether a result went where a closed output goes.
static THROWN_AWAY: AtomicBool = AtomicBool::new(false);

/// Prints a result and a line end. An error means that nobody may have got it: keep what it was made from.
pub(crate) fn hand_over(text: &str) -> Result<(), Failed> {
    let mut out = io::stdout().lock();
    if may_be_closed(out.as_fd()) && !THROWN_AWAY.swap(true, Ordering::Relaxed) {
        say(format!(
            "standard output is /dev/null, or closed: nobody gets the result; to have it, {} with an output",
            again()
        ));
    }
    written_and_taken(&mut out, text).map_err(|error| not_printed(&error))
}

/// Whether a result went where a closed output goes: keep what it was made from, for the same command.
pub(crate) fn is_thrown_away() -> bool {
    THROWN_AWAY.load(Ordering::Relaxed)
}

/// Prints a line to standard error; a note where that is JSON.
pub(crate) fn say(text: impl Display) {
    if events::is_on() {
        return events::tell("note", json!({ "text": text.to_string() }));
    }
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn print_to(out: &mut impl Write, text: &str) -> Result<(), Failed> {
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(not_printed(&error)),
        _ => Ok(()),
    }
}

fn written_and_taken(out: &mut (impl Write + AsFd), text: &str) -> io::Result<()> {
    if reader_is_gone(out.as_fd()) {
        return Err(ErrorKind::BrokenPipe.into());
    }
    writeln!(out, "{text}")?;
    out.flush()?;
    match fstat(out.as_fd()).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Fifo) => taken(out.as_fd()),
        Ok(FileType::RegularFile) => match fdatasync(out.as_fd()) {
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) => Err(error.into()),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Waits until a pipe is empty. An error if its reader goes away before; `Ok` if it is still there after a while.
fn taken(pipe: BorrowedFd<'_>) -> io::Result<()> {
    let is_empty = || ioctl_fionread(pipe).is_ok_and(|bytes| bytes == 0);
    let start = Instant::now();
    loop {
        // Look for the reader first: it may take the text and then go.
        let gone = reader_is_gone(pipe);
        if is_empty() || start.elapsed() > TAKEN_WITHIN {
            return Ok(());
        }
        if gone {
            return Err(ErrorKind::BrokenPipe.into());
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether nobody can read any more what is written to a pipe, a socket or a terminal.
fn reader_is_gone(out: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(out, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let _ = poll(&mut polled, Some(&at_once));
    polled.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL))
}

/// Whether standard output may have been closed (`>&-`). Rust's runtime then opens /dev/null in its place, for reading and
/// writing, as Python's `subprocess.DEVNULL` is; a shell opens it for writing only.
fn may_be_closed(out: BorrowedFd<'_>) -> bool {
    let is_null = |stat: &Stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
            && (major(stat.st_rdev), minor(stat.st_rdev)) == NULL_DEVICE
    };
    fstat(out).is_ok_and(|stat| is_null(&stat))
        && fcntl_getfl(out).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDWR)
}

/// The error of a result that was not printed.
pub(crate) fn not_printed(error: &io::Error) -> Failed {
    Failed::not_printed(if error.kind() == ErrorKind::BrokenPipe {
        format!("nobody reads standard output any more; {} with a reader, or send the output to a file", again())
    } else {
        format!(
            "cannot write to standard output: {error}; free space there or send the output elsewhere, and {}",
            again()
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    /// A writer that takes nothing.
    struct Refusing(ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_list_is_printed_or_an_error_unless_its_reader_is_gone() {
        let mut out = Vec::new();
        assert!(print_to(&mut out, "57").is_ok());
        assert_eq!(out, b"57\n");
        assert!(print_to(&mut Refusing(ErrorKind::BrokenPipe), "57").is_ok());
        let failed = print_to(&mut Refusing(ErrorKind::StorageFull), "57").unwrap_err();
        assert_eq!(failed.code, crate::exit::OTHER, "{}", failed.text);
        assert!(failed.text.contains("standard output"), "{}", failed.text);
    }

    /// A reader that is gone before; one that goes without reading, with and without taking a part; one that reads all and
    /// goes; one that is there and does not read yet.
    #[test]
    fn a_result_is_taken_or_an_error() {
        let check = |what: &str, reads: Option<usize>, goes: bool, expected: Option<ErrorKind>| {
            let (mut reader, mut writer) = io::pipe().unwrap();
            let reading = std::thread::spawn(move || {
                if let Some(bytes) = reads {
                    reader.read_exact(&mut vec![0; bytes]).unwrap();
                }
                (!goes).then_some(reader)
            });
            let left = if reads.is_none() && goes { reading.join().unwrap() } else { None };
            let got = written_and_taken(&mut writer, "12345");
            assert_eq!(got.err().map(|error| error.kind()), expected, "{what}");
            drop(left);
        };
        check("gone before", None, true, Some(ErrorKind::BrokenPipe));
        check("took a part", Some(2), true, Some(ErrorKind::BrokenPipe));
        check("took all and went", Some(6), true, None);
        check("took all and stays", Some(6), false, None);
        check("does not read yet", None, false, None);
    }

    #[test]
    fn a_closed_output_is_told_from_a_chosen_one() {
        let null = |read: bool| File::options().read(read).write(true).open("/dev/null").unwrap();
        assert!(may_be_closed(null(true).as_fd()), "what the runtime opens for a closed one, and Python for DEVNULL");
        assert!(!may_be_closed(null(false).as_fd()), "what a shell opens");
        assert!(!may_be_closed(File::options().read(true).write(true).open("/dev/full").unwrap().as_fd()));
        assert!(!may_be_closed(tempfile::tempfile().unwrap().as_fd()));
    }
}
