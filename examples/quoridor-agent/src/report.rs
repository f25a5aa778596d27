//! Matches as tables and as JSON, beside what Mertens printed.

use std::io::{self, Write};

use keima_model::mix::{GOLDEN, finalise};
use serde_json::{Value, json};

use crate::args::{MatchArgs, SingleMatchArgs};
use crate::contest::{Plan, Series, series};
use crate::features::{Features, WEIGHTS};
use crate::published::{Half, MATCHES, PLIES, QUOTED_BRANCHING, QUOTED_PLIES};
use crate::statistics::{Sample, fisher, wilson};

/// Results are said to differ where chance makes such a difference less often.
const RARE: f64 = 0.01;

/// What the paper does not say, and what is done here.
const ASSUMED: &str = "\
Not told in the paper, and assumed here:
- Max is the player who searches (`--max starter`: who began the game), for f1 and f2 too; depth 2 is one move of each.
- Each leaf has a random number of its own (`--noise move`: each move instead). So ties do not occur; if they did, the first
  move would be taken: pawn before fences, by row, column and direction, the horizontal one first.
- A won position is worth more than any features, and the search ends there.
- Steps of f3 and f4 are a pawn's without jumps; the other pawn does not block them.
- A jump is diagonal only where a fence or the edge stands behind the other pawn, and then to both sides.
- The agent walks when all 20 fences are placed (`--walk own`: its own 10; `--walk never`: it searches on); a random number
  decides between equally short ways.
- Games that are left out are replaced until each side has started half of the games.
- The generator is SplitMix64.";

/// Games with one starter, with what he printed, if he did.
struct Row {
    starter: String,
    other: String,
    series: Series,
    printed: Option<Half>,
}

impl Row {
    /// How likely chance makes the differences to what was printed: of wins, and of plies.
    fn chances(&self) -> Option<[f64; 2]> {
        let printed = self.printed?;
        let games = printed.wins.iter().sum();
        let plies = Sample::of(&self.series.plies)?;
        let wins = fisher((self.series.wins[0], self.series.games()), (printed.wins[0], games));
        Some([wins, plies.p_against(printed.plies, games)])
    }

    fn to_json(&self) -> Value {
        let plies = Sample::of(&self.series.plies);
        let mut value = json!({
            "starter": self.starter,
            "other": self.other,
            "starter_wins": self.series.wins[0],
            "other_wins": self.series.wins[1],
            "left_out": self.series.left_out,
            "starter_percent_interval_95": wilson(self.series.wins[0], self.series.games()),
            "plies_mean": plies.map(|plies| plies.mean),
            "plies_half_width_95": plies.map(|plies| plies.half_width()),
            "moves_mean": branching(&[self]),
        });
        if let (Some(printed), chances) = (self.printed, self.chances()) {
            value["printed"] = json!({
                "starter_wins": printed.wins[0],
                "other_wins": printed.wins[1],
                "plies_mean": printed.plies,
                "wins_p": chances.map(|chances| chances[0]),
                "plies_p": chances.map(|chances| chances[1]),
            });
        }
        value
    }
}

/// The average number of legal moves of a position.
fn branching(rows: &[&Row]) -> Option<f64> {
    let positions: u64 = rows.iter().map(|row| row.series.positions()).sum();
    let choices: u64 = rows.iter().map(|row| row.series.choices).sum();
    (positions > 0).then(|| choices as f64 / positions as f64)
}

/// Plays one half of a match; `number` gives it random numbers of its own.
fn half(args: &MatchArgs, starter: Features, other: Features, number: u64) -> Series {
    let cores = || std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    let plan = Plan {
        games: args.games / 2,
        most_plies: args.max_plies,
        threads: args.threads.unwrap_or_else(cores),
        seed: finalise(args.agent.seed ^ (number + 1).wrapping_mul(GOLDEN)),
    };
    eprintln!("{starter} against {other}: {} games", plan.games);
    series([&args.agent.player(starter), &args.agent.player(other)], plan)
}

/// All matches of the paper.
pub(crate) fn tables(args: &MatchArgs, out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<Row> = (0..)
        .zip(MATCHES)
        .map(|(number, printed)| Row {
            starter: format!("{} {}", printed.starter.name, printed.starter.features),
            other: format!("{} {}", printed.other.name, printed.other.features),
            series: half(args, printed.starter.features, printed.other.features, number),
            printed: Some(printed),
        })
        .collect();
    if args.json {
        return writeln!(out, "{}", to_json(args, &rows));
    }
    writeln!(out, "Table 2, weights, his and ours: {}", weights())?;
    writeln!(out, "\nTable 3, {}", conditions(args))?;
    print(&rows, out)?;
    summary(&rows, out)?;
    writeln!(out, "\n{ASSUMED}")
}

