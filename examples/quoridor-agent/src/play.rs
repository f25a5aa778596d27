//! A game against a human in the terminal. Boards, the agent's moves and the result go to standard output; questions and
//! what is wrong with an answer go to standard error. The end of the input ends the game.

use std::io::{self, BufRead, Read, Write};

use keima_problems::quoridor::game::{Game, Move};

use crate::args::{PlayArgs, Side};
use crate::board::draw;
use crate::contest::beginning;
use crate::notation;

/// Longest line that is read, in bytes.
const LONGEST: u64 = 1000;

const HELP: &str = "\
e2    the pawn goes to e2
e3h   a fence above e3 and f3
c4v   a fence at the right of c4 and c5
moves all legal moves
quit  ends the game, as the end of the input does";

/// Plays one game.
pub(crate) fn play(
    args: &PlayArgs,
    input: &mut impl BufRead,
    out: &mut impl Write,
    errors: &mut impl Write,
) -> io::Result<()> {
    let human = usize::from(args.side == Side::Second);
    let agent = args.agent.player(args.features);
    let mut random = args.agent.seed;
    let mut game = beginning();
    writeln!(errors, "seed {}; you are {}; help tells what to type", args.agent.seed, human + 1)?;
    loop {
        if game.turn() == human || game.winner().is_some() {
            show(&game, out)?;
        }
        if let Some(winner) = game.winner() {
            return writeln!(out, "{}", if winner == human { "you win" } else { "the agent wins" });
        }
        let next = if game.turn() == human {
            ask(&game, input, out, errors)?
        } else {
            let one = agent.choose(&game, &mut random);
            if let Some(one) = one {
                writeln!(out, "agent: {}", notation::write(one, game.side()))?;
            }
            one.and_then(|one| game.play(one).ok())
        };
        match next {
            Some(next) => game = next,
            None => return writeln!(errors, "the game ends here"),
        }
    }
}

fn show(game: &Game, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}fences in hand: {} and {}", draw(game), game.hand(0), game.hand(1))?;
    out.flush()
}

/// The position after the human's move; `None` where there will be none.
fn ask(
    game: &Game,
    input: &mut impl BufRead,
    out: &mut impl Write,
    errors: &mut impl Write,
) -> io::Result<Option<Game>> {
    loop {
        write!(errors, "your move: ")?;
        errors.flush()?;
        let Some(line) = line(input)? else {
            writeln!(errors)?;
            return Ok(None);
        };
        match line.trim() {
            "" => {}
            "quit" | "q" => return Ok(None),
            "help" | "?" => writeln!(errors, "{HELP}")?,
            "moves" => writeln!(out, "{}", list(game))?,
            text => match notation::read(text, game.side()).map_err(|error| error.to_string()) {
                Err(error) => writeln!(errors, "{error}")?,
                Ok(one) => match game.play(one) {
                    Ok(next) => return Ok(Some(next)),
                    Err(error) => writeln!(errors, "{} is not legal: {error}", notation::write(one, game.side()))?,
                },
            },
        }
    }
}

fn list(game: &Game) -> String {
    let moves: Vec<Move> = game.moves().map(|(one, _)| one).collect();
    moves.iter().map(|&one| notation::write(one, game.side())).collect::<Vec<_>>().join(" ")
}

/// The next line, or the first part of a very long one; `None` at the end of the input.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)?;
    if read as u64 == LONGEST && !bytes.ends_with(b"\n") {
        input.skip_until(b'\n')?;
    }
    Ok((read > 0).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}
