//! Printing: results to standard output, everything else to standard error.
//!
//! A result that cannot be printed is an error, or a number could be lost. A reader that has gone away (`| head`) is no
//! error. Lines for standard error that nobody can read are dropped, and the work continues.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::exit::Failed;

/// Prints a result and a line end.
pub(crate) fn print(text: &str) -> Result<(), Failed> {
    print_to(&mut io::stdout().lock(), text)
}

/// Prints a line to standard error.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn print_to(out: &mut impl Write, text: &str) -> Result<(), Failed> {
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(not_printed(&error)),
        _ => Ok(()),
    }
}

/// The error of a result that was not printed.
pub(crate) fn not_printed(error: &io::Error) -> Failed {
    Failed::other(format!("cannot write to standard output: {error}; free space there, or send the output elsewhere"))
}

#[cfg(test)]
mod tests {
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
