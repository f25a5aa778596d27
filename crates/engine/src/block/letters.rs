//! A family's [mail](super::mail) in the hands of a thread: places are those of the whole, memory is in three pieces.

use super::lanes::Row;

/// A family's mail, as a thread sees it that does a block: what is its own to write, and what others wrote.
pub(super) struct Letters<'m, const K: usize> {
    /// From the place `start` on.
    own: &'m mut [Row<K>],
    start: usize,
    /// From the place `below_start` on, and from `above_start` on.
    below: &'m [Row<K>],
    below_start: usize,
    above: &'m [Row<K>],
    above_start: usize,
}

impl<'m, const K: usize> Letters<'m, K> {
    /// All of it, which begins at the place `start`.
    pub(super) fn all(mail: &'m mut [Row<K>], start: usize) -> Self {
        Self { own: mail, start, below: &[], below_start: 0, above: &[], above_start: 0 }
    }

    /// A piece that begins at the place `start`, and what lies below and above of the level that it belongs to, each
    /// with its first place.
    pub(super) fn piece(
        own: (&'m mut [Row<K>], usize),
        below: (&'m [Row<K>], usize),
        above: (&'m [Row<K>], usize),
    ) -> Self {
        let ((own, start), (below, below_start), (above, above_start)) = (own, below, above);
        Self { own, start, below, below_start, above, above_start }
    }

    /// What lies from a place on; nothing where it belongs to others who are at work.
    #[inline(always)]
    pub(super) fn read(&self, place: usize) -> &[Row<K>] {
        let within = |rows: &'_ [Row<K>], start: usize| (place.wrapping_sub(start) < rows.len()).then(|| place - start);
        if let Some(at) = within(self.own, self.start) {
            &self.own[at..]
        } else if let Some(at) = within(self.above, self.above_start) {
            &self.above[at..]
        } else if let Some(at) = within(self.below, self.below_start) {
            &self.below[at..]
        } else {
            &[]
        }
    }

    /// The memory of the own mail.
    pub(super) fn into_own(self) -> &'m mut [Row<K>] {
        self.own
    }

    /// The own mail from a place on.
    #[inline(always)]
    pub(super) fn write(&mut self, place: usize) -> &mut [Row<K>] {
        self.own.get_mut(place.wrapping_sub(self.start)..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_read_anywhere_and_written_at_home() {
        let mut rows: Vec<Row<1>> = (10..20).map(|value| [value]).collect();
        let (below, rest) = rows.split_at_mut(3);
        let (level, above) = rest.split_at_mut(4);
        // Places 100 to 109; the level's first row belongs to another block.
        let mut letters = Letters::piece((&mut level[1..], 104), (below, 100), (above, 107));
        for (place, first) in
            [(100, Some(10)), (102, Some(12)), (103, None), (104, Some(14)), (107, Some(17)), (110, None)]
        {
            assert_eq!(letters.read(place).first().map(|row| row[0]), first, "place {place}");
        }
        assert_eq!(letters.write(105).len(), 2);
        for place in [100, 103, 108] {
            assert!(letters.write(place).is_empty(), "place {place}");
        }
    }
}
