//! The header of a run file: the run's identity, and what all its records have in common.
//!
//! ```text
//!    0  8   magic "KEIMARUN"
//!    8  4   format version
//!   12  4   length of the header in bytes, its checksum included
//!   16  8   job tag
//!   24  4   boundary
//!   28  1   key bytes: 8 or 16
//!   29  1   key order: 0 canonical, 1 window, 2 blocks, 3 blocks of a transposed vector
//!   30  2   number of moduli
//!   32  4   first cell of the window, 0 if canonical
//!   36  4   cells in the window, 0 if canonical
//!   40  4   coefficients
//!   44  2   length of the run's id
//!   46  2   length of the subject
//!   48  8   records of a group of blocks, 0 if no blocks
//!   56  8   definition: a hash of the problem's identity
//!   64  2   length of the build
//!   66  1   windows of a column, 0 if no blocks
//!   67  8 each   moduli
//!       1 each   cells in each window of a column
//!       ..  the run's id, ASCII
//!       ..  the subject, printable ASCII
//!       ..  the build of the program that began the job, printable ASCII
//!       4   CRC-32C of all bytes before
//! ```
//!
//! The checksums of blocks, index and footer all *continue* this one: CRC of the header, then of their own bytes. So a
//! block of another job, boundary or run does not pass.

use super::fields::Fields;
use crate::{BlockCut, KeyOrder, RunError, RunHeader, RunId, RunKey};

pub(crate) const MAGIC: [u8; 8] = *b"KEIMARUN";
/// The format version that this program writes and reads.
pub const FORMAT_VERSION: u32 = 8;

/// Length of the header's fixed part.
pub(crate) const FIXED_BYTES: usize = 67;
/// Most moduli of a sweep.
pub const MAX_MODULI: usize = 256;
/// Most lanes of a value.
pub const MAX_LANES: usize = 4096;
/// Longest run id in bytes.
pub(crate) const MAX_ID_BYTES: usize = 200;
/// Longest subject in bytes.
pub const MAX_SUBJECT_BYTES: usize = 400;
/// Longest name of a build in bytes.
pub const MAX_BUILD_BYTES: usize = 64;
/// Most windows of a column.
const MAX_WINDOWS: usize = 64;
/// Longest header.
pub(crate) const MAX_HEADER_BYTES: usize =
    FIXED_BYTES + 8 * MAX_MODULI + MAX_WINDOWS + MAX_ID_BYTES + MAX_SUBJECT_BYTES + MAX_BUILD_BYTES + 4;

/// What encoding and decoding of records need from a header.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Modulus of each lane.
    pub(crate) moduli: Vec<u64>,
    /// The header's checksum, which all others continue.
    pub(crate) seed: u32,
}

impl Shape {
    /// The shape of runs with keys of type `K`.
    pub(crate) fn of<K: RunKey>(header: &RunHeader, id: &RunId, place: &str) -> Result<Self, RunError> {
        let (_, seed) = encode(header, id)?;
        if header.key_bytes != K::BYTES {
            return Err(other(place, "key bytes", K::BYTES, header.key_bytes));
        }
        Ok(Self { moduli: lane_moduli(header), seed })
    }
    pub(crate) fn lanes(&self) -> usize {
        self.moduli.len()
    }
}

/// Modulus of each lane.
pub(crate) fn lane_moduli(header: &RunHeader) -> Vec<u64> {
    header.moduli.iter().copied().cycle().take(header.lanes()).collect()
}

/// The error for a sound run that is not the expected one.
pub(crate) fn other(
    place: &str,
    what: &'static str,
    expected: impl std::fmt::Display,
    got: impl std::fmt::Display,
) -> RunError {
    RunError::OtherRun { place: place.into(), what, expected: expected.to_string(), got: got.to_string() }
}

fn order_text(order: KeyOrder) -> String {
    match order {
        KeyOrder::Canonical => "canonical".into(),
        KeyOrder::Window { first, len } => format!("window {first}+{len}"),
        KeyOrder::Blocks { first, len } => format!("blocks {first}+{len}"),
        KeyOrder::Transposed { first, len } => format!("transposed blocks {first}+{len}"),
    }
}

/// Refuses ids that could name a file outside the scratch folder, or another file in it.
pub(crate) fn check_id(id: &RunId) -> Result<(), RunError> {
    let component = |c: &str| !c.is_empty() && c.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if id.0.len() <= MAX_ID_BYTES && id.0.split('/').all(component) {
        return Ok(());
    }
    Err(RunError::BadId { got: id.0.chars().take(MAX_ID_BYTES).collect(), max: MAX_ID_BYTES })
}

