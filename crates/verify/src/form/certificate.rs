//! A certificate as it is read: `docs/reference/certificate.md`, field by field.

use keima_residue::Integer;
use serde_json::Value;

use super::read::{At, FormError};
use super::stage::Stage;

/// Most bits of a bound or of a product of moduli.
const MOST_BITS: u64 = 1 << 24;

/// A whole certificate.
pub(crate) struct Certificate<'v> {
    pub(crate) value: &'v Value,
    pub(crate) head: Head,
    pub(crate) sweeps: Vec<Sweep<'v>>,
    pub(crate) cuts: Option<Cuts>,
    pub(crate) result: Numbers,
    pub(crate) milliseconds: u64,
    pub(crate) notes: Vec<String>,
    pub(crate) hash: String,
}

/// What was counted, and how.
pub(crate) struct Head {
    pub(crate) problem: String,
    pub(crate) size: String,
    pub(crate) options: Vec<(String, String)>,
    pub(crate) identity: String,
    pub(crate) builds: Vec<String>,
    pub(crate) height: u32,
    pub(crate) length: u32,
    pub(crate) coefficients: usize,
    /// Whether by dense blocks. Then the first column has no stages.
    pub(crate) by_blocks: bool,
    /// Whether the vectors stayed in memory. Then stages read no functionals and wrote no runs.
    pub(crate) in_memory: bool,
    /// The spare is the last.
    pub(crate) moduli: Vec<u64>,
    pub(crate) functionals: Vec<Functional>,
}

pub(crate) struct Functional {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) after_pass: u32,
    pub(crate) answer: bool,
    /// A bound on each coefficient, as powers.
    pub(crate) bound: Vec<(u32, u32)>,
}

pub(crate) struct Sweep<'v> {
    pub(crate) moduli: Vec<u64>,
    pub(crate) stages: Vec<Stage<'v>>,
}

/// One number, computed at two boundaries.
pub(crate) struct Cuts {
    pub(crate) modulus: u64,
    pub(crate) one: u64,
    pub(crate) other: u64,
}

/// The numbers.
pub(crate) struct Numbers {
    pub(crate) before: String,
    pub(crate) count: Integer,
    pub(crate) counts: Vec<Integer>,
    pub(crate) values: Vec<FunctionalValue>,
    pub(crate) tables: Vec<Table>,
    /// The checks that were made when it was counted: name, whether it held, what was found.
    pub(crate) checks: Vec<(String, bool, String)>,
}

pub(crate) struct FunctionalValue {
    /// Its number among the functionals.
    pub(crate) functional: usize,
    /// `[coefficient][modulus]`.
    pub(crate) residues: Vec<Vec<u64>>,
    pub(crate) count: Option<Integer>,
}

pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) rows: Vec<TableRow>,
}

pub(crate) struct TableRow {
    pub(crate) index: String,
    pub(crate) count: Integer,
    /// Functional, coefficient, weight.
    pub(crate) terms: Vec<(usize, usize, i64)>,
}

impl<'v> Certificate<'v> {
    /// Reads a certificate. `place` is its name in errors.
    pub(crate) fn read(place: &str, value: &'v Value) -> Result<Self, FormError> {
        let at = At::new(place, value);
        let format = at.field("format")?;
        if format.text()? != "keima certificate" {
            return Err(format.wrong("\"keima certificate\""));
        }
        let version = at.field("version")?;
        if version.text()? != "1" {
            return Err(version.wrong("version \"1\"; take the keima that wrote it, or a newer one"));
        }
        let head = Head::read(&at.field("head")?)?;
        let cuts = at.maybe("cuts")?.map(|cuts| Cuts::read(&cuts)).transpose()?;
        let result = Numbers::read(&at.field("result")?, &head)?;
        let history = at.field("history")?;
        let sweeps = at.field("sweeps")?.all(|sweep| {
            let stages = sweep.field("stages")?.all(|stage| Stage::read(stage, &head))?;
            Ok(Sweep { moduli: moduli(&sweep.field("moduli")?)?, stages })
        })?;
        Ok(Self {
            value,
            head,
            sweeps,
            cuts,
            result,
            milliseconds: history.field("milliseconds")?.number()?,
            notes: history.field("notes")?.all(At::text)?,
            hash: at.field("hash")?.text()?,
        })
    }
}

/// Moduli, each at least 2.
pub(crate) fn moduli(at: &At<'_>) -> Result<Vec<u64>, FormError> {
    let modulus = |at: &At<'_>| match at.number()? {
        0 | 1 => Err(at.wrong("a modulus of at least 2")),
        modulus => Ok(modulus),
    };
    at.all(modulus)
}

