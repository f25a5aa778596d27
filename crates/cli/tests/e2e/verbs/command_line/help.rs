//! Every `--help` text: plain sentences, narrow lines, a description for each option, examples and exit codes.

use crate::harness::process::keima;

/// Widest line, in characters.
const WIDTH: usize = 120;
/// Longest sentence, in words.
const SENTENCE_WORDS: usize = 30;

/// Verbs that print no JSON, or whose verbs do.
const OTHERS: [&str; 5] = ["config", "completions", "man", "top", "plot"];
const VERBS: [&str; 21] = [
    "selftest",
    "doctor",
    "count",
    "estimate",
    "sample",
    "games",
    "coordinator",
    "worker",
    "submit",
    "problems",
    "jobs",
    "status",
    "watch",
    "pause",
    "resume",
    "cancel",
    "change",
    "result",
    "inspect",
    "verify",
    "analyse",
];

/// Whether a line describes an option, such as `-q, --quiet`.
fn is_option(line: &str) -> bool {
    line.starts_with(' ') && line.trim_start().strip_prefix('-').is_some_and(|rest| !rest.starts_with(' '))
}

/// Whether a line has a name and a text beside it: a command, an exit code, a problem.
fn is_entry(line: &str) -> bool {
    let text = line.trim_start();
    text.split_once("  ").is_some_and(|(name, _)| !name.contains(' '))
}

/// Whether a line begins a text of its own: an entry, an option, a value, an example, a heading.
fn begins(line: &str) -> bool {
    let text = line.trim_start();
    is_entry(line) || !line.starts_with(' ') || text.starts_with('-') || text.starts_with("keima ")
}

/// The texts of a help: lines that belong together are joined.
fn texts(help: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut in_paragraph = false;
    for line in help.lines() {
        // A paragraph begins at the margin and may go on there.
        let continues = in_paragraph && !line.starts_with(' ') && !is_entry(line);
        if line.trim().is_empty() || begins(line) && !continues {
            texts.push(String::new());
        }
        in_paragraph = !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        let text = texts.last_mut().unwrap();
        *text += " ";
        *text += line.trim();
    }
    texts.into_iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// What is not plain in a help: wide lines, long sentences, options without a description.
fn faults(help: &str) -> Vec<String> {
    let wide = help.lines().filter(|line| line.chars().count() > WIDTH).map(|line| format!("wide line: {line}"));
    let texts = texts(help);
    let sentences = texts.iter().flat_map(|text| text.split(". "));
    let long = sentences.filter(|sentence| sentence.split_whitespace().count() > SENTENCE_WORDS);
    let long = long.map(|sentence| format!("long sentence: {sentence}"));
    let lines: Vec<&str> = help.lines().take_while(|line| !line.starts_with("Example")).collect();
    let next = |index: usize| lines.get(index + 1).copied().unwrap_or("");
    let undescribed = lines.iter().enumerate().filter(|(index, line)| {
        let beside = line.trim().contains("  ");
        let below = !next(*index).trim().is_empty() && !is_option(next(*index));
        is_option(line) && !beside && !below
    });
    let undescribed = undescribed.map(|(_, line)| format!("no description: {line}"));
    wide.chain(long).chain(undescribed).collect()
}

#[test]
fn faults_are_found() {
    let long = "word ".repeat(SENTENCE_WORDS + 1);
    let half = "word ".repeat(20);
    let halves = format!("{}.\n{}\n", half.trim(), half.trim());
    for (help, expected) in [
        ("Counts\n\nOptions:\n      --json  Print JSON\n".to_owned(), &[][..]),
        (format!("{}\n", "w".repeat(WIDTH)), &[]),
        (format!("{}\n", "w".repeat(WIDTH + 1)), &["wide line"]),
        (format!("Options:\n  --json\n    {}\n    {}\n", &long[..60], &long[60..]), &["long sentence"]),
        (format!("{}\n{}\n", &long[..60], &long[60..]), &["long sentence"]),
        (halves, &[]),
        (format!("one  {half}\ntwo  {half}\n"), &[]),
        ("Options:\n      --json\n      --quiet  Be quiet\n".to_owned(), &["no description"]),
        ("Options:\n      --json\n\n  -q, --quiet\n          Be quiet\n".to_owned(), &["no description"]),
    ] {
        let found = faults(&help);
        let same = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.starts_with(e));
        assert!(same, "{help}\n{found:?}");
    }
}

#[test]
fn every_help_text_is_plain() {
    let names: Vec<String> = keima(&["problems", "--json"]).json()["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.len() > 5, "{names:?}");
    let helps = VERBS.iter().chain(&OTHERS).flat_map(|verb| [vec![*verb, "--help"], vec![*verb, "-h"]]);
    let problems = names.iter().map(|name| vec!["problems", name.as_str()]);
    let all = [vec!["--help"], vec!["-h"], vec!["help"], vec!["problems"]].into_iter().chain(helps);
    for args in all {
        let ran = keima(&args);
        let found = faults(ran.ok());
        assert!(found.is_empty(), "keima {args:?}:\n{}", found.join("\n"));
    }
    for args in problems {
        let ran = keima(&args);
        let wide: Vec<&str> = ran.ok().lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(wide.is_empty(), "keima {args:?}:\n{}", wide.join("\n"));
    }
}

#[test]
fn help_has_examples_exit_codes_and_json() {
    let top = keima(&["--help"]);
    for verb in VERBS {
        assert!(top.ok().contains(verb), "{verb}");
        let help = keima(&[verb, "--help"]);
        for text in ["Example", &format!("keima {verb}"), "Exit codes", "--json"] {
            assert!(help.ok().contains(text), "keima {verb} --help: no {text:?}: {}", help.stdout);
        }
    }
    assert!(top.ok().contains("Exit codes"));
    assert!(keima(&["--version"]).ok().starts_with("keima "));
}
