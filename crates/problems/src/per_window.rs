//! Values that a problem makes once for each window of its columns, such as tables between working form and keys.
//!
//! The first thread that asks for a window's value makes it. Cost: one check of a slot.

use std::sync::OnceLock;

use keima_model::Window;

/// One `T` per window of a column of `height` cells, by its first cell and its length.
pub(crate) struct PerWindow<T> {
    height: u32,
    slots: Vec<OnceLock<T>>,
}

impl<T> PerWindow<T> {
    /// Empty slots for columns of `height` cells.
    pub(crate) fn new(height: u32) -> Self {
        Self { height, slots: (0..height * height).map(|_| OnceLock::new()).collect() }
    }

    /// The value of `window`; `make` makes it on the first call.
    ///
    /// # Panics
    /// If the window does not lie in a column.
    pub(crate) fn get(&self, window: Window, make: impl FnOnce() -> T) -> &T {
        let height = self.height;
        assert!(
            window.len >= 1 && window.first < height && window.len <= height - window.first,
            "{window:?} does not lie in a column of {height} cells"
        );
        let slot = window.first * height + window.len - 1;
        self.slots[slot as usize].get_or_init(make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_has_one_of_its_own() {
        let height = 4;
        let made = PerWindow::new(height);
        let windows = || (0..height).flat_map(|first| (1..=height - first).map(move |len| Window { first, len }));
        for window in windows() {
            assert_eq!(*made.get(window, || window), window);
        }
        for window in windows() {
            assert_eq!(*made.get(window, || unreachable!("made before")), window);
        }
    }

    #[test]
    #[should_panic(expected = "does not lie in a column of 4 cells")]
    fn a_window_over_the_end_is_refused() {
        PerWindow::new(4).get(Window { first: 3, len: 2 }, || ());
    }
}
