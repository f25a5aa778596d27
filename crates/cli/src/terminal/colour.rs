//! Colours, where a stream is a terminal that shows them. `NO_COLOR` (any text, see no-color.org) and `TERM=dumb` turn them
//! off.

use std::io::IsTerminal;

/// Whether the terminal can move its cursor.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Whether to colour what goes to this stream.
pub(crate) fn is_coloured(stream: &impl IsTerminal) -> bool {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !no_colour && !is_dumb()
}

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on }
    }
    pub(crate) fn stdout() -> Self {
        Self::new(is_coloured(&std::io::stdout()))
    }
    pub(crate) fn stderr() -> Self {
        Self::new(is_coloured(&std::io::stderr()))
    }
    /// A number, or a title.
    pub(crate) fn strong(self, text: &str) -> String {
        self.painted("1", text)
    }
    /// A check that holds.
    pub(crate) fn good(self, text: &str) -> String {
        self.painted("32", text)
    }
    /// A check that fails.
    pub(crate) fn bad(self, text: &str) -> String {
        self.painted("1;31", text)
    }
    fn painted(self, style: &str, text: &str) -> String {
        if self.is_on { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_is_on_or_off() {
        assert_eq!(Paint::new(true).strong("57"), "\x1b[1m57\x1b[0m");
        assert_eq!(Paint::new(false).strong("57"), "57");
        assert_eq!(Paint::new(false).bad("FAIL"), "FAIL");
        let file = tempfile::tempfile().unwrap();
        assert!(!is_coloured(&file), "a file is no terminal");
    }
}
