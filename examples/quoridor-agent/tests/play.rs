//! The program as a user runs it: games by a scripted standard input, matches, and command lines that are refused.

use std::process::Output;

fn run(args: &[&str], input: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_quoridor-agent");
    let limit = std::time::Duration::from_secs(90);
    assert_cmd::Command::new(program).args(args).write_stdin(input).timeout(limit).output().unwrap()
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The start of the lines that name the agent's moves.
const AGENT: &str = "agent: ";

#[test]
fn answers_and_errors() {
    let first = ["play", "--seed", "7"];
    for (args, input, shown, told) in [
        (
            &first[..],
            "",
            &["  9  .   .   .   .   2   .", "fences in hand: 10 and 10"][..],
            &["seed 7", "your move: "][..],
        ),
        (&first, "help\nquit\n", &[], &["the pawn goes to e2", "the game ends here"]),
        (&first, "moves\n", &["d1 f1 e2 a1h a1v b1h"], &[]),
        (
            &first,
            "e3\n\nxyz\ne2\n",
            &[AGENT, "  2  .   .   .   .   1"],
            &["e3 is not legal: the pawn", "\"xyz\" is no move"],
        ),
        (&first, "e3h\n", &[AGENT, "                    -------", "fences in hand: 9 and"], &[]),
        (
            &first,
            "i1h\nj4\ne0v\n",
            &[],
            &["i1h is not legal: the fence would not lie", "\"j4\" is no move", "\"e0v\" is no"],
        ),
        (&["play", "--side", "second", "--depth", "1"], "q\n", &[AGENT, "fences in hand: "], &["you are 2"]),
    ] {
        let output = run(args, input);
        let (out, err) = texts(&output);
        assert!(output.status.success(), "{input:?}: {out}{err}");
        for text in shown {
            assert!(out.contains(text), "{input:?}: no {text:?} in\n{out}\n{err}");
        }
        for text in told {
            assert!(err.contains(text), "{input:?}: no {text:?} in\n{err}");
        }
        assert!(!input.is_empty() || !out.contains(AGENT), "the agent moved out of turn: {out}");
    }
    // A very long line is one answer.
    let (out, err) = texts(&run(&first, &("x".repeat(100_000) + "\ne2\n")));
    assert!(out.contains(AGENT) && err.matches("is no move").count() == 1, "{err}");
}

/// The human goes to and fro, and answers that are not legal are asked again. So the agent wins, and the last board has its
/// pawn in row 1.
#[test]
fn a_whole_game() {
    let input = "e2\ne1\nd1\nf1\n".repeat(300);
    let output = run(&["play", "--depth", "1", "--features", "f1+f2", "--seed", "3"], &input);
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{out}{err}");
    assert!(out.trim_end().ends_with("the agent wins"), "{out}\n{err}");
    let last = out.rsplit("     a   b").nth(1).unwrap();
    assert!(last.lines().any(|line| line.starts_with("  1") && line.contains('2')), "{out}");
    // The same seed, the same game.
    let again = run(&["play", "--depth", "1", "--features", "f1+f2", "--seed", "3"], &input);
    assert_eq!(again.stdout, output.stdout);
}

#[test]
fn matches_as_text_and_json() {
    let args = ["match", "f1+f2+f4", "f1+f2+f3", "--games", "4", "--depth", "1", "--seed", "9"];
    let (out, err) = texts(&run(&args, ""));
    for text in ["depth 1, 4 games a match", "seed 9", "starter", "legal moves of a position"] {
        assert!(out.contains(text), "no {text:?} in\n{out}{err}");
    }
    let output = run(&[&args[..], &["--json", "--threads", "1"]].concat(), "");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["seed"], "9");
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let number = |name: &str| row[name].as_u64().unwrap();
        assert_eq!(number("starter_wins") + number("other_wins"), 2, "{row}");
        assert!(row["plies_mean"].as_f64().unwrap() >= 16.0, "{row}");
    }
    // Other threads, the same games.
    let other = run(&[&args[..], &["--json", "--threads", "3"]].concat(), "");
    assert_eq!(other.stdout, output.stdout);
}

#[test]
fn tables_stand_beside_his() {
    let (out, err) = texts(&run(&["tables", "--games", "4", "--depth", "1"], ""));
    for text in
        ["f1 0.6, f2 0.6001, f3 14.45, f4 6.52", "27 of 50", "113.94", "his 96.85", "60.4", "Not told in the paper"]
    {
        assert!(out.contains(text), "no {text:?} in\n{out}{err}");
    }
    let output = run(&["tables", "--games", "4", "--depth", "1", "--json"], "");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["rows"][1]["printed"]["starter_wins"], 49);
    assert_eq!(json["rows"].as_array().unwrap().len(), 6);
}

/// The book's page shows what the program prints.
#[test]
fn the_page_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/problems/quoridor-agent.md");
    let page = std::fs::read_to_string(path).unwrap();
    let shown = page.split("-- tables\n```").nth(1).and_then(|rest| rest.split("```text\n").nth(1)).unwrap();
    let shown = shown.split("```").next().unwrap();
    let (out, _) = texts(&run(&["tables"], ""));
    assert_eq!(shown.trim_end(), out.split("\nNot told").next().unwrap().trim_end());
}

#[test]
fn wrong_command_lines_say_what_is_expected() {
    for (args, expected) in [
        (&["match", "f1", "f7"][..], "such as f1+f2+f4, got \"f7\""),
        (&["tables", "--games", "7"], "expected an even number"),
        (&["tables", "--depth", "0"], "1..=5"),
        (&["play", "--side", "third"], "first, second"),
    ] {
        let output = run(args, "");
        let (out, err) = texts(&output);
        assert!(output.status.code() == Some(2) && out.is_empty() && err.contains(expected), "{args:?}: {out}{err}");
    }
}
