//! How much memory a task's manifest would take, told from its bytes before it is decoded.
//!
//! Two bytes of a message can be a whole struct of 120 once decoded. So the coordinator takes a manifest as bytes, adds up what its
//! nested messages would take, and decodes it only within a budget. Cost: one pass over keys and lengths.

use prost::Message as _;

use keima_wire::v1;

use super::ConvertError;

/// Most bytes of the structs of one decoded manifest.
const MOST_BYTES: usize = 16 << 20;

/// Nested messages of a message: field, bytes of the struct, and what is nested in it.
struct Shape(&'static [(u64, usize, &'static Shape)]);

const LEAF: Shape = Shape(&[]);
const PASS: Shape = Shape(&[(3, size_of::<v1::DegreeSums>(), &LEAF), (5, size_of::<v1::DegreeSums>(), &LEAF)]);
const MANIFEST: Shape = Shape(&[
    (1, size_of::<v1::RunManifest>(), &LEAF),
    (2, size_of::<v1::Split>(), &LEAF),
    (5, size_of::<v1::PassTally>(), &PASS),
    (6, size_of::<v1::FunctionalSum>(), &LEAF),
]);

/// Decodes a manifest, unless it would take too much memory.
pub(super) fn manifest(bytes: &[u8]) -> Result<v1::TaskManifest, ConvertError> {
    const FIELD: &str = "ReportTaskRequest.done";
    let mut left = MOST_BYTES;
    if weigh(bytes, &MANIFEST, &mut left) == Weighed::TooMuch {
        let got = format!("more, in {} bytes", bytes.len());
        return Err(ConvertError::new(FIELD, format_args!("a manifest of at most {MOST_BYTES} bytes in memory"), got));
    }
    v1::TaskManifest::decode(bytes).map_err(|error| ConvertError::new(FIELD, "a manifest", error))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Weighed {
    Fits,
    TooMuch,
    /// From here on it is no message: the decoder stops here too, and says why.
    Malformed,
}

/// Takes what the nested messages in `bytes` take from `left`.
fn weigh(mut bytes: &[u8], shape: &Shape, left: &mut usize) -> Weighed {
    while !bytes.is_empty() {
        let Some(key) = varint(&mut bytes) else { return Weighed::Malformed };
        let skipped = match key & 7 {
            0 => varint(&mut bytes).map(|_| &[][..]),
            1 => take(&mut bytes, 8),
            2 => varint(&mut bytes).and_then(|length| take(&mut bytes, usize::try_from(length).ok()?)),
            5 => take(&mut bytes, 4),
            _ => None,
        };
        let Some(inner) = skipped else { return Weighed::Malformed };
        if let Some((_, size, nested)) = shape.0.iter().find(|(field, ..)| *field == key >> 3) {
            match left.checked_sub(*size) {
                Some(rest) => *left = rest,
                None => return Weighed::TooMuch,
            }
            match weigh(inner, nested, left) {
                Weighed::Fits => {}
                other => return other,
            }
        }
    }
    Weighed::Fits
}

fn take<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = take(bytes, 1)? else { return None };
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_decoded_within_the_budget_only() {
        let lanes = vec![7_u64; 4096];
        let sums = || v1::DegreeSums { lanes: lanes.clone() };
        let pass = v1::PassTally { by_degree: vec![sums(); 8], by_shift: vec![sums(); 3], ..Default::default() };
        let run = v1::RunManifest { id: "j1/s0/g1/t0/a0/r0".to_owned(), sums: lanes.clone(), ..Default::default() };
        let large = v1::TaskManifest { passes: vec![pass; 10], runs: vec![run; 12], ..Default::default() };
        assert_eq!(manifest(&large.encode_to_vec()).unwrap(), large);
        let many = |count| v1::TaskManifest { runs: vec![v1::RunManifest::default(); count], ..Default::default() };
        let empty = |count| many(count).encode_to_vec();
        let deep = |count| {
            let pass = v1::PassTally { by_degree: vec![v1::DegreeSums::default(); count], ..Default::default() };
            v1::TaskManifest { passes: vec![pass], ..Default::default() }.encode_to_vec()
        };
        for (bytes, words) in [
            (empty(100_000), None),
            (empty(200_000), Some("at most 16777216 bytes")),
            (deep(500_000), None),
            (deep(800_000), Some("at most 16777216 bytes")),
            (Vec::new(), None),
            (vec![0xff; 20], Some("a manifest")),
            (vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], Some("a manifest")),
            (vec![0x0b, 0x0c], Some("a manifest")),
        ] {
            match (manifest(&bytes), words) {
                (Ok(_), None) => {}
                (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{error}"),
                (got, _) => panic!("{} bytes: {:?}", bytes.len(), got.map(|_| ())),
            }
        }
    }
}
