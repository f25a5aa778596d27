//! Quoridor fences by definition: pieces of wood that must not share a place.
//!
//! A board of w+1 by h+1 squares has w x h inner intersections. A fence is centred on one and is two squares long, so
//! that it covers two unit edges of the grid between the squares:
//!
//! ```text
//!    H on (x,y): the edges x and x+1 of the horizontal line y
//!    V on (x,y): the edges y and y+1 of the vertical line x
//! ```
//!
//! Two fences may not cover one edge (overlap) nor have one centre (cross, or lie on each other). Every set of fences
//! without such a pair is visited once. Cost: one step per placement.

/// Most intersections that a board may have.
pub const MAX_INTERSECTIONS: u32 = 16;

/// A place for a fence, with the edges that it covers.
struct Fence {
    centre: (u32, u32),
    /// Is horizontal, line, unit along the line.
    edges: [(bool, u32, u32); 2],
}

impl Fence {
    fn conflicts(&self, other: &Self) -> bool {
        self.centre == other.centre || self.edges.iter().any(|edge| other.edges.contains(edge))
    }
}

/// The number of placements by number of fences, 0 to `width * height`, or `None` where there are more than
/// [`MAX_INTERSECTIONS`].
pub fn counts(width: u32, height: u32) -> Option<Vec<u64>> {
    let cells = width.checked_mul(height).filter(|cells| (1..=MAX_INTERSECTIONS).contains(cells))?;
    let fences: Vec<Fence> = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .flat_map(|(x, y)| {
            [[(true, y, x), (true, y, x + 1)], [(false, x, y), (false, x, y + 1)]]
                .map(|edges| Fence { centre: (x, y), edges })
        })
        .collect();
    let mut counts = vec![0; cells as usize + 1];
    let mut placed = Vec::new();
    visit(&fences, &mut placed, &mut counts);
    Some(counts)
}

/// Counts `placed`, and `placed` with any fences of `rest`.
fn visit<'a>(rest: &'a [Fence], placed: &mut Vec<&'a Fence>, counts: &mut [u64]) {
    if let Some(count) = counts.get_mut(placed.len()) {
        *count += 1;
    }
    for (place, fence) in rest.iter().enumerate() {
        if !placed.iter().any(|other| other.conflicts(fence)) {
            placed.push(fence);
            visit(&rest[place + 1..], placed, counts);
            placed.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_boards_worked_by_hand() {
        // 2x1: none; H or V on either; HV, VH, VV (two H in a row overlap).
        for (width, height, expected) in
            [(1, 1, &[1, 2][..]), (2, 1, &[1, 4, 3]), (1, 2, &[1, 4, 3]), (2, 2, &[1, 8, 20, 16, 2])]
        {
            assert_eq!(counts(width, height).as_deref(), Some(expected), "{width}x{height}");
        }
        assert_eq!(counts(3, 3).map(|counts| counts.iter().sum()), Some(4715_u64));
        assert_eq!(counts(0, 3), None);
        assert_eq!(counts(17, 1), None);
    }
}
