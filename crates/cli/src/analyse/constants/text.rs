//! The constants for people.

use keima_analyse::constants::epsilon::Limit;
use keima_analyse::constants::{Limits, decimal};

use super::{Report, shown};

/// Places of the ratios: some more than L has certain digits.
const PLACES: u32 = 25;

impl Report {
    pub(super) fn text(&self) -> String {
        let mut lines = self.constants();
        lines.push("\nratios s(n) s(n+1) / o(n)^2 of the counts s(n) of n x n and o(n) of n x (n+1)".to_owned());
        lines.extend((1..).zip(&self.found.ratios).map(|(n, ratio)| format!("{n:>4}  {}", decimal(ratio, PLACES))));
        lines.extend(self.errors());
        lines.extend(self.theorem());
        lines.join("\n")
    }

    fn constants(&self) -> Vec<String> {
        let counts = self.table.counts();
        let (squares, oblongs) = (counts.squares.len(), counts.oblongs.len());
        let mut lines = vec![
            format!("{}: count(m,n) ~ A B^(m+n) L^(mn)", self.name),
            format!("\nfrom {squares} squares and {oblongs} boards one longer, by the epsilon algorithm"),
        ];
        lines.extend(limits(&self.found.epsilon));
        let joint = match &self.found.joint {
            Ok(joint) => joint,
            Err(why) => {
                lines.push(format!("\nnot from boards of small heights: {why}"));
                return lines;
            }
        };
        lines.push(format!(
            "\nfrom these and the boards of heights 1 to {} up to length {}, which tell the formula's error",
            joint.heights, joint.length
        ));
        lines.extend(limits(&joint.limits));
        let apart = self.found.disagree();
        if !apart.is_empty() {
            let letters = apart.join(", ");
            lines.push(format!(
                "\nTHE TWO WAYS DISAGREE beyond their bars in {letters}: a count is wrong, or a bar is too narrow"
            ));
        }
        let which = if self.found.better().is_some() { "second" } else { "first" };
        lines.push(format!("\nthe {which} L has the narrower bar: what follows uses the {which} constants"));
        lines
    }

    fn errors(&self) -> Vec<String> {
        let parts = self.found.joint.as_ref().ok().map(|joint| &joint.parts);
        let mut lines = vec!["\nrelative error of the formula: count / formula - 1".to_owned()];
        if parts.is_some() {
            lines.push("it is nearly d(m) + d(n) + n e(m) + m e(n)".to_owned());
        }
        let more = if parts.is_some() { "  d(n)       e(n)" } else { "" };
        lines.push(format!("   n  n x n      n x (n+1){more}"));
        let rows = parts.map_or(0, Vec::len).max(self.found.errors.len());
        for at in 0..rows {
            // d and e are known of larger boards too.
            let known = self.found.errors.get(at);
            let square = known.map(|(square, _)| shown(square)).unwrap_or_default();
            let oblong = known.and_then(|(_, oblong)| oblong.as_ref()).map(shown).unwrap_or_default();
            let [e, d] =
                parts.and_then(|parts| parts.get(at)).map(|both| both.each_ref().map(shown)).unwrap_or_default();
            lines.push(format!("{:>4}  {square:<9}  {oblong:<9}  {d:<9}  {e}", at + 1).trim_end().to_owned());
        }
        lines
    }

    fn theorem(&self) -> Vec<String> {
        let bounded = self.bounded();
        if bounded.is_empty() {
            return Vec::new();
        }
        let holds = bounded.iter().all(super::bounds::Bounded::holds);
        let mut lines = vec![
            format!("\ntheorem 3 {}: lower bound <= count <= upper bound", if holds { "holds" } else { "FAILS" }),
            "lower = 3^(4mn/5) (79/81)^(2(m+n)/5), upper = 3^(mn) (79/81)^(2(m+n)/5) (241/243)^((mn-2(m+n))/5)"
                .to_owned(),
        ];
        lines.extend(bounded.iter().map(|bounded| {
            let [lower, count, upper] = bounded.shown();
            let fails = if bounded.holds() { "" } else { "  FAILS" };
            format!("{:>7}  {lower:<12}  {count:<12}  {upper}{fails}", bounded.board)
        }));
        lines
    }
}

fn limits(found: &Limits) -> Vec<String> {
    let line = |(letter, limit): (&str, &Limit)| {
        let (digits, error) = limit.decimal();
        let (held, all) = limit.trials;
        let column =
            limit.column.map(|column| format!("column {} of the epsilon table; ", 2 * column)).unwrap_or_default();
        format!(
            "  {letter}  {digits:<27} +- {error}   ({column}{held} of {all} estimates from fewer counts had it within their bar)"
        )
    };
    [("L", &found.base), ("B", &found.side), ("A", &found.factor)].map(line).to_vec()
}
