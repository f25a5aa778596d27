//! The result around a certificate: the fields of `keima count --json` that can be checked.

use keima_residue::Integer;
use serde_json::Value;

use super::read::{At, FormError};
use crate::verdict::NotVerifiable;

/// What a result says.
pub(crate) struct Results {
    pub(crate) problem: String,
    pub(crate) size: String,
    pub(crate) options: Vec<(String, String)>,
    pub(crate) count: Integer,
    /// Modulus and residue; the spare is the last.
    pub(crate) residues: Vec<(u64, u64)>,
    pub(crate) checks: Vec<(String, bool, String)>,
    pub(crate) identity: Option<String>,
    pub(crate) builds: Option<Vec<String>>,
    /// Rows of tables: table, index and the figures beside the number, count.
    pub(crate) rows: Vec<(String, Vec<String>, Integer)>,
    /// Shorter boards: name and count.
    pub(crate) series: Vec<(String, Integer)>,
    pub(crate) notes: Option<Vec<String>>,
    pub(crate) seconds: Option<f64>,
}

impl Results {
    pub(crate) fn read(value: &Value) -> Result<Self, NotVerifiable> {
        let at = At::new("result", value);
        let count = at.field("count")?;
        if count.value.is_null() {
            let checks = value.get("checks").and_then(Value::as_array);
            let failed = checks.into_iter().flatten().filter(|check| check.get("ok") == Some(&Value::Bool(false)));
            let names: Vec<&str> = failed.filter_map(|check| check.get("name")?.as_str()).collect();
            let why = match value.get("error").and_then(Value::as_str) {
                Some(error) => error.to_owned(),
                None if names.is_empty() => "and no check that failed".to_owned(),
                None => format!("it was withheld by {}", names.join(", ")),
            };
            return Err(NotVerifiable::NoNumber(why));
        }
        let residue = |at: &At<'_>| Ok((at.field("modulus")?.number()?, at.field("residue")?.number()?));
        let check = |at: &At<'_>| Ok((at.field("name")?.text()?, at.field("ok")?.flag()?, at.field("detail")?.text()?));
        let texts = |name| at.maybe(name)?.map(|texts| texts.all(At::text)).transpose();
        Ok(Self {
            problem: at.field("problem")?.text()?,
            size: at.field("size")?.text()?,
            options: options(&at)?,
            count: count.integer()?,
            residues: at.field("residues")?.all(residue)?,
            checks: at.field("checks")?.all(check)?,
            identity: at.maybe("identity")?.map(|identity| identity.text()).transpose()?,
            builds: texts("builds")?,
            rows: at.maybe("counts")?.map_or(Ok(Vec::new()), |counts| counts.all(row))?,
            series: at.maybe("series")?.map_or(Ok(Vec::new()), |series| {
                series.all(|entry| Ok((entry.field("name")?.text()?, entry.field("count")?.integer()?)))
            })?,
            notes: texts("notes")?,
            seconds: value.get("seconds").and_then(Value::as_f64),
        })
    }
}

fn options(at: &At<'_>) -> Result<Vec<(String, String)>, FormError> {
    let Some(options) = at.maybe("options")? else { return Ok(Vec::new()) };
    let fields = options.value.as_object().ok_or_else(|| options.wrong("an object"))?;
    let option = |(name, value): (&String, &Value)| {
        let value = value.as_str().ok_or_else(|| options.wrong("texts as values"))?;
        Ok((name.clone(), value.to_owned()))
    };
    fields.iter().map(option).collect()
}

/// A row of a table: its index stands under a name of its own.
fn row(at: &At<'_>) -> Result<(String, Vec<String>, Integer), FormError> {
    let (table, count) = (at.field("table")?.text()?, at.field("count")?.integer()?);
    let fields = at.value.as_object().into_iter().flatten();
    // Figures beside the number are texts too: the index of the certificate's row is looked for among all.
    let others = fields.filter(|(name, _)| *name != "table" && *name != "count");
    let texts = others.map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    Ok((table, texts.collect(), count))
}
