//! Any bit pattern, any batch, either width of arithmetic.

use keima_model::{Key, Layout, Problem, Successors, Window};
use keima_problems::go::state::{self, Word};
use proptest::prelude::*;

use crate::memory::{Vector, go, run};

#[test]
fn wide_arithmetic_agrees_with_narrow() {
    // Heights up to 16 expand in 64 bits whatever the keys; this is what the higher ones do.
    let mut border = vec![0_u64];
    for cell in (0..7).cycle().take(21) {
        let (mut narrow, mut wide) = (Successors::<u64>::default(), Successors::<u128>::default());
        let outside = 0x1_0010;
        state::expand::<u64, u64>(cell, outside, &border, &mut narrow);
        let wide_keys: Vec<u128> = border.iter().map(|&key| key.into()).collect();
        state::expand::<u128, u128>(cell, outside.into(), &wide_keys, &mut wide);
        assert_eq!(narrow.degrees, wide.degrees);
        assert!(narrow.keys.iter().map(|&key| u128::from(key)).eq(wide.keys.iter().copied()));
        border = narrow.keys;
        border.sort_unstable();
        border.dedup();
        border.truncate(20_000);
    }
}

/// Calls everything that takes keys with any bit pattern, in all windows.
fn survives<K: Word>(height: u32, keys: &[K]) {
    let problem = go::<K>(height, 3);
    for first in 0..height {
        for len in [1, (height - first).div_ceil(2), height - first] {
            let window = Window { first, len };
            let mut out = Successors::default();
            for cell in first..first + len {
                out.clear();
                problem.expand(height + cell, window, keys, &mut out);
                assert_eq!(out.degrees.len(), keys.len());
                assert_eq!(out.keys.len(), out.degrees.iter().map(|&degree| usize::from(degree)).sum::<usize>());
            }
            for layout in [Layout::Canonical, Layout::Stage(window), Layout::Stage(Window { first: 0, len: 1 })] {
                let mut changed = keys.to_vec();
                problem.enter(layout, window, &mut changed);
                problem.leave(window, layout, &mut changed);
            }
            problem.weigh(0, window, keys, &mut vec![0; keys.len()]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bit_pattern_panics_or_loops(keys in prop::collection::vec(any::<u128>(), 1..8), height in 1_u32..=21) {
        if height <= 13 {
            let narrow: Vec<u64> = keys.iter().map(|&key| u64::truncate(key)).collect();
            survives(height, &narrow);
        }
        survives(height, &keys);
    }

    #[test]
    fn cutting_a_batch_changes_nothing(len in 1_u32..=4, cut in 0_usize..40) {
        let problem = go::<u64>(4, 3);
        let window = Window::cut(4, len)[0];
        let mut keys = Vec::new();
        run(&problem, &Window::cut(4, len), |pass, _, vector: &Vector<u64>| if pass == 4 {
            keys = vector.keys().copied().collect();
            keys.sort_unstable();
        });
        let cut = cut.min(keys.len());
        let (mut whole, mut parts) = (Successors::default(), Successors::default());
        problem.expand(4, window, &keys, &mut whole);
        problem.expand(4, window, &keys[..cut], &mut parts);
        problem.expand(4, window, &keys[cut..], &mut parts);
        prop_assert_eq!(whole.keys, parts.keys);
        prop_assert_eq!(whole.degrees, parts.degrees);
    }
}
