//! `keima analyse`: recurrences and growth of known series, far terms, and files that are refused.

use std::io::Write;

use keima_analyse::Integer;

use crate::harness::process::{LIMIT, command, keima};

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// The first numbers of go boards of height 3, by `keima count`.
fn series() -> String {
    keima(&["count", "go", "3x60", "--series", "--format", "bfile", "--quiet"]).ok().to_owned() + "\n"
}

#[test]
fn a_recurrence_and_its_growth() {
    let json = keima(&["analyse", "go", "3", "--json", "--quiet"]).json();
    assert_eq!((json["order"].as_u64(), json["terms_used"].as_u64()), (Some(19), Some(38)));
    assert_eq!(json["recurrence"].as_array().map(Vec::len), Some(19));
    assert!(json["terms_verified"].as_u64() >= Some(4), "{json}");
    // Table 2 of the paper has 0.766924623726251586... and 2.94126554434869... for the cube root.
    let text = |name: &str| json["growth"][name].as_str().unwrap_or_default().to_owned();
    assert!(text("a").starts_with("0.7669246237262515") && text("a").len() > 50, "{json}");
    assert!(text("lambda_root").starts_with("2.94126554434869"), "{json}");
    assert_eq!(json["growth"]["is_proved"].as_bool(), Some(true));
}

#[test]
fn formats_hold_the_recurrence() {
    for (format, expected) in [
        ("text", "L(n) = 3 L(n-1) - L(n-2) + L(n-3)"),
        ("csv", "i,coefficient\n1,3\n2,-1\n3,1"),
        ("gp", "Q = 1 - 3*x + x^2 - x^3;"),
        ("latex", "$L(n) = 3\\,L(n-1) - L(n-2) + L(n-3)$"),
        ("sympy", "Q = Poly([-1, 1, -3, 1], x)"),
        ("json", r#""characteristic_polynomial":"x^3 - 3*x^2 + x - 1""#),
    ] {
        let ran = keima(&["analyse", "go", "1", "--format", format, "--quiet"]);
        assert!(ran.ok().contains(expected), "{format}: {ran:#?}");
    }
}

/// What `count` prints goes into standard input of `analyse`, whose recurrence is that of the problem itself.
#[test]
fn series_of_count_are_analysed_from_standard_input() {
    let own = keima(&["analyse", "go", "3", "--json", "--quiet"]).json();
    for format in ["json", "bfile"] {
        let printed = keima(&["count", "go", "3x60", "--series", "--format", format, "--quiet"]);
        let mut analyse = assert_cmd::Command::from_std(command(&["analyse", "--from", "-", "--json", "--quiet"]));
        let output = analyse.write_stdin(printed.ok()).timeout(LIMIT).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}: {output:?}");
        let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&read["order"], &read["recurrence"]), (&own["order"], &own["recurrence"]), "{format}");
        assert_eq!((read["terms_given"].as_u64(), read["first_index"].as_u64()), (Some(60), Some(1)), "{format}");
        assert_eq!(read["growth"]["lambda"], own["growth"]["lambda"], "{format}");
    }
}

#[test]
fn far_terms_are_those_that_are_counted() {
    let numbers = series();
    let fiftieth = numbers.lines().find_map(|line| line.strip_prefix("50 ")).unwrap().to_owned();
    assert_eq!(keima(&["analyse", "go", "3", "--term", "50", "--quiet"]).ok(), fiftieth);
    let modulo = |modulus: &str| {
        keima(&["analyse", "go", "3", "--term", "1000000", "--modulo", modulus, "--quiet"]).ok().to_owned()
    };
    let digits = keima(&["analyse", "go", "3", "--term", "1000000", "--digits", "--quiet"]).ok().to_owned();
    // A product of different primes, such as 10, takes a way of its own; 10^50 and what 4 divides the lifted recurrence.
    assert!(digits.contains("last    ") && digits.ends_with(&modulo("10")), "{digits}");
    let by_prime: u128 = modulo("1000003").parse().unwrap();
    let by_primes: u128 = modulo("10000030").parse().unwrap();
    let lifted: u128 = modulo("4000012").parse().unwrap();
    assert_eq!((by_primes % 1_000_003, lifted % 1_000_003), (by_prime, by_prime));
    assert_eq!(by_primes % 2, lifted % 2);
}

