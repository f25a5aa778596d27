//! Reads sizes of the form `MxN`, and refuses options of problems that have none.

use keima_model::{Board, ProblemError, ProblemRequest};

/// The board of a request whose size is `"MxN"` in either order: the smaller side becomes the height.
pub(crate) fn board(request: &ProblemRequest, most_height: u32, most_length: u32) -> Result<Board, ProblemError> {
    let (first, second) = sides(request, most_height, most_length)?;
    Ok(Board { height: first.min(second), length: first.max(second) })
}

/// The turned board of such a request: the larger side becomes the height. `None` for a square, or if it would be too high.
pub(crate) fn turned(request: &ProblemRequest, most_height: u32, most_length: u32) -> Option<Board> {
    let Board { height, length } = board(request, most_height, most_length).ok()?;
    (height < length && length <= most_height).then_some(Board { height: length, length: height })
}

/// Both sides of a request whose size is `"MxN"`, in its order. The smaller one is at most `most_height`.
pub(crate) fn sides(request: &ProblemRequest, most_height: u32, most_length: u32) -> Result<(u32, u32), ProblemError> {
    read(&request.size, most_height, most_length).map_err(|why| ProblemError::BadSize {
        problem: request.name.clone(),
        got: request.size.clone(),
        why,
    })
}

/// `Err` if the request has options.
pub(crate) fn no_options(request: &ProblemRequest) -> Result<(), ProblemError> {
    match request.options.first() {
        None => Ok(()),
        Some((option, got)) => Err(ProblemError::BadOption {
            problem: request.name.clone(),
            option: option.clone(),
            got: got.clone(),
            why: format!("{} has no options; leave it out", request.name),
        }),
    }
}

/// One side, or any other count that is at least 1.
pub(crate) fn side(text: &str) -> Result<u32, String> {
    match number(text) {
        None => Err(format!("{text:?} is not a whole number; sizes look like 9x9")),
        Some(0) => Err("it must be at least 1".to_owned()),
        Some(side) => Ok(side),
    }
}

/// A whole number in decimal digits. One too long for a u32 becomes its maximum, which is too large for any use.
pub(crate) fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u32::MAX))
}

fn read(size: &str, most_height: u32, most_length: u32) -> Result<(u32, u32), String> {
    let (first, second) = size.split_once(['x', 'X']).ok_or_else(|| {
        let hint = side(size).map(|side| format!("; for a square board say {side}x{side}")).unwrap_or_default();
        format!("a size is two numbers with an x between them, such as 9x9 or 5x9{hint}")
    })?;
    let (first, second) = (side(first)?, side(second)?);
    let (height, length) = (first.min(second), first.max(second));
    if height > most_height {
        return Err(format!("the smaller side may be at most {most_height}, it is {height}"));
    }
    if length > most_length {
        return Err(format!("the larger side may be at most {most_length}, it is {length}"));
    }
    Ok((first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_or_refused_with_a_reason() {
        for (size, expected) in [
            ("9x5", Ok((5, 9))),
            ("5X9", Ok((5, 9))),
            ("1x1", Ok((1, 1))),
            ("10x100", Ok((10, 100))),
            ("11x11", Err("at most 10, it is 11")),
            ("1x101", Err("at most 100, it is 101")),
            ("99999999999x5", Err("at most 100")),
            ("0x5", Err("at least 1")),
            ("8", Err("say 8x8")),
            ("", Err("such as 9x9")),
            ("-3x5", Err("\"-3\" is not a whole number")),
            ("3x5x7", Err("\"5x7\" is not a whole number")),
            ("x", Err("\"\" is not a whole number")),
        ] {
            let request = ProblemRequest { name: "p".to_owned(), size: size.to_owned(), options: Vec::new() };
            match (board(&request, 10, 100), expected) {
                (Ok(board), Ok((height, length))) => assert_eq!(board, Board { height, length }, "{size}"),
                (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{size}: {error}"),
                (got, expected) => panic!("{size}: {got:?}, expected {expected:?}"),
            }
        }
    }
}
