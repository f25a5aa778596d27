//! Sizes in bytes as people read them. Every crate that tells one in a message uses these.

/// `"1.25 GiB"`, `"1.5 GiB"`, `"8 MiB"`, `"1023 B"`: the largest binary unit of which there is at least one, with at most
/// two decimals.
pub fn show_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let place = bytes.checked_ilog2().unwrap_or(0) / 10;
    let unit = UNITS.get(place as usize).unwrap_or(&"B");
    let text = format!("{:.2}", bytes as f64 / (1_u64 << (10 * place)) as f64);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_and_few_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (192 << 20, "192 MiB"),
            (100 << 20, "100 MiB"),
            (3 << 29, "1.5 GiB"),
            (5 << 28, "1.25 GiB"),
            (1_234_567_890, "1.15 GiB"),
            ((1 << 30) - 1, "1024 MiB"),
            (1 << 50, "1 PiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(show_bytes(bytes), text, "{bytes}");
        }
    }
}