/// One match.
pub(crate) fn single_match(args: &SingleMatchArgs, out: &mut impl Write) -> io::Result<()> {
    let sides = [(args.one, args.other), (args.other, args.one)];
    let rows: Vec<Row> = (0..)
        .zip(sides)
        .map(|(number, (starter, other))| Row {
            starter: starter.to_string(),
            other: other.to_string(),
            series: half(&args.games, starter, other, number),
            printed: None,
        })
        .collect();
    if args.games.json {
        return writeln!(out, "{}", to_json(&args.games, &rows));
    }
    writeln!(out, "{}", conditions(&args.games))?;
    print(&rows, out)?;
    let wins = rows[0].series.wins[0] + rows[1].series.wins[1];
    let games = rows.iter().map(|row| row.series.games()).sum();
    writeln!(out, "{} wins {wins} of {games} games{}", args.one, interval(wins, games))?;
    if let Some(moves) = branching(&rows.iter().collect::<Vec<_>>()) {
        writeln!(out, "legal moves of a position: {moves:.1}")?;
    }
    Ok(())
}

fn weights() -> String {
    let all: Vec<String> = (1..).zip(WEIGHTS).map(|(number, weight)| format!("f{number} {weight}")).collect();
    all.join(", ")
}

fn conditions(args: &MatchArgs) -> String {
    format!(
        "depth {}, {} games a match, left out after {} plies, seed {}",
        args.agent.depth, args.games, args.max_plies, args.agent.seed
    )
}

/// An interval of the share of wins, as text.
fn interval(wins: u32, games: u32) -> String {
    wilson(wins, games).map_or(String::new(), |[low, high]| format!(" ({low:.0} to {high:.0} %)"))
}

fn print(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let titles = ["starter", "other", "his wins", "ours (95 % interval)", "p", "his plies", "ours", "p", "left out"];
    let mut lines = vec![titles.map(str::to_owned)];
    for row in rows {
        let [wins, games] = [row.series.wins[0], row.series.games()];
        let [his_wins, his_plies] = row.printed.map_or([String::new(), String::new()], |printed| {
            [format!("{} of {}", printed.wins[0], printed.wins.iter().sum::<u32>()), format!("{:.2}", printed.plies)]
        });
        let [wins_p, plies_p] = row.chances().map_or([String::new(), String::new()], |chances| chances.map(chance));
        let plies = Sample::of(&row.series.plies);
        let plies = plies.map_or(String::new(), |plies| format!("{:.2} +- {:.2}", plies.mean, plies.half_width()));
        let ours = format!("{wins} of {games}{}", interval(wins, games));
        let left_out = row.series.left_out.to_string();
        lines.push([
            row.starter.clone(),
            row.other.clone(),
            his_wins,
            ours,
            wins_p,
            his_plies,
            plies,
            plies_p,
            left_out,
        ]);
    }
    // Columns that say nothing are left out.
    let has_text = |column: usize| lines.iter().skip(1).any(|line| !line[column].is_empty());
    let columns: Vec<usize> = (0..titles.len()).filter(|&column| has_text(column)).collect();
    for line in &lines {
        let cell = |&column: &usize| {
            let width = lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
            format!("{:<width$}", line[column])
        };
        writeln!(out, "{}", columns.iter().map(cell).collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

fn chance(p: f64) -> String {
    let sign = if p < RARE { " *" } else { "" };
    if p < 0.001 { format!("<0.001{sign}") } else { format!("{p:.3}{sign}") }
}

/// The averages over all matches, and where his results differ.
fn summary(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let differing = |which: usize| rows.iter().filter(|row| row.chances().is_some_and(|p| p[which] < RARE)).count();
    let (wins, plies) = (differing(0), differing(1));
    let count = rows.len();
    writeln!(
        out,
        "* differs: by chance in fewer than 1 of 100 cases. Wins differ in {wins} of {count} rows, plies in {plies}."
    )?;
    let all: Vec<u32> = rows.iter().flat_map(|row| row.series.plies.iter().copied()).collect();
    if let Some(mean) = Sample::of(&all) {
        let (ours, half) = (mean.mean, mean.half_width());
        writeln!(
            out,
            "average plies of a game: ours {ours:.2} +- {half:.2}, his {PLIES:.2}, quoted by him {QUOTED_PLIES:.1}"
        )?;
    }
    if let Some(moves) = branching(&rows.iter().collect::<Vec<_>>()) {
        writeln!(out, "legal moves of a position: ours {moves:.1}, quoted by him {QUOTED_BRANCHING:.1}")?;
    }
    Ok(())
}

fn to_json(args: &MatchArgs, rows: &[Row]) -> Value {
    let all: Vec<u32> = rows.iter().flat_map(|row| row.series.plies.iter().copied()).collect();
    json!({
        "depth": args.agent.depth,
        "games": args.games,
        "most_plies": args.max_plies,
        "seed": args.agent.seed.to_string(),
        "weights": WEIGHTS,
        "rows": rows.iter().map(Row::to_json).collect::<Vec<_>>(),
        "plies_mean": Sample::of(&all).map(|mean| mean.mean),
        "moves_mean": branching(&rows.iter().collect::<Vec<_>>()),
    })
}
