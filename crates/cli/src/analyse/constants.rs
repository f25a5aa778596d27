//! `keima analyse PROBLEM --constants`: A, B and L of A B^(m+n) L^(mn), from the counts that the problem knows as published.

use keima_analyse::Integer;
use keima_analyse::constants::epsilon::Limit;
use keima_analyse::constants::plot::{exponent, svg};
use keima_analyse::constants::{Constants, Counts, theorem_3};
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;
use serde_json::{Value, json};

use crate::args::AnalyseArgs;
use crate::exit::Failed;
use crate::terminal::output::hand_over;

/// Largest square that is asked for.
const MOST: u32 = 64;

/// The published count of a board; `None` if there is none.
fn known(name: &str, options: &[(String, String)], m: u32, n: u32) -> Option<Integer> {
    let request = ProblemRequest { name: name.to_owned(), size: format!("{m}x{n}"), options: options.to_vec() };
    let problem = Problems.open(&request).ok()?;
    let answer = problem.info().functionals().into_iter().rfind(|functional| functional.answer)?;
    answer.known?.parse().ok()
}

pub(super) fn constants(args: &AnalyseArgs) -> Result<(), Failed> {
    let name = args.problem.as_deref().unwrap_or_default();
    let options: Vec<_> = args.options.iter().map(|word| ProblemRequest::option(word)).collect();
    // An unknown problem is told as such.
    Problems.open(&ProblemRequest { name: name.to_owned(), size: "5x5".to_owned(), options: options.clone() })?;
    let counts = Counts {
        squares: (1..=MOST).map_while(|n| known(name, &options, n, n)).collect(),
        oblongs: (1..=MOST).map_while(|n| known(name, &options, n, n + 1)).collect(),
    };
    let found = Constants::of(&counts).map_err(|error| Failed::usage(format!("{name}: {error}")))?;
    if let Some(path) = &args.svg {
        std::fs::write(path, svg(&found))
            .map_err(|error| Failed::other(format!("cannot write {}: {error}", path.display())))?;
    }
    hand_over(&if args.json { to_json(name, &counts, &found).to_string() } else { to_text(name, &counts, &found) })
}

/// A relative error as people read it: `-1.2e-9`.
fn shown(error: &Integer) -> String {
    let Some(exponent) = exponent(error) else { return "0".to_owned() };
    let sign = if *error < 0 { "-" } else { "" };
    let whole = exponent.floor();
    format!("{sign}{:.1}e{whole}", 10_f64.powf(exponent - whole))
}

fn limits(found: &Constants) -> [(&'static str, &Limit); 3] {
    [("L", &found.base), ("B", &found.side), ("A", &found.factor)]
}

fn to_text(name: &str, counts: &Counts, found: &Constants) -> String {
    let mut lines = vec![format!(
        "{name}: count(m,n) ~ A B^(m+n) L^(mn), from {} squares and {} boards one longer",
        counts.squares.len(),
        counts.oblongs.len()
    )];
    for (letter, limit) in limits(found) {
        let (digits, error) = limit.decimal();
        let (held, all) = limit.trials;
        lines.push(format!(
            "  {letter}  {digits:<26} +- {error}   (column {} of the epsilon table; {held} of {all} estimates from fewer counts had it within their bar)",
            2 * limit.column
        ));
    }
    lines.push("\nrelative error of the formula: count / formula - 1".to_owned());
    lines.push("   n  n x n      n x (n+1)".to_owned());
    for (n, (square, oblong)) in (1..).zip(&found.errors) {
        let oblong = oblong.as_ref().map(shown).unwrap_or_default();
        lines.push(format!("{n:>4}  {:<9}  {oblong}", shown(square)).trim_end().to_owned());
    }
    if name == "go" {
        let bounds = theorem(counts);
        let holds = bounds.iter().all(|(.., holds)| *holds);
        let sides: Vec<String> = bounds.iter().map(|(n, _)| format!("{n}x{n}")).collect();
        lines.push(format!(
            "\ntheorem 3 (its bounds on both sides) {} at {}",
            if holds { "holds" } else { "FAILS" },
            sides.join(", ")
        ));
    }
    lines.join("\n")
}

/// Whether the bounds of theorem 3 hold at the squares that they are for.
fn theorem(counts: &Counts) -> Vec<(u32, bool)> {
    let holds = |(n, count): (u32, &Integer)| {
        let (low, high) = theorem_3(n, n)?;
        Some((n, low <= *count && *count <= high))
    };
    (1..).zip(&counts.squares).filter_map(holds).collect()
}

fn to_json(name: &str, counts: &Counts, found: &Constants) -> Value {
    let limit = |limit: &Limit| {
        let (digits, error) = limit.decimal();
        json!({ "value": digits, "error": error, "trials_held": limit.trials.0, "trials": limit.trials.1 })
    };
    let errors = (1..)
        .zip(&found.errors)
        .map(|(n, (square, oblong))| json!({ "n": n, "square": shown(square), "oblong": oblong.as_ref().map(shown) }));
    let mut value = json!({
        "problem": name,
        "squares": counts.squares.len(),
        "oblongs": counts.oblongs.len(),
        "L": limit(&found.base),
        "B": limit(&found.side),
        "A": limit(&found.factor),
        "relative_errors": errors.collect::<Vec<Value>>(),
    });
    if name == "go" {
        value["theorem_3"] = theorem(counts).iter().map(|(n, holds)| json!({ "n": n, "holds": holds })).collect();
    }
    value
}
