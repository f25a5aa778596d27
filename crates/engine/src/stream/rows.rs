//! Adding rows to rows: one residue for each lane, coefficient by coefficient.
//!
//! ```text
//!   row  = [ coefficient 0: a residue for each modulus | coefficient 1 | ... ]
//!   target[i + shift x moduli] += source[i]     modulo the lane's modulus
//! ```
//!
//! Rows with one coefficient and at most eight lanes have loops of their own. All loops are compiled for the widest
//! vector instructions of the machine.
//!
//! Cost of a successor: an addition and a conditional subtraction for each lane.

use keima_residue::add_mod;
use pulp::{Simd, WithSimd};

/// The moduli of a row, and their order.
#[derive(Clone, Debug)]
pub(crate) struct RowModuli {
    /// The modulus of each lane.
    lanes: Vec<u64>,
    /// Lanes of one coefficient.
    group: usize,
    /// Whether all moduli are below 2^63: the sum of two residues then fits a word without a carry.
    small: bool,
}

impl RowModuli {
    /// Rows of `lanes` lanes, a group for each coefficient.
    pub(crate) fn new(moduli: &[u64], lanes: usize) -> Self {
        let small = moduli.iter().all(|&p| p < 1 << 63);
        Self { lanes: moduli.iter().copied().cycle().take(lanes).collect(), group: moduli.len(), small }
    }
}

/// The rows of a batch's successors.
pub(crate) struct Sources<'a> {
    /// Source `i` has `degrees[i]` successors, in order.
    pub(crate) degrees: &'a [u8],
    /// How far each successor moves the coefficients up. Empty if none does.
    pub(crate) shifts: &'a [u8],
    pub(crate) rows: &'a [u64],
}

/// Adds to the row at each of `places` the row of its source.
pub(crate) fn add_to_places(targets: &mut [u64], places: &[u32], sources: &Sources<'_>, moduli: &RowModuli) {
    let work = AddToPlaces { targets, places, sources, moduli };
    // One or two lanes fill no vector.
    if moduli.lanes.len() <= 2 { work.with_simd(pulp::Scalar::new()) } else { pulp::Arch::new().dispatch(work) }
}

struct AddToPlaces<'a> {
    targets: &'a mut [u64],
    places: &'a [u32],
    sources: &'a Sources<'a>,
    moduli: &'a RowModuli,
}

impl WithSimd for AddToPlaces<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { targets, places, sources, moduli } = self;
        macro_rules! of_lanes {
            ($($lanes:literal)*) => {
                match (sources.shifts.is_empty(), moduli.lanes.len()) {
                    $((true, $lanes) if moduli.small => fixed_lanes::<$lanes, true>(targets, places, sources, moduli),
                    (true, $lanes) => fixed_lanes::<$lanes, false>(targets, places, sources, moduli),)*
                    _ if moduli.small => any_lanes::<true>(targets, places, sources, moduli),
                    _ => any_lanes::<false>(targets, places, sources, moduli),
                }
            };
        }
        of_lanes!(1 2 3 4 5 6 7 8);
    }
}

/// Sum of two residues. If `SMALL`, moduli are below 2^63.
#[inline(always)]
fn add<const SMALL: bool>(a: u64, b: u64, p: u64) -> u64 {
    if SMALL {
        let sum = a + b;
        sum.min(sum.wrapping_sub(p))
    } else {
        add_mod(a, b, p)
    }
}

#[inline(always)]
fn fixed_lanes<const L: usize, const SMALL: bool>(
    targets: &mut [u64],
    places: &[u32],
    sources: &Sources<'_>,
    moduli: &RowModuli,
) {
    let (targets, _) = targets.as_chunks_mut::<L>();
    let (rows, _) = sources.rows.as_chunks::<L>();
    let Some(p) = moduli.lanes.first_chunk::<L>() else { return };
    let mut places = places.iter();
    for (source, &degree) in rows.iter().zip(sources.degrees) {
        for &place in places.by_ref().take(degree.into()) {
            let target = &mut targets[place as usize];
            for lane in 0..L {
                target[lane] = add::<SMALL>(target[lane], source[lane], p[lane]);
            }
        }
    }
}

/// Any number of lanes, with or without shifts.
#[inline(always)]
fn any_lanes<const SMALL: bool>(targets: &mut [u64], places: &[u32], sources: &Sources<'_>, moduli: &RowModuli) {
    let lanes = moduli.lanes.len();
    let mut j = 0;
    for (source, &degree) in sources.rows.chunks_exact(lanes).zip(sources.degrees) {
        for &place in &places[j..j + usize::from(degree)] {
            let up = sources.shifts.get(j).map_or(0, |&s| usize::from(s) * moduli.group).min(lanes);
            let target = &mut targets[place as usize * lanes..][up..lanes];
            // The moduli repeat with each coefficient: those of a moved row are those of its first lanes.
            for ((target, &value), &p) in target.iter_mut().zip(source).zip(&moduli.lanes) {
                *target = add::<SMALL>(*target, value, p);
            }
            j += 1;
        }
    }
}