impl Head {
    fn read(at: &At<'_>) -> Result<Self, FormError> {
        let option = |at: &At<'_>| {
            let parts = at.all(At::text)?;
            let [name, value] = &parts[..] else { return Err(at.wrong("a name and a value")) };
            Ok((name.clone(), value.clone()))
        };
        let (executor, way) = (at.field("executor")?, at.field("way")?);
        let side = |name| {
            let side = at.field(name)?;
            match side.number()? {
                0 => Err(side.wrong("at least 1")),
                number if number > 1 << 16 => Err(side.wrong("at most 65536")),
                number => Ok(number),
            }
        };
        let coefficients = at.field("coefficients")?;
        Ok(Self {
            problem: at.field("problem")?.text()?,
            size: at.field("size")?.text()?,
            options: at.field("options")?.all(option)?,
            identity: at.field("identity")?.text()?,
            builds: at.field("builds")?.all(At::text)?,
            height: side("height")?,
            length: side("length")?,
            coefficients: match coefficients.number()? {
                number @ 1..=65536 => number,
                _ => return Err(coefficients.wrong("1 to 65536 coefficients")),
            },
            by_blocks: match &*executor.text()? {
                "block" => true,
                "stream" => false,
                _ => return Err(executor.wrong("\"block\" or \"stream\"")),
            },
            in_memory: match &*way.text()? {
                "memory" => true,
                "runs" => false,
                _ => return Err(way.wrong("\"memory\" or \"runs\"")),
            },
            moduli: moduli(&at.field("moduli")?)?,
            functionals: at.field("functionals")?.all(Functional::read)?,
        })
    }

    /// Passes of a sweep.
    pub(crate) fn passes(&self) -> u64 {
        u64::from(self.height) * u64::from(self.length)
    }
}

impl Functional {
    fn read(at: &At<'_>) -> Result<Self, FormError> {
        let bound = at.field("bound")?;
        let power = |at: &At<'_>| {
            let parts = at.all(At::number)?;
            let [base, exponent] = parts[..] else { return Err(at.wrong("a base and an exponent")) };
            Ok((base, exponent))
        };
        let powers: Vec<(u32, u32)> = bound.all(power)?;
        let bits = powers.iter().map(|&(base, exponent)| u64::from(base.max(1).ilog2() + 1) * u64::from(exponent));
        if bits.sum::<u64>() > MOST_BITS {
            return Err(bound.wrong(format!("powers of at most {MOST_BITS} bits together")));
        }
        Ok(Self {
            name: at.field("name")?.text()?,
            index: at.field("index")?.number()?,
            after_pass: at.field("after_pass")?.number()?,
            answer: at.field("answer")?.flag()?,
            bound: powers,
        })
    }
}

impl Cuts {
    fn read(at: &At<'_>) -> Result<Self, FormError> {
        let number = |name| at.field(name)?.number();
        Ok(Self { modulus: number("modulus")?, one: number("one")?, other: number("other")? })
    }
}

impl Numbers {
    fn read(at: &At<'_>, head: &Head) -> Result<Self, FormError> {
        let value = |at: &At<'_>| {
            let functional = functional(&at.field("functional")?, head)?;
            let residues = at.field("residues")?;
            let rows = residues.all(At::numbers)?;
            if rows.len() != head.coefficients || rows.iter().any(|row| row.len() != head.moduli.len()) {
                let (rows, columns) = (head.coefficients, head.moduli.len());
                return Err(residues.wrong(format!("{rows} lists of {columns} residues")));
            }
            let count = at.maybe("count")?.map(|count| count.integer()).transpose()?;
            Ok(FunctionalValue { functional, residues: rows, count })
        };
        let check = |at: &At<'_>| Ok((at.field("name")?.text()?, at.field("ok")?.flag()?, at.field("detail")?.text()?));
        Ok(Self {
            before: at.field("before")?.text()?,
            count: at.field("count")?.integer()?,
            counts: at.field("counts")?.all(At::integer)?,
            values: at.field("functionals")?.all(value)?,
            tables: at.field("tables")?.all(|table| Table::read(table, head))?,
            checks: at.field("checks")?.all(check)?,
        })
    }
}

/// The number of a functional.
pub(crate) fn functional(at: &At<'_>, head: &Head) -> Result<usize, FormError> {
    let number: usize = at.number()?;
    if number < head.functionals.len() {
        Ok(number)
    } else {
        Err(at.wrong(format!("the number of one of {} functionals", head.functionals.len())))
    }
}

impl Table {
    fn read(at: &At<'_>, head: &Head) -> Result<Self, FormError> {
        let term = |at: &At<'_>| {
            let parts = at.all(At::text)?;
            let [functional, coefficient, weight] = &parts[..] else {
                return Err(at.wrong("functional, coefficient and weight"));
            };
            let read = || Some((functional.parse().ok()?, coefficient.parse().ok()?, weight.parse().ok()?));
            let (functional, coefficient, weight): (usize, usize, i64) =
                read().ok_or_else(|| at.wrong("three integers"))?;
            if functional >= head.functionals.len() || coefficient >= head.coefficients {
                return Err(at.wrong("a functional and a coefficient that there are"));
            }
            Ok((functional, coefficient, weight))
        };
        let row = |at: &At<'_>| {
            let (index, count) = (at.field("index")?.text()?, at.field("count")?.integer()?);
            Ok(TableRow { index, count, terms: at.field("terms")?.all(term)? })
        };
        Ok(Self { name: at.field("name")?.text()?, rows: at.field("rows")?.all(row)? })
    }
}
