//! The canonical form of JSON: keys sorted by their bytes, no spaces, texts with the fewest escapes.

use std::fmt::Write as _;

use serde_json::Value;

/// The canonical form.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    put(value, &mut out);
    out
}

/// BLAKE3 over the canonical form, in 64 hexadecimal digits.
pub fn hash_of(value: &Value) -> String {
    blake3::hash(canonical(value).as_bytes()).to_hex().to_string()
}

/// The hash of an object without one of its fields.
pub(crate) fn hash_without(value: &Value, field: &str) -> String {
    let mut value = value.clone();
    if let Value::Object(fields) = &mut value {
        fields.remove(field);
    }
    hash_of(&value)
}

fn put(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        // Certificates have none.
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => put_text(text, out),
        Value::Array(items) => put_all('[', items.iter().map(|item| (None, item)), ']', out),
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
            put_all('{', sorted.into_iter().map(|(name, item)| (Some(name.as_str()), item)), '}', out);
        }
    }
}

fn put_all<'v>(open: char, items: impl Iterator<Item = (Option<&'v str>, &'v Value)>, close: char, out: &mut String) {
    out.push(open);
    for (number, (name, item)) in items.enumerate() {
        if number > 0 {
            out.push(',');
        }
        if let Some(name) = name {
            put_text(name, out);
            out.push(':');
        }
        put(item, out);
    }
    out.push(close);
}

fn put_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                // Writing to a text cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_exact() {
        let value = serde_json::json!({ "b": ["1", true, null], "a": { "\u{e9}": "x\"\\\n\u{1}\u{7f}/" }, "B": [] });
        let expected = "{\"B\":[],\"a\":{\"\u{e9}\":\"x\\\"\\\\\\n\\u0001\u{7f}/\"},\"b\":[\"1\",true,null]}";
        assert_eq!(canonical(&value), expected);
        assert_eq!(
            hash_without(&serde_json::json!({ "a": "1", "hash": "2" }), "hash"),
            hash_of(&serde_json::json!({ "a": "1" }))
        );
    }
}
