//! Ranges in a size: `1..8x1..8` stands for 64 sizes, `1..9` for nine squares.
//!
//! A number `A..B` runs from A to B, both included. The last number runs fastest.

use std::ops::RangeInclusive;

use crate::exit::Failed;

/// Most sizes of one command.
const MOST_SIZES: u64 = 10_000;

/// One of the sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// As it would be typed alone: `3x5`; `3` where the range has one number.
    pub(super) text: String,
    /// The running number, where there is one: the index in a b-file.
    pub(super) index: Option<u64>,
}

impl Size {
    /// The square board of a size of one number, `3x3`; `None` for other sizes.
    pub(super) fn square(&self) -> Option<Self> {
        let is_number = self.text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| Self { text: format!("{0}x{0}", self.text), index: self.index })
    }
}

/// Whether a size has a range.
pub(crate) fn is_range(size: &str) -> bool {
    size.contains("..")
}

/// Refuses a range where one size is needed.
pub(crate) fn one_size(size: &str, verb: &str) -> Result<(), Failed> {
    if is_range(size) {
        return Err(Failed::usage(format!(
            "keima {verb} takes one size, and {size:?} has a range: only keima count takes ranges"
        )));
    }
    Ok(())
}

/// The sizes of a range, in order.
pub(crate) fn sizes(text: &str) -> Result<Vec<Size>, Failed> {
    let parts: Vec<RangeInclusive<u64>> =
        text.split(['x', 'X']).map(|part| numbers(text, part)).collect::<Result<_, _>>()?;
    let count = parts.iter().try_fold(1_u64, |all, part| all.checked_mul(part.end() - part.start() + 1));
    if count.is_none_or(|count| count > MOST_SIZES) {
        return Err(Failed::usage(format!(
            "{text:?} has more than {MOST_SIZES} sizes; count them in several commands"
        )));
    }
    let runs = |part: &RangeInclusive<u64>| part.start() < part.end();
    let only_one = parts.len() == 1;
    let has_index = only_one || parts.iter().filter(|part| runs(part)).count() == 1;
    let mut sizes: Vec<Size> = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let is_index = has_index && (only_one || runs(part));
        let mut longer = Vec::new();
        for number in part.clone() {
            let index = is_index.then_some(number);
            if place == 0 {
                longer.push((number, Size { text: number.to_string(), index }));
            }
            for (before, size) in sizes.iter().enumerate() {
                let text = format!("{}x{number}", size.text);
                longer.push((before as u64, Size { text, index: index.or(size.index) }));
            }
        }
        // The last number runs fastest.
        longer.sort_by_key(|&(before, _)| before);
        sizes = longer.into_iter().map(|(_, size)| size).collect();
    }
    Ok(sizes)
}

/// One number of a size, or a range of them.
fn numbers(size: &str, part: &str) -> Result<RangeInclusive<u64>, Failed> {
    let (first, last) = part.split_once("..").unwrap_or((part, part));
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().ok()).flatten().filter(|&number| number < u64::MAX)
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err(Failed::usage(format!(
            "{part:?} in the size {size:?} is no range: write A..B with whole numbers from the smaller to the larger, such as \
             1..8x1..8, 5x1..9, or 1..9 for square boards"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_out_or_refused() {
        let check = |text: &str, expected: Option<&str>| {
            let shown = sizes(text).ok().map(|sizes| {
                let one = |size: Size| size.text + &size.index.map_or_else(String::new, |index| format!(":{index}"));
                sizes.into_iter().map(one).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(shown.as_deref(), expected, "{text}");
        };
        check("1..3", Some("1:1 2:2 3:3"));
        check("4..4", Some("4:4"));
        check("1..2x1..2", Some("1x1 1x2 2x1 2x2"));
        check("5x1..3", Some("5x1:1 5x2:2 5x3:3"));
        check("2..3X5", Some("2x5:2 3x5:3"));
        check("1..2x3x1..2", Some("1x3x1 1x3x2 2x3x1 2x3x2"));
        for bad in ["3..1", "..", "1..", "..3", "a..b", "1..2x", "1..2xa", "1...3", "-1..2", "1..100x1..101"] {
            check(bad, None);
        }
        check("0..18446744073709551615", None);
        check("0..18446744073709551614x0..18446744073709551614", None);
        assert_eq!(Size { text: "3".into(), index: Some(3) }.square().map(|size| size.text).as_deref(), Some("3x3"));
        assert_eq!(Size { text: "3x5".into(), index: None }.square(), None);
        assert!(one_size("9x9", "submit").is_ok() && one_size("1..9x9", "submit").is_err());
    }
}
