//! The pieces of a certificate as JSON, and its canonical form.

use std::fmt::Display;

use serde_json::{Map, Value};

/// An object that is being made.
pub(super) struct Object(Map<String, Value>);

impl Object {
    pub(super) fn new() -> Self {
        Self(Map::new())
    }
    /// Adds a field.
    pub(super) fn put(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }
    pub(super) fn into_map(self) -> Map<String, Value> {
        self.0
    }
    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

pub(super) fn flag(flag: bool) -> Value {
    Value::Bool(flag)
}

/// An integer as a decimal text.
pub(super) fn integer(number: impl Display) -> Value {
    Value::String(number.to_string())
}

pub(super) fn list(items: impl Iterator<Item = Value>) -> Value {
    Value::Array(items.collect())
}

pub(super) fn integers<T: Display>(numbers: &[T]) -> Value {
    list(numbers.iter().map(integer))
}

pub(super) fn rows(rows: &[Vec<u64>]) -> Value {
    list(rows.iter().map(|row| integers(row)))
}

pub(super) fn texts<T: ToString>(texts: impl IntoIterator<Item = T>) -> Value {
    list(texts.into_iter().map(|text| Value::String(text.to_string())))
}

/// The canonical form: keys sorted by their bytes, no spaces.
pub(super) fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    let separate = |number: usize, out: &mut String| {
        if number > 0 {
            out.push(',');
        }
    };
    match value {
        Value::Array(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                separate(number, out);
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            // Whatever order the map has.
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            out.push('{');
            for (number, name) in names.into_iter().enumerate() {
                separate(number, out);
                write(&Value::String(name.clone()), out);
                out.push(':');
                write(&fields[name], out);
            }
            out.push('}');
        }
        other => *out += &other.to_string(),
    }
}

/// BLAKE3 of the canonical form, in 64 hexadecimal digits.
pub(super) fn hash_of(value: &Value) -> String {
    blake3::hash(canonical(value).as_bytes()).to_hex().to_string()
}
