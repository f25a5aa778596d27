//! Byte sizes, durations and big numbers, as people write and read them.

pub(crate) use keima_blocks::sizes::show_bytes;
pub(crate) use keima_http::units::{show_count, show_seconds};

/// Bytes from `"512MiB"`, `"2GiB"`, `"1.5 GB"`, `"4096"`; powers of 1024 with an `i`, of 1000 without.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let expected =
        || format!("{text:?} is not a number of bytes; write a number and a unit, such as 512MiB, 2GiB or 50GB");
    let text_trimmed = text.trim();
    let split = text_trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text_trimmed.len());
    let (number, unit) = text_trimmed.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "kb" => 1000,
        "m" | "mib" => 1 << 20,
        "mb" => 1_000_000,
        "g" | "gib" => 1 << 30,
        "gb" => 1_000_000_000,
        "t" | "tib" => 1 << 40,
        "tb" => 1_000_000_000_000,
        "p" | "pib" => 1 << 50,
        "pb" => 1_000_000_000_000_000,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    let bytes = number * factor as f64;
    if !(1.0..9e18).contains(&bytes) {
        return Err(expected());
    }
    Ok(bytes as u64)
}

/// The same, or `0`.
pub(crate) fn parse_bytes_or_none(text: &str) -> Result<u64, String> {
    if text.trim() == "0" { Ok(0) } else { parse_bytes(text) }
}

/// A size for an option: whole mebibytes, at least `bytes`: `"1280MiB"`.
pub(crate) fn typed_bytes(bytes: u64) -> String {
    format!("{}MiB", bytes.div_ceil(1 << 20))
}

/// `"1.25 TB"`, in powers of 1000.
pub(crate) fn show_decimal_bytes(bytes: f64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes.max(0.0);
    let mut units = UNITS.iter().peekable();
    while value >= 999.5 && units.len() > 1 {
        value /= 1000.0;
        units.next();
    }
    let digits = if value >= 100.0 || units.len() == UNITS.len() { 0 } else { 1 + usize::from(value < 10.0) };
    format!("{value:.digits$} {}", units.next().unwrap_or(&"EB"))
}

/// Like [`show_seconds`], for forecasts: `"3.4 s"`, `"5m12s"`, `"2h05m"`, `"3d04h"`, `"2.1 years"`.
pub(crate) fn show_long_seconds(seconds: f64) -> String {
    const YEAR_SECONDS: f64 = 365.25 * 86_400.0;
    if seconds.is_finite() && seconds >= YEAR_SECONDS {
        return format!("{:.1} years", seconds / YEAR_SECONDS);
    }
    if seconds < 1.0 { format!("{seconds:.2} s") } else { show_seconds(seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("192MiB", Some(192 << 20)),
            ("2GiB", Some(2 << 30)),
            ("1.5g", Some(3 << 29)),
            ("50 GB", Some(50_000_000_000)),
            ("4096", Some(4096)),
            ("2PiB", Some(2 << 50)),
            ("1.5 PB", Some(1_500_000_000_000_000)),
            ("", None),
            ("0", None),
            ("-1", None),
            ("12 parsecs", None),
            ("1e30", None),
            ("999999999TiB", None),
        ] {
            assert_eq!(parse_bytes(text).ok(), bytes, "{text:?}");
        }
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(typed_bytes((5 << 28) - 1), "1280MiB");
        assert_eq!(show_count(0), "0");
        assert_eq!(show_count(1_234_567), "1,234,567");
        assert_eq!(show_seconds(3.44), "3.4 s");
        assert_eq!(show_seconds(312.2), "5m12s");
        assert_eq!(show_seconds(7500.0), "2h05m");
        assert_eq!(show_seconds(f64::INFINITY), "unknown");
        assert_eq!(show_long_seconds(f64::INFINITY), "unknown");
        assert_eq!(show_long_seconds(0.123), "0.12 s");
        assert_eq!(show_long_seconds(7500.0), "2h05m");
        assert_eq!(show_long_seconds(6.3e7), "2.0 years");
        assert_eq!(show_decimal_bytes(0.0), "0 B");
        assert_eq!(show_decimal_bytes(999.0), "999 B");
        assert_eq!(show_decimal_bytes(1000.0), "1.00 kB");
        assert_eq!(show_decimal_bytes(550e12), "550 TB");
        assert_eq!(show_decimal_bytes(999.9e12), "1.00 PB");
        assert_eq!(show_decimal_bytes(1.234e13), "12.3 TB");
        assert_eq!(show_decimal_bytes(5e21), "5000 EB");
    }
}
