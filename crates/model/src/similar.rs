//! The known word that a mistyped one most likely stands for.
//!
//! Letters count, case and hyphens do not. Cost: the product of both lengths for each known word.

/// Longer words are no typing errors.
const LONGEST: usize = 40;
/// Typing errors that are allowed: one for each so many letters, and one in any case.
const LETTERS_AN_ERROR: usize = 4;
/// Number of first letters of a known word that stand for it.
const FIRST_LETTERS: usize = 3;

/// The known word that is closest to `word`; `None` if none is close.
pub fn similar<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = letters(word);
    let most = (typed.len() / LETTERS_AN_ERROR).max(1);
    if typed.is_empty() || typed.len() > LONGEST {
        return None;
    }
    let rated = known.into_iter().filter_map(|name| {
        let letters = letters(name);
        let begins = typed.len() >= FIRST_LETTERS && letters.starts_with(&typed);
        let errors = errors(&typed, &letters);
        let is_close = errors <= most && errors < letters.len();
        (is_close || begins).then_some((if is_close { errors } else { most }, name))
    });
    rated.min_by_key(|&(errors, _)| errors).map(|(_, name)| name)
}

/// `" (did you mean hard-squares?)"`, or nothing.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    similar(word, known).map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

fn letters(word: &str) -> Vec<char> {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Letters to add, leave out or change, or pairs to swap, that make one word of the other.
fn errors(one: &[char], other: &[char]) -> usize {
    // Rows of the table of all beginnings: two rows back, one row back, this one.
    let (mut older, mut old) = (vec![0; other.len() + 1], (0..=other.len()).collect::<Vec<_>>());
    for (i, a) in one.iter().enumerate() {
        let mut new = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (old[j] + usize::from(a != b)).min(old[j + 1] + 1).min(new[j] + 1);
            if i > 0 && j > 0 && one[i - 1] == *b && other[j - 1] == *a {
                least = least.min(older[j - 1] + 1);
            }
            new.push(least);
        }
        older = std::mem::replace(&mut old, new);
    }
    old.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_words_are_found() {
        const KNOWN: [&str; 5] = ["go", "grid-cycles", "grid-paths", "hard-squares", "knight"];
        for (word, expected) in [
            ("hardsquares", Some("hard-squares")),
            ("hard_squares", Some("hard-squares")),
            ("Hard-Sqaures", Some("hard-squares")),
            ("hard-square", Some("hard-squares")),
            ("kinght", Some("knight")),
            ("knigt", Some("knight")),
            ("grid-path", Some("grid-paths")),
            ("hard", Some("hard-squares")),
            ("gogo", None),
            ("g", Some("go")),
            ("goo", Some("go")),
            ("chess", None),
            ("x", None),
            ("", None),
            ("--", None),
        ] {
            assert_eq!(similar(word, KNOWN), expected, "{word:?}");
        }
        assert_eq!(similar(&"hard-squares".repeat(1000), KNOWN), None);
        assert_eq!(did_you_mean("kinght", KNOWN), " (did you mean knight?)");
    }
}