/// 0.95^1000 is 5e-23: a lambda^n alone has 22 right digits there.
#[test]
fn first_digits_are_right_where_the_second_root_is_close_to_the_largest() {
    let power = |base: u32, n: u32| Integer::from(Integer::u_pow_u(base, n));
    let series = |term: &dyn Fn(u32) -> Integer, terms: u32| {
        file(&(0..terms).fold(String::new(), |text, n| format!("{text}{n} {}\n", term(n))))
    };
    let close = series(&|n| power(20, n) + power(19, n), 30);
    let path = close.path().to_str().unwrap();
    for n in [50, 1000, 1500, 3000, 60_000] {
        let term = (power(20, n) + power(19, n)).to_string();
        let expected = format!("digits  {}\nfirst   {}\nlast    {}", term.len(), &term[..50], &term[term.len() - 50..]);
        let ran = keima(&["analyse", "--from", path, "--term", &n.to_string(), "--digits", "--quiet"]);
        assert_eq!(ran.ok(), expected, "{n}");
    }
    // Powers of ten lie between the bounds of a lambda^n, which agree in no digit of them.
    let tens = series(&|n| power(10, n), 12);
    let path = tens.path().to_str().unwrap();
    let ran = keima(&["analyse", "--from", path, "--term", "5000", "--digits", "--quiet"]);
    assert_eq!(ran.ok(), format!("digits  5001\nfirst   1{}\nlast    {}", "0".repeat(49), "0".repeat(50)));
    // Other roots of an order above 400 are not bounded: what is too long to be written out is refused.
    let unbounded = series(&|n| power(10, n) + u32::from(n % 400 == 0), 900);
    let path = unbounded.path().to_str().unwrap();
    let ran = keima(&["analyse", "--from", path, "--term", "1000000000", "--digits", "--quiet"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("are not certain: other roots"), "{ran:#?}");
}

/// Recurrences whose growth cannot be told have terms all the same, of either sign.
#[test]
fn exact_terms_need_no_growth() {
    let power = |base: u32, n: u32| Integer::from(Integer::u_pow_u(base, n));
    let check = |words: &[&str], expected: &str| {
        let ran = keima(&[&["analyse", "--quiet"], words].concat());
        assert_eq!(ran.ok(), expected, "{words:?}");
    };
    check(&["grid-cycles", "2", "--term", "100"], "4950");
    check(&["grid-cycles", "2", "--term", "18446744073709551615"], "170141183460469231704017187605319778305");
    check(&["grid-cycles", "1", "-o", "hamiltonian", "--term", "100"], "0");
    for (name, term) in [
        ("n^2", &(|n| Integer::from(n) * n) as &dyn Fn(u32) -> Integer),
        ("n mod 3", &|n| (n % 3).into()),
        ("0", &|_| Integer::new()),
        ("1000^n + 999^n", &|n| power(1000, n) + power(999, n)),
        ("-3^n", &|n| -power(3, n)),
        ("2^n 10^100 + 3^n", &|n| power(2, n) * power(10, 100) + power(3, n)),
    ] {
        let file = file(&(0..30).fold(String::new(), |text, n| format!("{text}{n} {}\n", term(n))));
        let path = file.path().to_str().unwrap();
        for n in [29, 100, 1234] {
            let expected = term(n).to_string();
            check(&["--from", path, "--term", &n.to_string()], &expected);
            let digits = keima(&["analyse", "--from", path, "--term", &n.to_string(), "--digits", "--quiet"]);
            let number = format!("digits  {}\n", expected.trim_start_matches('-').len());
            assert!(digits.ok().starts_with(&number), "{name}, {n}: {digits:#?}");
        }
    }
    // Numbers of digits beyond 2^63 and 2^64, by another program.
    for (height, n, digits) in
        [("5", "9000000000000000000", "21174648537478615826"), ("3", "18446744073709551615", "25928793390645050148")]
    {
        let ran = keima(&["analyse", "go", height, "--term", n, "--digits", "--quiet"]);
        assert!(ran.ok().starts_with(&format!("digits  {digits}\n")), "{ran:#?}");
    }
}

#[test]
fn terms_are_printed_as_json() {
    for (words, expected) in [
        ("go 1 --term 5", r#"{"series": "go 1", "n": "5", "term": "113"}"#),
        ("go 1 --term 5 --modulo 10", r#"{"series": "go 1", "n": "5", "residue": "3", "modulus": "10"}"#),
        ("go 1 --term 5 --digits", r#"{"series": "go 1", "n": "5", "digits": "3", "first": "113", "last": "113"}"#),
    ] {
        let mut expected: serde_json::Value = serde_json::from_str(expected).unwrap();
        for format in ["--json", "--format=json"] {
            let line = format!("analyse {words} {format} --quiet");
            let got = keima(&line.split(' ').collect::<Vec<_>>()).json();
            expected["program"] = got["program"].clone();
            assert_eq!(got, expected, "{words}");
        }
    }
}

#[test]
fn what_is_said_of_a_recurrence_is_true_of_it() {
    for (words, expected) in [
        ("grid-cycles 1", "no growth: all terms from n = 1 on are 0"),
        ("grid-cycles 1", "recurrence\nL(n) = 0\n"),
        ("grid-cycles 1 --json", r#""growth":null"#),
        ("grid-cycles 1 --format latex", "$L(n) = 0$"),
        ("grid-cycles 2", "does not settle to 80 digits"),
        ("grid-paths 3 -o hamiltonian", "grid-paths 3 -o hamiltonian\n"),
        ("grid-paths 3 -o hamiltonian", "L(n) = 2 L(n-1), n >= 3"),
        ("grid-paths 3 -o hamiltonian --json", r#""holds_from":3"#),
        ("grid-paths 3 -o hamiltonian --json", r#""series":"grid-paths 3 -o hamiltonian""#),
        ("grid-paths 3 -o hamiltonian --format latex", "% grid-paths 3 -o hamiltonian\n"),
        ("grid-paths 3 -o hamiltonian --format latex", "$L(n) = 2\\,L(n-1), n \\ge 3$"),
    ] {
        let line: Vec<&str> = ["analyse", "--quiet"].into_iter().chain(words.split(' ')).collect();
        let ran = keima(&line);
        assert!(ran.ok().contains(expected), "{words}, {expected}: {ran:#?}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let good = series();
    let lines: Vec<&str> = good.lines().collect();
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut own: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        change(&mut own);
        own.join("\n")
    };
    let late = "# comment\n".to_owned() + &with(&|own| own[49] = own[49].replace('1', "2"));
    let early = with(&|own| own[5] = own[5].replace('1', "2"));
    let entry = |line: &str| line.split_once(' ').map(|(n, term)| format!(r#"{{"index":{n},"count":"{term}"}}"#));
    let entries: Vec<String> = late.lines().skip(1).filter_map(entry).collect();
    let late_json = format!(r#"{{"series":[{}]}}"#, entries.join(","));
    let changed = with(&|own| own[29] = own[29].replace('1', "2"));
    for (text, with_problem, code, expected) in [
        (good.clone(), false, 0, "order              19"),
        (good.clone(), true, 0, "order              19"),
        (with(&|own| drop(own.remove(9))), false, 2, "line 10: expected n = 10, got n = 11"),
        (with(&|own| own[4] = "5 x".to_owned()), false, 2, "line 5: expected `n a(n)`"),
        (with(&|own| drop(own.remove(0))), true, 2, "line 1: expected the first index 1, got 2"),
        (changed.clone(), true, 3, "line 30: expected a(30) ="),
        (changed, false, 2, "no recurrence of order up to"),
        (late, false, 2, "order 19, which the 49 terms before verify, fails at n = 50 (line 51)"),
        (early, false, 0, "the term at n = 6 (line 6): all later ones follow a recurrence of order 19"),
        (late_json, false, 2, "fails at n = 50 (entry 50 of `series`)"),
        (with(&|own| own.truncate(30)), true, 2, "12 more terms are needed (42 in all"),
        (with(&|own| own.truncate(30)), true, 2, "agree with a count of their own, but are too few"),
        (
            with(&|own| own.reverse()),
            false,
            2,
            "line 2: expected n = 61, got n = 59: the terms stand in the order of n",
        ),
        (format!("\u{feff}{good}"), true, 0, "order              19"),
        (with(&|own| own.truncate(30)), false, 2, "more terms"),
        (String::new(), false, 2, "got no term"),
    ] {
        let file = file(&text);
        let path = file.path().to_str().unwrap();
        let problem: &[&str] = if with_problem { &["go", "3"] } else { &[] };
        let ran = keima(&[&["analyse"][..], problem, &["--from", path, "--quiet"]].concat());
        let said = if code == 0 { &ran.stdout } else { &ran.stderr };
        assert!(ran.code == Some(code) && said.contains(expected), "{expected}: {ran:#?}");
    }
}

#[test]
fn fractions_are_printed_and_have_no_further_terms() {
    let file = file("1 64\n2 32\n3 16\n4 8\n5 4\n6 2\n7 1\n");
    let path = file.path().to_str().unwrap();
    for (words, code, expected) in [
        (&[][..], 0, "c1 = 1/2: no series of integers goes on that way"),
        (&[], 0, "no growth: coefficient 1 of the recurrence is 1/2"),
        (&["--format", "csv"], 0, "1,1/2"),
        (&["--format", "gp"], 0, "P = 128*x;\nQ = 2 - x;"),
        (&["--format", "sympy"], 0, ") / q[0])"),
        (&["--json"], 0, r#""recurrence":["1/2"]"#),
        (&["--term", "5"], 0, "4"),
        (&["--term", "8"], 2, "coefficient 1 of its recurrence is 1/2; no series"),
        (&["--term", "8", "--modulo", "7"], 2, "there is no term beyond the file"),
    ] {
        let ran = keima(&[&["analyse", "--from", path, "--quiet"], words].concat());
        let said = if code == 0 { &ran.stdout } else { &ran.stderr };
        assert!(ran.code == Some(code) && said.contains(expected), "{words:?}, {expected}: {ran:#?}");
    }
}

#[test]
fn what_cannot_be_analysed_says_why() {
    for (words, expected) in [
        ("analyse", "required"),
        ("analyse go", "a height is missing"),
        ("analyse foo", "there is no problem called \"foo\""),
        ("analyse 5", "a height stands behind its problem: keima analyse go 3"),
        ("analyse quoridor-fences 3", "that is no series of numbers"),
        ("analyse knight 4 -o closed", "grid-cycles, grid-paths and hard-squares"),
        ("analyse grid-cycles 3 -o hamiltonian", "may follow one all the same"),
        ("analyse go 3 --svg x.svg", "--constants --svg"),
        ("analyse go 3 --format csv --modulo 7", "--term"),
        ("analyse go 3 --term 5 --format csv", "text or JSON"),
        ("analyse go --constants --digits", "--term"),
        ("analyse go 3x3", "whole number"),
        ("analyse go 30", "at most 21"),
        ("analyse knight 4 -o closed", "expected a series"),
        ("analyse go 3 --terms 20", "allow more --terms"),
        ("analyse go 3 --term 0", "begins at n = 1"),
        ("analyse go 3 --term 5 --modulo x", "expected a whole number from 1 on"),
        ("analyse go 3 --lift never --format gp", "needs the coefficients"),
        ("analyse --from /nonexistent", "cannot read"),
    ] {
        let ran = keima(&words.split(' ').collect::<Vec<_>>());
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{words}: {ran:#?}");
    }
}