/// Refuses headers out of bounds, both on writing and on reading.
fn check_bounds(header: &RunHeader) -> Result<(), RunError> {
    let bad = |what, expected: String, got: String| Err(RunError::BadHeader { what, expected, got });
    if header.key_bytes != 8 && header.key_bytes != 16 {
        return bad("key bytes", "8 or 16".into(), header.key_bytes.to_string());
    }
    if header.moduli.is_empty() || header.moduli.len() > MAX_MODULI {
        return bad("number of moduli", format!("1 to {MAX_MODULI}"), header.moduli.len().to_string());
    }
    if let Some(small) = header.moduli.iter().find(|&&p| p < 2) {
        return bad("modulus", "2 or more".into(), small.to_string());
    }
    let lanes = header.moduli.len().saturating_mul(header.coefficients as usize);
    if lanes == 0 || lanes > MAX_LANES {
        return bad("number of lanes", format!("1 to {MAX_LANES}"), lanes.to_string());
    }
    for (what, text, most) in
        [("subject", &header.subject, MAX_SUBJECT_BYTES), ("build", &header.build, MAX_BUILD_BYTES)]
    {
        let printable = text.bytes().all(|b| (b' '..=b'~').contains(&b));
        if text.len() > most || !printable {
            return bad(what, format!("at most {most} printable ASCII characters"), text.chars().take(most).collect());
        }
    }
    let blocks = header.key_order.is_of_blocks();
    let sound = |cut: &BlockCut| (1..=MAX_WINDOWS).contains(&cut.windows.len()) && !cut.windows.contains(&0);
    if blocks != header.cut.is_some() || !header.cut.iter().all(sound) {
        let expected = format!("for blocks 1 to {MAX_WINDOWS} windows of a cell or more, none for other orders");
        return bad("cut of a column", expected, format!("{:?}", header.cut));
    }
    Ok(())
}

/// The header's bytes, and its checksum, which is also their last four.
pub(crate) fn encode(header: &RunHeader, id: &RunId) -> Result<(Vec<u8>, u32), RunError> {
    check_bounds(header)?;
    check_id(id)?;
    let (windows, group_records) = header.cut.as_ref().map_or((&[][..], 0), |cut| (&cut.windows, cut.group_records));
    let texts = id.0.len() + header.subject.len() + header.build.len();
    let bytes = FIXED_BYTES + 8 * header.moduli.len() + windows.len() + texts + 4;
    let (kind, first, len) = match header.key_order {
        KeyOrder::Canonical => (0, 0, 0),
        KeyOrder::Window { first, len } => (1, first, len),
        KeyOrder::Blocks { first, len } => (2, first, len),
        KeyOrder::Transposed { first, len } => (3, first, len),
    };
    let mut out = Vec::with_capacity(bytes);
    out.extend(MAGIC);
    out.extend(FORMAT_VERSION.to_le_bytes());
    out.extend((bytes as u32).to_le_bytes());
    out.extend(header.job_tag.to_le_bytes());
    out.extend(header.boundary.to_le_bytes());
    out.extend([header.key_bytes, kind]);
    out.extend((header.moduli.len() as u16).to_le_bytes());
    out.extend(first.to_le_bytes());
    out.extend(len.to_le_bytes());
    out.extend(header.coefficients.to_le_bytes());
    out.extend((id.0.len() as u16).to_le_bytes());
    out.extend((header.subject.len() as u16).to_le_bytes());
    out.extend(group_records.to_le_bytes());
    out.extend(header.definition.to_le_bytes());
    out.extend((header.build.len() as u16).to_le_bytes());
    out.push(windows.len() as u8);
    for modulus in &header.moduli {
        out.extend(modulus.to_le_bytes());
    }
    out.extend(windows);
    out.extend(id.0.as_bytes());
    out.extend(header.subject.as_bytes());
    out.extend(header.build.as_bytes());
    let crc = crc32c::crc32c(&out);
    out.extend(crc.to_le_bytes());
    Ok((out, crc))
}

/// Checks magic and length of a header, which have the same offsets in every format version. Returns the length. Another
/// version is an error only if its header cannot be read to its checksum: see [`decode`].
pub(crate) fn length(start: &[u8; 16], place: &str) -> Result<usize, RunError> {
    let malformed = |what| RunError::Malformed { place: place.into(), what, at: 12 };
    let mut fields = Fields(start);
    let (Some(magic), Some(version), Some(bytes)) = (fields.array::<8>(), fields.u32(), fields.u32()) else {
        return Err(malformed("its header has no length"));
    };
    if magic != MAGIC {
        return Err(RunError::BadMagic { place: place.into(), got: magic });
    }
    let ours = version == FORMAT_VERSION;
    let least = if ours { FIXED_BYTES + 8 + 1 + 4 } else { start.len() + 4 };
    if (least..=MAX_HEADER_BYTES).contains(&(bytes as usize)) {
        Ok(bytes as usize)
    } else if ours {
        Err(malformed("its header's length is out of bounds"))
    } else {
        Err(other_version(version, place))
    }
}

fn other_version(got: u32, place: &str) -> RunError {
    RunError::OtherVersion { place: place.into(), expected: FORMAT_VERSION, got }
}

