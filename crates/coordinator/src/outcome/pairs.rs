//! Modulus and residue pairs as `{"modulus": "...", "residue": "..."}`: strings, since they exceed the integers that
//! many readers of JSON keep exactly (2^53).

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct Pair {
    modulus: String,
    residue: String,
}

pub(super) fn serialize<S: Serializer>(pairs: &[(u64, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(pairs.iter().map(|(m, r)| Pair { modulus: m.to_string(), residue: r.to_string() }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u64, u64)>, D::Error> {
    let number = |text: &str| text.parse().map_err(|_| D::Error::custom(format!("expected an integer, got {text:?}")));
    let pairs = Vec::<Pair>::deserialize(deserializer)?;
    pairs.iter().map(|pair| Ok((number(&pair.modulus)?, number(&pair.residue)?))).collect()
}
