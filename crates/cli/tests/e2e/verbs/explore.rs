//! `keima sample` and `keima games`, and what `keima verify` says of cycles.

use serde_json::Value;

use crate::harness::process::keima;

#[test]
fn games_are_counted_and_their_graph_written() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mark) in [("g.dot", "digraph"), ("g.graphml", "<graphml"), ("g.json", "keima-go-graph")] {
        let path = folder.path().join(name);
        let told = keima(&["games", "3x1", "--graph", path.to_str().unwrap(), "--json"]).json();
        assert_eq!((told["games"].as_str(), told["edges"].as_str()), (Some("907"), Some("42")), "{told}");
        assert!(std::fs::read_to_string(&path).unwrap().contains(mark), "{name}");
    }
    for args in [
        &["games", "5x5"][..],
        &["games", "x"],
        &["games", "1x3", "--graph", "g.png"],
        &["games", "2x2", "--hamiltonian"],
    ] {
        let ran = keima(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {ran:?}");
    }
}

#[test]
fn found_cycles_verify_and_changed_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cycle.json");
    let file = path.to_str().unwrap();
    keima(&["games", "1x6", "--hamiltonian", "--out", file]).ok();
    assert_eq!(keima(&["verify", file, "--json"]).json()["ok"], true);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"X.....\"", "\".X....\"")).unwrap();
    let ran = keima(&["verify", file]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    std::fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    assert_eq!(keima(&["verify", file]).code, Some(2));
}

/// The cycles that stand in the repository.
#[test]
fn stored_cycles_verify() {
    for length in [8, 9, 10] {
        let path = format!("{}/../../docs/results/go-cycle-1x{length}.json", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(keima(&["verify", &path, "--json"]).json()["ok"], true, "{path}");
    }
}

#[test]
fn samples_do_not_depend_on_threads() {
    let told = |threads: &str| keima(&["sample", "go", "25x25", "--runs", "20", "--threads", threads, "--json"]).json();
    let one = told("1");
    assert_eq!(one, told("3"));
    assert!(one["relative_error"].as_f64().is_some_and(|error| error > 0.0), "{one}");
    assert_eq!(keima(&["sample", "go", "1001x1001"]).code, Some(2));
}

/// One run does not tell its error.
#[test]
fn errors_are_told_where_they_are_known() {
    for (line, known) in [
        ("sample go 5x5 --runs 1", false),
        ("sample go 5x5 --runs 2", true),
        ("sample go 25x25 --runs 1", false),
        ("sample knight 3x3 --open --runs 9", false),
        ("games 1x3 --runs 1", false),
        ("games 1x3 --runs 9", true),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let text = keima(&args).ok().to_owned();
        assert_eq!(text.contains("+- unknown\n"), !known, "{line}: {text}");
        assert_eq!(text.contains(" %, one standard error of "), known, "{line}: {text}");
        let json = keima(&[&args[..], &["--json"]].concat()).json();
        let estimate = json.get("estimate").unwrap_or(&json);
        let (error, relative) = (&estimate["standard_error"], &estimate["relative_error"]);
        assert_eq!((error.is_string(), relative.is_f64()), (known, known), "{line}: {json}");
        assert_eq!((error.is_null(), relative.is_null()), (!known, !known), "{line}: {json}");
    }
}

/// The bound is that of the whole answer, the sum over all numbers of fences. Options are an object, as a count has them.
#[test]
fn a_mean_is_a_part_of_the_bound() {
    for (line, exact, options) in [
        ("quoridor 2", 28.0_f64, None),
        ("quoridor 4", 604_222.0, None),
        ("quoridor 4 --max-fences 2", 35_200.0, Some("2")),
        ("quoridor-fences 3x3 --max-fences 3", 661.0, Some("3")),
        ("go 5x5", 414_295_148_741.0, None),
    ] {
        let args = format!("sample {line} --runs 100 --json");
        let json = keima(&args.split(' ').collect::<Vec<_>>()).json();
        let part: f64 = json["fraction_of_bound"].as_str().unwrap().parse().unwrap();
        assert!(part > 0.0 && part <= 1.0, "{line}: {json}");
        assert!(json["bound_log10"].as_f64().is_some_and(|bound| bound >= exact.log10()), "{line}: {json}");
        assert_eq!(
            json.get("options").map(|options| &options["max-fences"]),
            options.map(Value::from).as_ref(),
            "{json}"
        );
    }
}

/// What was asked for comes before the count of all games, which is announced where it takes long.
#[test]
fn games_say_what_takes_long() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("g.dot");
    for (line, said) in [
        ("games 1x3 --runs 5", &[][..]),
        ("games 1x4 --runs 5 --graph @file", &["the graph is in ", "counting all games of 1x4"]),
        ("games 1x4 --runs 5 --graph @file --quiet", &[]),
    ] {
        let args: Vec<&str> =
            line.split(' ').map(|word| if word == "@file" { file.to_str().unwrap() } else { word }).collect();
        let ran = keima(&args);
        let place = |name: &str| ran.ok().lines().position(|line| line.starts_with(name));
        assert!(place("estimated games").is_some() && place("estimated games") < place("games  "), "{line}: {ran:?}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(lines.len(), said.len(), "{line}: {ran:?}");
        assert!(lines.iter().zip(said).all(|(line, said)| line.starts_with(said)), "{line}: {ran:?}");
    }
}
