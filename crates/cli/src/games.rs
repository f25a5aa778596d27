//! `keima games`: games of Go on small boards, their graph, and Hamiltonian cycles.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use keima_games::cycle::{self, Checked};
use keima_games::{Degrees, GameGraph, Games, GraphFormat, MAX_POSITIONS, TooLarge, games_by_length};
use keima_sample::estimate;
use serde_json::{Value, json};

use crate::args::GamesArgs;
use crate::exit::{CHECK_FAILED, Failed};
use crate::sample::{plan, progress, relative_error, standard_error, tell, to_json};
use crate::terminal::output::{hand_over, print};

/// Searches for a cycle, each with another seed.
const ATTEMPTS: u32 = 20;
/// Most positions of a board whose games are counted at once.
const AT_ONCE: u64 = 15;
/// Longest board whose cycle is found at once.
const FOUND_AT_ONCE: u32 = 9;

impl From<TooLarge> for Failed {
    fn from(error: TooLarge) -> Self {
        Self::usage(error.to_string())
    }
}

/// What was asked for comes first: the exact number of games may take minutes. So the lines are printed one part after the
/// other.
pub(crate) fn games(args: &GamesArgs) -> Result<(), Failed> {
    let (height, length) = sides(&args.size)?;
    if args.hamiltonian {
        return hamiltonian(args, height, length);
    }
    let board = format!("{height}x{length}");
    let format = args.graph.as_deref().map(graph_format).transpose()?;
    let plan = args.runs.map(|runs| plan(runs, &args.random)).transpose()?;
    let degrees = Degrees::count(height, length)?;
    let has_few_positions = degrees.positions <= MAX_POSITIONS as u64;
    let asks = plan.is_some() || args.graph.is_some();
    let graph = if asks || has_few_positions { Some(GameGraph::new(height, length)?) } else { None };
    let show = |lines: Vec<String>| if args.json { Ok(()) } else { print(&lines.join("\n")) };
    if let (Some(graph), Some(path), Some(format)) = (&graph, &args.graph, format) {
        write_file(path, |out| keima_games::write(graph, format, out))?;
        tell(&args.random, format_args!("the graph is in {}", path.display()));
    }
    show(vec![
        format!("positions           {}", degrees.positions),
        format!("edges               {}", degrees.edges),
        format!("average out-degree  {:.3}", degrees.average()),
    ])?;
    let mut sampled = None;
    if let (Some(graph), Some(plan)) = (&graph, plan) {
        let estimate = estimate(&Games::new(graph), plan, progress(plan.runs, &args.random));
        show(vec![
            format!("estimated games     {:.2} +- {}", estimate.mean, standard_error(&estimate)),
            format!("  relative error    {}", relative_error(&estimate, 1, plan)),
        ])?;
        sampled = Some(to_json(&estimate, plan));
    }
    let lengths = graph.as_ref().filter(|_| has_few_positions).and_then(|graph| {
        if degrees.positions > AT_ONCE {
            tell(
                &args.random,
                format_args!("counting all games of {board}: seconds on 1x4, one to two minutes on 2x2"),
            );
        }
        games_by_length(graph)
    });
    if args.json {
        let mut json = json!({
            "board": board,
            "positions": degrees.positions.to_string(),
            "edges": degrees.edges.to_string(),
            "average_out_degree": degrees.average(),
            "games": lengths.as_ref().map(|lengths| lengths.iter().sum::<u64>().to_string()),
            "games_by_moves": lengths.as_ref().map(|lengths| lengths.iter().map(u64::to_string).collect::<Vec<_>>()),
        });
        if let Some(sampled) = sampled {
            json["estimate"] = sampled;
        }
        return print(&json.to_string());
    }
    let Some(lengths) = lengths else {
        return show(vec![
            "games               not counted: more than 64 positions; --runs estimates their number up to 12 points"
                .to_owned(),
        ]);
    };
    let mut lines = vec![format!("games               {}", lengths.iter().sum::<u64>()), "moves  games".to_owned()];
    lines.extend(lengths.iter().enumerate().map(|(moves, games)| format!("{moves:5}  {games}")));
    show(lines)
}

/// Both sides of a size such as `2x3`, the smaller one first.
fn sides(size: &str) -> Result<(u32, u32), Failed> {
    let sides = size.split_once(['x', 'X']).and_then(|(one, other)| Some((one.parse().ok()?, other.parse().ok()?)));
    let (one, other): (u32, u32) =
        sides.ok_or_else(|| Failed::usage(format!("games: expected a size such as 1x4 or 2x2, got {size:?}")))?;
    Ok((one.min(other), one.max(other)))
}

fn graph_format(path: &Path) -> Result<GraphFormat, Failed> {
    let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or("");
    GraphFormat::of_suffix(suffix).ok_or_else(|| {
        Failed::usage(format!("--graph {}: expected a name that ends in .graphml, .dot or .json", path.display()))
    })
}

fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<(), Failed> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    written.map_err(|error| Failed::other(format!("cannot write {}: {error}; choose another file", path.display())))
}

fn hamiltonian(args: &GamesArgs, height: u32, length: u32) -> Result<(), Failed> {
    if height != 1 || !(3..=cycle::MAX_LENGTH).contains(&length) {
        return Err(Failed::usage(format!(
            "--hamiltonian needs a board of 1x3 to 1x{}, got {height}x{length}: others have no such cycle, or none that \
             this search finds",
            cycle::MAX_LENGTH
        )));
    }
    if length > FOUND_AT_ONCE {
        tell(&args.random, format_args!("looking for a cycle of 1x{length}: up to a minute for 1x10, unknown beyond"));
    }
    let found = cycle::find(length, args.random.seed, ATTEMPTS).and_then(|cycle| cycle::to_text(&cycle));
    let text = found.ok_or_else(|| Failed::other("found no cycle; try another --seed"))?;
    // The file is what is checked, by the code of `keima verify`.
    let value: Value = serde_json::from_str(&text).map_err(|error| Failed::other(error.to_string()))?;
    let (subject, checks) = cycle::check(&value).map_err(|error| Failed::other(error.to_string()))?;
    if let Some(Checked { name, detail, .. }) = checks.iter().find(|check| !check.ok) {
        return Err(Failed::new(CHECK_FAILED, format!("{subject}: {name}: {detail}: the cycle is withheld")));
    }
    let Some(path) = &args.out else { return hand_over(text.trim_end()) };
    write_file(path, |out| out.write_all(text.as_bytes()))?;
    let told = |check: &Checked| json!({ "name": check.name, "ok": check.ok, "detail": check.detail });
    print(&if args.json {
        let checks: Vec<Value> = checks.iter().map(told).collect();
        json!({ "board": format!("1x{length}"), "file": path.display().to_string(), "checks": checks }).to_string()
    } else {
        let lines = checks.iter().map(|check| format!("  ok     {}: {}", check.name, check.detail));
        std::iter::once(format!("{}: {subject}", path.display())).chain(lines).collect::<Vec<_>>().join("\n")
    })
}
