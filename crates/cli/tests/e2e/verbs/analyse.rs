//! `keima analyse`: recurrences and growth of known series, far terms, and files that are refused.

use std::io::Write;

use crate::harness::process::keima;

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

#[test]
fn far_terms_are_those_that_are_counted() {
    let numbers = series();
    let fiftieth = numbers.lines().find_map(|line| line.strip_prefix("50 ")).unwrap().to_owned();
    assert_eq!(keima(&["analyse", "go", "3", "--term", "50", "--quiet"]).ok(), fiftieth);
    let modulo = |modulus: &str| {
        keima(&["analyse", "go", "3", "--term", "1000000", "--modulo", modulus, "--quiet"]).ok().to_owned()
    };
    let digits = keima(&["analyse", "go", "3", "--term", "1000000", "--digits", "--quiet"]).ok().to_owned();
    // A prime takes a way of its own; 10^50 and 10 the lifted recurrence.
    assert!(digits.contains("last    ") && digits.ends_with(&modulo("10")), "{digits}");
    let by_prime: u128 = modulo("1000003").parse().unwrap();
    let by_both: u128 = modulo("10000030").parse().unwrap();
    assert_eq!(by_both % 1_000_003, by_prime);
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
    let changed = with(&|own| own[29] = own[29].replace('1', "2"));
    for (text, with_problem, code, expected) in [
        (good.clone(), false, 0, "order              19"),
        (good.clone(), true, 0, "order              19"),
        (with(&|own| drop(own.remove(9))), false, 2, "line 10: expected n = 10, got n = 11"),
        (with(&|own| own[4] = "5 x".to_owned()), false, 2, "line 5: expected `n a(n)`"),
        (with(&|own| drop(own.remove(0))), true, 2, "line 1: expected the first index 1, got 2"),
        (changed.clone(), true, 3, "line 30: expected a(30) ="),
        (changed, false, 2, "no recurrence of order up to"),
        (with(&|own| own.truncate(30)), true, 2, "12 more terms are needed (42 in all"),
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
fn what_cannot_be_analysed_says_why() {
    for (words, expected) in [
        ("analyse", "required"),
        ("analyse go", "a height is missing"),
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
