//! Numbers as they are typed. What is wrong is said in plain words, with what is expected.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Reads a whole number of a range.
pub(super) fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

/// Reads a priority.
pub(super) fn priority(text: &str) -> Result<i32, String> {
    text.trim().parse().map_err(|_| "expected a whole number, such as 10 or -5".to_owned())
}

/// Reads an age, such as `90m`, as milliseconds.
pub(super) fn age(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let seconds = [('s', 1_u64), ('m', 60), ('h', 3600), ('d', 24 * 3600)];
    let millis = seconds.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        number.checked_mul(seconds * 1000)
    });
    millis.ok_or_else(|| "expected a whole number with s, m, h or d, such as 90m, 12h or 7d".to_owned())
}

/// Reads a number of seconds from 0.1 to a million.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| (0.1..=1e6).contains(number));
    number.ok_or_else(|| "expected a number of seconds from 0.1 to 1000000, such as 30 or 2.5".to_owned())
}

/// Reads an address to listen on. Names of hosts are not taken: one may have several addresses.
pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    text.trim().parse().map_err(|_| {
        "expected IP:PORT: 127.0.0.1:7700 for this machine alone, 0.0.0.0:7700 for all its addresses, or [::]:7700 for those \
         of IPv6 too"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_or_refused_with_what_is_expected() {
        for (text, expected) in [
            ("1", Some(1)),
            ("1024", Some(1024)),
            (" 7 ", Some(7)),
            ("0", None),
            ("1025", None),
            ("many", None),
            ("", None),
        ] {
            assert_eq!(whole(1..=1024)(text).ok(), expected, "{text:?}");
        }
        assert_eq!(whole(1..=9)("0").unwrap_err(), "expected a whole number from 1 to 9");
        for (text, expected) in [("7", Some(7)), ("-7", Some(-7)), ("high", None), ("99999999999", None)] {
            assert_eq!(priority(text).ok(), expected, "{text:?}");
        }
        for (text, expected) in [
            ("90m", Some(5_400_000)),
            (" 7d ", Some(604_800_000)),
            ("0s", Some(0)),
            ("7", None),
            ("d", None),
            ("-1h", None),
            ("1w", None),
            ("99999999999999999999d", None),
            ("9999999999999999999h", None),
        ] {
            assert_eq!(age(text).ok(), expected, "{text:?}");
        }
        for (text, expected) in [("30", Some(30.0)), ("0.1", Some(0.1)), ("0", None), ("nan", None), ("1e7", None)] {
            assert_eq!(seconds(text).ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn addresses_to_listen_on() {
        for (text, expected) in [
            ("127.0.0.1:0", Some("127.0.0.1:0")),
            (" 0.0.0.0:7700 ", Some("0.0.0.0:7700")),
            ("[::]:7700", Some("[::]:7700")),
            ("[::1]:7700", Some("[::1]:7700")),
            ("::1:7700", None),
            ("head:7700", None),
            (":7700", None),
            ("0.0.0.0", None),
            ("0.0.0.0:65536", None),
            ("", None),
        ] {
            let got = listen(text).map(|address| address.to_string());
            assert_eq!(got.as_deref().ok(), expected, "{text:?}");
        }
    }
}