/// Reads a header whose length [`length`] gave. Returns it with its run's id and its checksum.
pub(crate) fn decode(bytes: &[u8], place: &str) -> Result<(RunHeader, RunId, u32), RunError> {
    let malformed = |what| RunError::Malformed { place: place.into(), what, at: 0 };
    let Some((body, stored)) = bytes.split_last_chunk::<4>() else {
        return Err(malformed("its header is shorter than a checksum"));
    };
    let (expected, got) = (u32::from_le_bytes(*stored), crc32c::crc32c(body));
    if expected != got {
        return Err(RunError::Checksum { place: place.into(), what: "the header", at: 0, expected, got });
    }
    // After the checksum, which stands at the end in every version: a damaged version is damage, and such a run goes.
    match Fields(body.get(8..).unwrap_or_default()).u32() {
        Some(FORMAT_VERSION) => {}
        version => return Err(other_version(version.unwrap_or(0), place)),
    }
    let (header, id) = fields(body).ok_or_else(|| malformed("its header contradicts itself"))?;
    // A header must be encoded again to the same bytes: no free bits, nothing left over.
    match encode(&header, &id) {
        Ok((again, crc)) if again == bytes => Ok((header, id, crc)),
        Ok(_) => Err(malformed("its header has reserved bits set or bytes left over")),
        Err(_) => Err(malformed("its header is out of bounds")),
    }
}

fn fields(body: &[u8]) -> Option<(RunHeader, RunId)> {
    let mut fields = Fields(body.get(16..)?);
    let job_tag = fields.u64()?;
    let boundary = fields.u32()?;
    let key_bytes = fields.u8()?;
    let kind = fields.u8()?;
    let moduli = fields.u16()?;
    let (first, len) = (fields.u32()?, fields.u32()?);
    let coefficients = fields.u32()?;
    let (id_bytes, subject_bytes) = (fields.u16()?, fields.u16()?);
    let group_records = fields.u64()?;
    let definition = fields.u64()?;
    let build_bytes = fields.u16()?;
    let windows = fields.u8()?;
    let key_order = match kind {
        0 => KeyOrder::Canonical,
        1 => KeyOrder::Window { first, len },
        2 => KeyOrder::Blocks { first, len },
        3 => KeyOrder::Transposed { first, len },
        _ => return None,
    };
    // The body is at most MAX_HEADER_BYTES long, which bounds the list of moduli.
    let moduli = (0..moduli).map(|_| fields.u64()).collect::<Option<Vec<_>>>()?;
    let windows = fields.bytes(windows.into())?.to_vec();
    let id = String::from_utf8(fields.bytes(id_bytes.into())?.to_vec()).ok()?;
    let subject = String::from_utf8(fields.bytes(subject_bytes.into())?.to_vec()).ok()?;
    let build = String::from_utf8(fields.bytes(build_bytes.into())?.to_vec()).ok()?;
    let cut = key_order.is_of_blocks().then_some(BlockCut { windows, group_records });
    let header =
        RunHeader { job_tag, definition, build, subject, boundary, key_order, cut, key_bytes, moduli, coefficients };
    Some((header, RunId(id)))
}

/// Names the first field in which two headers differ, if any.
pub(crate) fn compare(expected: &RunHeader, got: &RunHeader, place: &str) -> Result<(), RunError> {
    if got.job_tag != expected.job_tag {
        let hex = |tag: u64| format!("{tag:016x}");
        return Err(other(place, "job", hex(expected.job_tag), hex(got.job_tag)));
    }
    if got.definition != expected.definition {
        let hex = |hash: u64| format!("{hash:016x}");
        return Err(other(place, "definition of the problem", hex(expected.definition), hex(got.definition)));
    }
    if got.build != expected.build {
        return Err(other(place, "build that began the job", &expected.build, &got.build));
    }
    if got.subject != expected.subject {
        return Err(other(place, "subject", &expected.subject, &got.subject));
    }
    if got.boundary != expected.boundary {
        return Err(other(place, "boundary", expected.boundary, got.boundary));
    }
    if got.key_order != expected.key_order {
        return Err(other(place, "key order", order_text(expected.key_order), order_text(got.key_order)));
    }
    if got.cut != expected.cut {
        let text = |cut: &Option<BlockCut>| format!("{cut:?}");
        return Err(other(place, "cut of a column", text(&expected.cut), text(&got.cut)));
    }
    if got.key_bytes != expected.key_bytes {
        return Err(other(place, "key bytes", expected.key_bytes, got.key_bytes));
    }
    if got.moduli != expected.moduli {
        let list = |moduli: &[u64]| format!("{moduli:?}");
        return Err(other(place, "list of moduli", list(&expected.moduli), list(&got.moduli)));
    }
    if got.coefficients != expected.coefficients {
        return Err(other(place, "number of coefficients", expected.coefficients, got.coefficients));
    }
    Ok(())
}
