//! Byte sizes, durations and big numbers, as people write and read them.

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

/// `"1.25 GiB"`.
pub(crate) fn show_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.2} {}", UNITS[unit]) }
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

/// `"12,345,678"`.
pub(crate) fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `"3.4 s"`, `"5m12s"`, `"2h05m"`, `"3d04h"`.
pub(crate) fn show_seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown".to_owned();
    }
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..3600 => format!("{}m{:02}s", whole / 60, whole % 60),
        3600..86_400 => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
        _ => format!("{}d{:02}h", whole / 86_400, whole % 86_400 / 3600),
    }
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
        assert_eq!(show_bytes(1023), "1023 B");
        assert_eq!(show_bytes(192 << 20), "192.00 MiB");
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
