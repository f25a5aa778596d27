//! Estimates of memory against what tables take.

use keima_model::{BlockColumn, BlockParts, Directions, Window};

use crate::go::block::memory::{parts_bytes, table_bytes};
use crate::go::block::{GoColumn, GoParts};

/// The part of the largest family, of cuts of 10 to 13 cells.
#[test]
fn estimates_of_parts_are_near() {
    for lengths in [&[4, 3, 3][..], &[3, 3, 4], &[4, 4, 3], &[4, 4, 4], &[5, 4, 4]] {
        let height: u32 = lengths.iter().sum();
        let windows = Window::of_lengths(lengths);
        let parts = GoParts::<u64>::new(height, &windows, 0).unwrap();
        let part = |window: usize| {
            let ends = parts.families(window).ends.iter().map(|ends| ends[0].max(ends[1]));
            let (_, largest) = ends.zip(0_u32..).max().unwrap();
            parts.part(window, largest..largest + 1, 1).unwrap().column().bytes()
        };
        let expected = parts_bytes(height, &windows);
        let task_bytes = (0..windows.len()).map(part).max().unwrap();
        let worker = expected.worker_bytes as f64 / parts.bytes() as f64;
        let task = expected.task_bytes() as f64 / task_bytes as f64;
        assert!((0.8..1.6).contains(&worker), "{lengths:?}: {} bytes, estimated {worker}", parts.bytes());
        assert!((0.8..3.0).contains(&task), "{lengths:?}: {task_bytes} bytes, estimated {task}");
    }
}

/// Parts of half a megabyte and more, of one family and of some, of cuts of 10 to 13 cells: rather too much.
#[test]
fn estimates_of_single_parts_are_enough() {
    for lengths in [&[4, 3, 3][..], &[3, 3, 4], &[5, 5], &[4, 4, 3], &[4, 4, 4], &[5, 4, 4]] {
        let windows = Window::of_lengths(lengths);
        let parts = GoParts::<u64>::new(lengths.iter().sum(), &windows, 0).unwrap();
        for window in 0..windows.len() {
            let count = parts.families(window).ends.len() as u32;
            for families in [0..1, count / 2..count / 2 + 1, count - 1..count, 0..count / 8, count / 3..count / 2] {
                let bytes = parts.part(window, families.clone(), 1).unwrap().column().bytes();
                let ratio = parts.part_bytes(window, families.clone()) as f64 / bytes as f64;
                let what = format!("{lengths:?}, window {window}, families {families:?}");
                assert!(bytes < 1 << 19 || (1.0..6.0).contains(&ratio), "{what}: {bytes} bytes, estimated {ratio}");
            }
        }
    }
}

#[test]
fn estimates_are_near() {
    for lengths in [&[4, 4][..], &[5, 4], &[5, 5], &[6, 5], &[4, 3, 3], &[3, 3, 3], &[4, 4, 4], &[6, 6]] {
        let height: u32 = lengths.iter().sum();
        let windows = Window::of_lengths(lengths);
        // A count in memory sets aside what folded tables are estimated at.
        for (directions, least) in [(Directions::Forward, 0.8), (Directions::Both, 1.0), (Directions::Folded, 1.0)] {
            if directions == Directions::Both && height > 10 {
                continue;
            }
            let bytes = GoColumn::<u64>::new(height, &windows, directions).unwrap().bytes();
            let ratio = table_bytes(height, &windows, directions) as f64 / bytes as f64;
            assert!((least..1.8).contains(&ratio), "{lengths:?}, {directions:?}: {bytes} bytes, estimated {ratio}");
        }
    }
}
