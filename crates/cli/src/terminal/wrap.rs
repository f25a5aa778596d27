//! Paragraphs as lines of a limited width.

/// Width of paragraphs, in characters.
pub(crate) const WIDTH: usize = 100;

/// Lines of at most `width` characters. A longer word stands on a line of its own.
pub(crate) fn wrapped_at(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + 1 + word.len() > width {
            lines.push(word.to_owned());
        } else {
            if !lines[last].is_empty() {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines.join("\n")
}

/// A name in a column of `column` characters, then `text` beside it, all within [`WIDTH`].
pub(crate) fn beside(name: &str, column: usize, text: &str) -> String {
    let lines = wrapped_at(text, WIDTH.saturating_sub(column));
    let indented = lines.replace('\n', &format!("\n{:column$}", ""));
    format!("{name:<column$}{indented}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_their_width() {
        for (text, width, expected) in [
            ("", 5, ""),
            ("one two three", 7, "one two\nthree"),
            ("one  two\nthree", 100, "one two three"),
            ("a longerword b", 5, "a\nlongerword\nb"),
        ] {
            assert_eq!(wrapped_at(text, width), expected, "{text:?} at {width}");
        }
        let text = beside("name", 8, &"word ".repeat(40));
        assert!(text.starts_with("name    word") && text.contains("\n        word"), "{text}");
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }
}
