//! Tables of a part against those of the whole column, and against plain expansion.

use std::collections::BTreeMap;

use keima_model::{BlockColumn, Directions};

use super::*;
use crate::go::block::GoColumn;
use crate::go::block::cut::LEAST_PIECE;
use crate::go::block::tests::through;
use crate::go::state::{normalise, successors};

/// The keys of all blocks of some families at `end`, in their order.
fn keys(column: &dyn BlockColumn, window: usize, end: End, families: &[u32]) -> Vec<Vec<u128>> {
    let tables = column.tables(window);
    let blocks = families.iter().flat_map(|&family| tables.families[family as usize].blocks.clone());
    let keys = |block| {
        let mut keys = Vec::new();
        column.keys(window, end, block, &mut keys);
        keys
    };
    // Without entries at the last step only.
    blocks.map(keys).filter(|keys| !keys.is_empty()).collect()
}

/// A part's tables against those of the whole column: the same entries in the same order, the same passes, and the same
/// exchanges with both neighbours.
fn check(whole: &dyn BlockColumn, parts: &dyn BlockParts, window: usize, families: Range<u32>, what: &str) {
    let made = parts.part(window, families.clone(), 1).unwrap();
    let part = made.column();
    let (own, all) = (part.tables(window), whole.tables(window));
    let global: Vec<u32> = families.clone().collect();
    let local: Vec<u32> = (0..global.len() as u32).collect();
    for end in [End::First, End::Last] {
        assert_eq!(keys(part, window, end, &local), keys(whole, window, end, &global), "{what}, {end:?}");
    }
    let first_block = all.families[families.start as usize].blocks.start;
    for (block, global) in (0..own.signature_of.len() as u32).zip(first_block..) {
        let own_passes = &own.signatures[own.signature_of[block as usize] as usize].passes;
        let passes = &all.signatures[all.signature_of[global as usize] as usize].passes;
        for (pass, (one, other)) in own_passes.iter().zip(passes).enumerate() {
            assert_eq!((&one.in_degrees, &one.sources, &one.far), (&other.in_degrees, &other.sources, &other.far));
            let targets = |far: &keima_model::FarTargets, block: u32| {
                let range = far.first[block as usize] as usize..far.first[block as usize + 1] as usize;
                far.targets[range].to_vec()
            };
            let expected = targets(&all.far[pass], global);
            let got: Vec<u32> = targets(&own.far[pass], block).into_iter().map(|target| target + first_block).collect();
            assert_eq!(got, expected, "{what}: far targets of block {block}");
        }
        for end in [End::First, End::Last] {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            part.sample(window, end, block, 7, &mut one);
            whole.sample(window, end, global, 7, &mut other);
            assert_eq!(one, other, "{what}: sample");
            assert_eq!(part.twins(window, end, block), whole.twins(window, end, global), "{what}: twins");
        }
        let (mut one, mut other) = (Vec::new(), Vec::new());
        part.families(window, End::Last, block, &mut one);
        whole.families(window, End::Last, global, &mut other);
        assert_eq!(one, other, "{what}: families after");
        assert_eq!(part.weight(window, block), whole.weight(window, global));
        if window + 1 == part.windows().len() {
            assert_eq!(part.accepting(block), whole.accepting(global), "{what}: accepting");
        }
    }
    let base = all.families[families.start as usize].start[0];
    let end = all.families[families.end as usize - 1].start[0] + all.families[families.end as usize - 1].size[0];
    let mut start = part.start(window, End::First);
    start.sort_unstable();
    let mut expected = whole.start(window, End::First);
    expected.retain(|position| (base..end).contains(position));
    for position in &mut expected {
        *position -= base;
    }
    expected.sort_unstable();
    assert_eq!(start, expected, "{what}: start");
    check_sources(whole, made.as_ref(), window, (families, base), what);
}

