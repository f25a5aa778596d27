//! The constants for programs.

use keima_analyse::constants::epsilon::Limit;
use keima_analyse::constants::{Limits, decimal};
use serde_json::{Value, json};

use super::{Report, shown};

/// Places of the ratios.
const PLACES: u32 = 40;

impl Report {
    pub(super) fn json(&self) -> Value {
        let (counts, found) = (self.table.counts(), &self.found);
        let ratios = found.ratios.iter().map(|ratio| decimal(ratio, PLACES));
        let errors = (1..).zip(&found.errors).map(
            |(n, (square, oblong))| json!({ "n": n, "square": shown(square), "oblong": oblong.as_ref().map(shown) }),
        );
        let mut value = json!({
            "problem": self.name,
            "squares": counts.squares.len(),
            "oblongs": counts.oblongs.len(),
            "from_ratios": limits(&found.epsilon),
            "from_heights": Value::Null,
            "no_heights": found.joint.as_ref().err().map(ToString::to_string),
            "ways_disagree": Value::Null,
            "ratios": ratios.collect::<Vec<String>>(),
            "relative_errors": errors.collect::<Vec<Value>>(),
        });
        if let (Some(object), Value::Object(best)) = (value.as_object_mut(), limits(found.best())) {
            object.extend(best);
        }
        if let Ok(joint) = &found.joint {
            value["ways_disagree"] = found.disagree().into();
            value["from_heights"] = limits(&joint.limits);
            value["from_heights"]["heights"] = joint.heights.into();
            value["from_heights"]["length"] = joint.length.into();
            let parts = (1..).zip(&joint.parts).map(|(n, [e, d])| json!({ "n": n, "e": shown(e), "d": shown(d) }));
            value["error_parts"] = parts.collect();
        }
        let bounded = self.bounded();
        if !bounded.is_empty() {
            let row = |bounded: &super::bounds::Bounded| {
                json!({
                    "board": bounded.board,
                    "lower": bounded.lower.to_string(),
                    "count": bounded.count.to_string(),
                    "upper": bounded.upper.to_string(),
                    "holds": bounded.holds(),
                })
            };
            value["theorem_3"] = bounded.iter().map(row).collect();
        }
        value
    }
}

fn limits(found: &Limits) -> Value {
    let limit = |limit: &Limit| {
        let (digits, error) = limit.decimal();
        json!({ "value": digits, "error": error, "trials_held": limit.trials.0, "trials": limit.trials.1 })
    };
    json!({ "L": limit(&found.base), "B": limit(&found.side), "A": limit(&found.factor) })
}
