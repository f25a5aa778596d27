//! Reading JSON whose form is given: errors say the place, what was expected there, and what came.

use keima_residue::Integer;
use serde_json::{Map, Value};

/// Something in a certificate or a result is not of the form that it must have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: expected {expected}, got {got}")]
pub struct FormError {
    /// Where: `"certificate.sweeps[0].stages[3].moduli"`.
    pub place: String,
    /// What must be there.
    pub expected: String,
    /// What is there, shortened.
    pub got: String,
}

/// Longest decimal integer that is read.
const MOST_DIGITS: usize = 1 << 20;

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct At<'v> {
    pub(crate) value: &'v Value,
    pub(crate) place: String,
}

impl<'v> At<'v> {
    pub(crate) fn new(place: impl Into<String>, value: &'v Value) -> Self {
        Self { value, place: place.into() }
    }

    /// That something else was expected here.
    pub(crate) fn wrong(&self, expected: impl Into<String>) -> FormError {
        let got: String = self.value.to_string().chars().take(80).collect();
        FormError { place: self.place.clone(), expected: expected.into(), got }
    }

    fn object(&self) -> Result<&'v Map<String, Value>, FormError> {
        self.value.as_object().ok_or_else(|| self.wrong("an object"))
    }

    /// A field that must be there.
    pub(crate) fn field(&self, name: &str) -> Result<Self, FormError> {
        let value = self.object()?.get(name).ok_or_else(|| self.wrong(format!("a field {name:?}")))?;
        Ok(Self { value, place: format!("{}.{name}", self.place) })
    }

    /// A field that may be missing or null.
    pub(crate) fn maybe(&self, name: &str) -> Result<Option<Self>, FormError> {
        let value = self.object()?.get(name).filter(|value| !value.is_null());
        Ok(value.map(|value| Self { value, place: format!("{}.{name}", self.place) }))
    }

    pub(crate) fn items(&self) -> Result<Vec<Self>, FormError> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        let item = |(number, value)| Self { value, place: format!("{}[{number}]", self.place) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// Reads every item of a list.
    pub(crate) fn all<T>(&self, read: impl Fn(&Self) -> Result<T, FormError>) -> Result<Vec<T>, FormError> {
        self.items()?.iter().map(read).collect()
    }

    pub(crate) fn text(&self) -> Result<String, FormError> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.wrong("a text"))
    }

    pub(crate) fn flag(&self) -> Result<bool, FormError> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    /// An integer in decimal digits, without a sign and without zeros in front.
    pub(crate) fn integer(&self) -> Result<Integer, FormError> {
        let digits = self.value.as_str().filter(|text| is_decimal(text));
        digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| self.wrong("a text of decimal digits"))
    }

    pub(crate) fn number<T: std::str::FromStr>(&self) -> Result<T, FormError> {
        let digits = self.value.as_str().filter(|text| is_decimal(text));
        let number = digits.and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| self.wrong("a text of decimal digits of no more than a machine word"))
    }

    pub(crate) fn numbers(&self) -> Result<Vec<u64>, FormError> {
        self.all(Self::number)
    }
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MOST_DIGITS
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}
