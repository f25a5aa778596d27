//! Published numbers of fence placements: the game's board, up to its 20 fences. Cost: a look-up.

/// Numbers by fences for 8x8 intersections.
const VALUES: &str = include_str!("../../../../tests/golden/quoridor_fences_9x9.csv");

/// (fences, placements) of each row.
fn rows() -> impl Iterator<Item = (u32, &'static str)> {
    VALUES.lines().filter_map(|line| {
        let (fences, count) = line.split_once(',')?;
        Some((fences.parse().ok()?, count))
    })
}

/// The published number of ways to place `fences` fences on `width` x `height` intersections, in decimal.
pub fn known(width: u32, height: u32, fences: u32) -> Option<&'static str> {
    rows().find(|&(row, _)| (width, height, row) == (8, 8, fences)).map(|(_, count)| count)
}

/// The sum of the published numbers for 0 to `most_fences` fences, if all are published.
pub fn sum(width: u32, height: u32, most_fences: u32) -> Option<String> {
    let counts = (0..=most_fences).map(|fences| known(width, height, fences)?.parse::<u128>().ok());
    counts.sum::<Option<u128>>().map(|sum| sum.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_add_up_to_the_published_sum() {
        assert_eq!(rows().count(), 21);
        let published = VALUES.lines().find_map(|line| line.split_once("Sum over 0..20 as published: ")).unwrap().1;
        assert_eq!(sum(8, 8, 20).as_deref(), Some(published));
        assert_eq!(sum(8, 8, 1).as_deref(), Some("129"));
        assert_eq!((sum(8, 8, 21), sum(7, 8, 3)), (None, None));
    }
}
