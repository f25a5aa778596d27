//! What is printed: results on standard output, everything else on standard error.
//!
//! A result that cannot be printed is an error, or a number could be lost; that a reader has gone away (`| head`) is
//! none. A line on standard error that nobody can read any more is let go: the work goes on.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::exit::Failed;

/// Prints a line of results.
pub(crate) fn print(text: &str) -> Result<(), Failed> {
    print_to(&mut io::stdout().lock(), text)
}

/// Prints a line of everything else.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn print_to(out: &mut impl Write, text: &str) -> Result<(), Failed> {
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(not_printed(&error)),
        _ => Ok(()),
    }
}

/// Why a result did not get to standard output.
pub(crate) fn not_printed(error: &io::Error) -> Failed {
    Failed::other(format!("cannot write to standard output: {error}; make room there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place that takes nothing.
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
    fn a_result_is_printed_or_an_error() {
        let mut out = Vec::new();
        assert!(print_to(&mut out, "57").is_ok());
        assert_eq!(out, b"57\n");
        assert!(print_to(&mut Refusing(ErrorKind::BrokenPipe), "57").is_ok());
        let failed = print_to(&mut Refusing(ErrorKind::StorageFull), "57").unwrap_err();
        assert_eq!(failed.code, crate::exit::OTHER, "{}", failed.text);
        assert!(failed.text.contains("standard output"), "{}", failed.text);
    }
}