/// Every state of the window before that goes to the part, and where.
fn check_sources(
    whole: &dyn BlockColumn,
    part: &dyn BlockPart,
    window: usize,
    (families, base): (Range<u32>, u64),
    what: &str,
) {
    let before = (window + whole.windows().len() - 1) % whole.windows().len();
    let tables = whole.tables(before);
    let (mut met, mut positions, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    // By family (key, position) of the states that go there, in their order.
    let mut expected: Vec<Vec<(u128, u64)>> = vec![Vec::new(); tables.families.len()];
    for (family, expected) in tables.families.iter().zip(&mut expected) {
        for block in family.blocks.clone() {
            whole.families(before, End::Last, block, &mut met);
            let twins = whole.twins(before, End::Last, block);
            let entries: Vec<u16> = (0..)
                .zip(&met)
                .filter(|&(entry, family)| {
                    families.contains(family) && twins.get(usize::from(entry)).is_none_or(|&twin| twin == entry)
                })
                .map(|(entry, _)| entry)
                .collect();
            whole.positions_of(before, End::Last, block, &entries, &mut positions);
            whole.keys_of(before, End::Last, block, &entries, &mut keys);
            expected.extend(keys.iter().copied().zip(positions.iter().map(|position| position - base)));
        }
    }
    let with_states: Vec<u32> = (0..).zip(&expected).filter(|(_, ways)| !ways.is_empty()).map(|(at, _)| at).collect();
    let named = part.source_families();
    assert!(!with_states.is_empty() && with_states.iter().all(|family| named.contains(family)), "{what}: {named:?}");
    // Backwards and again, since a reader may be opened anywhere.
    let mut sources = part.sources();
    for &family in named.iter().rev().chain(named.first()) {
        sources.open(family).unwrap();
        let mut got = Vec::new();
        while sources.advance() {
            sources.positions(&mut positions);
            sources.keys(&mut keys);
            assert_eq!(keys.len(), positions.len(), "{what}, family {family}");
            got.extend(keys.iter().copied().zip(positions.iter().copied()));
        }
        assert_eq!(got, expected[family as usize], "{what}: from family {family} of the window before");
        sources.positions(&mut positions);
        assert!(positions.is_empty() && !sources.advance(), "{what}: after the last block");
    }
    assert!(sources.open(tables.families.len() as u32).is_err(), "{what}: a family that is none");
}

#[test]
fn parts_are_parts_of_the_whole() {
    for lengths in [&[1, 1][..], &[2, 2], &[3, 2], &[2, 2, 1], &[1, 2, 2], &[2, 3, 2], &[2, 2, 2, 2]] {
        let windows = Window::of_lengths(lengths);
        let height = lengths.iter().sum();
        let whole = GoColumn::<u64>::new(height, &windows, Directions::Forward).unwrap();
        // One of which nothing is kept for the next part, and one that keeps all.
        let narrow = GoParts::<u64>::new(height, &windows, 0).unwrap();
        let wide = GoParts::<u128>::new(height, &windows, 1 << 30).unwrap();
        for window in 0..windows.len() {
            let count = narrow.families(window).ends.len() as u32;
            let all: Vec<Range<u32>> = match count {
                0..6 => (0..count).flat_map(|from| (from + 1..=count).map(move |to| from..to)).collect(),
                _ => {
                    vec![0..1, 1..count / 3, count / 3..count / 2, count / 2..count - 1, count - 1..count, 0..count]
                }
            };
            for families in all {
                let what = format!("{lengths:?}, window {window}, families {families:?}");
                check(&whole, &narrow, window, families.clone(), &what);
                check(&whole, &wide, window, families, &what);
            }
        }
    }
}

/// Families of boards too high for whole tables: each state of a part through a window by plain expansion.
#[test]
fn parts_of_high_columns_expand_as_states_do() {
    for lengths in [&[6, 6, 5][..], &[5, 6, 6]] {
        let windows = Window::of_lengths(lengths);
        let height = lengths.iter().sum();
        let parts = GoParts::<u128>::new(height, &windows, 1 << 20).unwrap();
        for (number, &window) in windows.iter().enumerate() {
            for family in [0, 1, 40, 600] {
                let part = parts.part(number, family..family + 1, 1).unwrap();
                let what = format!("{lengths:?}, window {number}, family {family}");
                check_expansion(part.column(), number, window, &what);
            }
        }
    }
}

/// All states of a part, each with the value 1.
fn check_expansion(part: &dyn BlockColumn, number: usize, window: Window, what: &str) {
    let tables = part.tables(number);
    let all = |end| keys(part, number, end, &[0]).concat();
    let mut expected: BTreeMap<u128, u64> = BTreeMap::new();
    for key in all(End::First) {
        let mut states = vec![key];
        for cell in window.first..window.end() {
            let next = |&state: &u128| {
                let (next, count) = successors(cell, state);
                next.into_iter().take(count)
            };
            states = states.iter().flat_map(next).collect();
        }
        for state in states {
            *expected.entry(normalise(state, 0)).or_default() += 1;
        }
    }
    let after = through(tables, &vec![1; tables.states[0] as usize]);
    let mut got: BTreeMap<u128, u64> = BTreeMap::new();
    // Some states are in no state's reach.
    for (key, value) in all(End::Last).into_iter().zip(after).filter(|&(_, value)| value > 0) {
        *got.entry(key).or_default() += value;
    }
    assert!(!got.is_empty() && got == expected, "{what}: {} states, expected {}", got.len(), expected.len());
}

/// Parts of some thousand blocks, made by one thread and by several.
#[test]
fn threads_do_not_matter() {
    let windows = Window::of_lengths(&[4, 5, 4]);
    let parts = GoParts::<u64>::new(13, &windows, 0).unwrap();
    for window in 0..windows.len() {
        let ends = parts.families(window).ends.iter().map(|ends| ends[0].max(ends[1]));
        let (_, largest) = ends.zip(0_u32..).max().unwrap();
        let families = largest - 1..largest + 1;
        let made = [1, 3].map(|threads| parts.part(window, families.clone(), threads).unwrap());
        let [one, other] = made.each_ref().map(|part| part.column().tables(window));
        let blocks = one.signature_of.len();
        assert!(blocks > 2 * LEAST_PIECE, "window {window} has {blocks} blocks, too few for several threads");
        assert!(one.signature_of == other.signature_of && one.base == other.base, "window {window}");
        for (one, other) in one.far.iter().zip(&other.far) {
            assert!(one.first == other.first && one.targets == other.targets, "window {window}: far targets");
            assert_eq!(one.descending, other.descending, "window {window}");
        }
        for end in [End::First, End::Last] {
            let [one, other] = made.each_ref().map(|part| keys(part.column(), window, end, &[0, 1]));
            assert!(one == other, "window {window}: keys");
        }
        let [mut one, mut other] = made.each_ref().map(|part| part.sources());
        let [mut positions, mut expected] = [Vec::new(), Vec::new()];
        for &family in made[0].source_families() {
            one.open(family).unwrap();
            other.open(family).unwrap();
            while one.advance() {
                assert!(other.advance(), "window {window}, family {family}: a block is missing");
                one.positions(&mut expected);
                other.positions(&mut positions);
                assert!(positions == expected, "window {window}, family {family}: positions");
            }
            assert!(!other.advance());
        }
    }
}
