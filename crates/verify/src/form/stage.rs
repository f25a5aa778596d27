//! A stage of a certificate as it is read.

use serde_json::Value;

use super::certificate::{Head, functional, moduli};
use super::read::{At, FormError};

pub(crate) struct Stage<'v> {
    pub(crate) value: &'v Value,
    /// Where it stands, for checks: `"sweep 1, stage 3, from pass 12"`.
    pub(crate) place: String,
    pub(crate) transposed: bool,
    pub(crate) first_pass: u64,
    pub(crate) cells: u64,
    pub(crate) moduli: Vec<u64>,
    pub(crate) starts: bool,
    pub(crate) exact: bool,
    pub(crate) reads: Option<Vector>,
    pub(crate) writes: Option<Vector>,
    pub(crate) kept: Option<Vector>,
    pub(crate) passes: Vec<Pass>,
    pub(crate) balance: Option<[Vec<u64>; 2]>,
    /// Functional and lanes.
    pub(crate) readings: Vec<(usize, Vec<u64>)>,
    /// Records of its runs.
    pub(crate) records: Option<u64>,
    pub(crate) before: String,
    pub(crate) hash: String,
}

/// A vector as one stage saw it.
pub(crate) struct Vector {
    pub(crate) moduli: Vec<u64>,
    pub(crate) states: u64,
    pub(crate) sums: Vec<u64>,
    pub(crate) fingerprint: Vec<u64>,
}

pub(crate) struct Pass {
    /// The number of the pass.
    pub(crate) number: u64,
    pub(crate) states: u64,
    pub(crate) successors: u64,
    /// `[number of successors][lane]`.
    pub(crate) by_degree: Vec<Vec<u64>>,
    pub(crate) by_shift: Vec<Vec<u64>>,
    pub(crate) new_sums: Vec<u64>,
}

impl<'v> Stage<'v> {
    pub(crate) fn read(at: &At<'v>, head: &Head) -> Result<Self, FormError> {
        let (direction, first_pass, cells) = (at.field("direction")?, at.field("first_pass")?, at.field("cells")?);
        let end = first_pass.number::<u32>()?.checked_add(cells.number::<u32>()?);
        if end.is_none_or(|end| u64::from(end) > head.passes()) || cells.number::<u32>()? == 0 {
            return Err(cells.wrong(format!("1 or more passes that end by {}", head.passes())));
        }
        let moduli = moduli(&at.field("moduli")?)?;
        let lanes = moduli.len() * head.coefficients;
        let vector = |name| at.maybe(name)?.map(|vector| Vector::read(&vector, head)).transpose();
        let balance = at.maybe("balance")?;
        let sides = |balance: At<'_>| {
            let side = |name| lanes_of(&balance.field(name)?, &moduli, lanes);
            Ok::<_, FormError>([side("expected")?, side("got")?])
        };
        let reading = |reading: &At<'_>| {
            let functional = functional(&reading.field("functional")?, head)?;
            Ok((functional, lanes_of(&reading.field("lanes")?, &moduli, lanes)?))
        };
        let records = at.maybe("manifest")?.map(|manifest| manifest.field("records")?.number()).transpose()?;
        let passes = at.field("passes")?;
        let read = passes.all(|pass| Pass::read(pass, &moduli, lanes))?;
        if !read.is_empty() && Ok(read.len()) != cells.number() {
            return Err(passes.wrong(format!("{} passes, or none", cells.number::<u32>()?)));
        }
        let place = at.place.replace("certificate.sweeps[", "sweep ").replace("].stages[", ", stage ").replace(']', "");
        Ok(Self {
            value: at.value,
            place: format!("{place}, from pass {}", first_pass.number::<u32>()?),
            transposed: match &*direction.text()? {
                "forward" => false,
                "transposed" => true,
                _ => return Err(direction.wrong("\"forward\" or \"transposed\"")),
            },
            first_pass: first_pass.number()?,
            cells: cells.number()?,
            starts: at.field("starts")?.flag()?,
            exact: at.field("exact")?.flag()?,
            reads: vector("reads")?,
            writes: vector("writes")?,
            kept: vector("kept")?,
            passes: read,
            balance: balance.map(sides).transpose()?,
            readings: at.field("functionals")?.all(reading)?,
            records,
            before: at.field("before")?.text()?,
            hash: at.field("hash")?.text()?,
            moduli,
        })
    }

    /// The pass after its last one.
    pub(crate) fn end_pass(&self) -> u64 {
        self.first_pass + self.cells
    }
}

/// Lanes, each below its modulus: lane `i` has the modulus `moduli[i % moduli.len()]`.
fn lanes_of(at: &At<'_>, moduli: &[u64], lanes: usize) -> Result<Vec<u64>, FormError> {
    let numbers = at.numbers()?;
    let reduced = numbers.iter().zip(moduli.iter().cycle()).all(|(number, modulus)| number < modulus);
    if numbers.len() == lanes && reduced { Ok(numbers) } else { Err(at.wrong(format!("{lanes} residues"))) }
}

fn rows_of(at: &At<'_>, moduli: &[u64], lanes: usize) -> Result<Vec<Vec<u64>>, FormError> {
    at.all(|row| row_of(row, moduli, lanes))
}

/// A row, or none: an empty one stands for zeros, where no task had such states. It takes no memory.
fn row_of(at: &At<'_>, moduli: &[u64], lanes: usize) -> Result<Vec<u64>, FormError> {
    if at.items()?.is_empty() { Ok(Vec::new()) } else { lanes_of(at, moduli, lanes) }
}

impl Vector {
    fn read(at: &At<'_>, head: &Head) -> Result<Self, FormError> {
        let moduli = moduli(&at.field("moduli")?)?;
        let lanes = moduli.len() * head.coefficients;
        Ok(Self {
            states: at.field("states")?.number()?,
            sums: lanes_of(&at.field("sums")?, &moduli, lanes)?,
            fingerprint: lanes_of(&at.field("fingerprint")?, &moduli, lanes)?,
            moduli,
        })
    }
}

impl Pass {
    fn read(at: &At<'_>, moduli: &[u64], lanes: usize) -> Result<Self, FormError> {
        Ok(Self {
            number: at.field("pass")?.number()?,
            states: at.field("states")?.number()?,
            successors: at.field("successors")?.number()?,
            by_degree: rows_of(&at.field("by_degree")?, moduli, lanes)?,
            by_shift: rows_of(&at.field("by_shift")?, moduli, lanes)?,
            new_sums: row_of(&at.field("new_sums")?, moduli, lanes)?,
        })
    }
}
