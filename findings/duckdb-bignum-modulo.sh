#!/usr/bin/env bash
# Library: duckdb 2.0.1, its type BIGNUM for integers without limit.
# Guess:   BIGNUM % prime is exact, as HUGEINT % prime is, or an error says that there is no such operator.
# Happens: +, -, sum(), min(), max(), order and comparison are exact BIGNUM. *, %, // and abs() turn to DOUBLE without a word:
#          the remainder modulo a prime of 60 bits is below the prime, as it should be, and wrong.
# Matters: a residue is how one checks a count of 40 digits and more. The same query on a table of shorter counts, HUGEINT, is
#          right, so it passes its tests. typeof() shows the difference.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: 'duckdb==2.0.1'
"$work/venv/bin/python" - <<'PY'
import duckdb

PRIME = 1152921504606846883
NINE = 103919148791293834318983090438798793469
TEN = 96498428501909654589630887978835098088148177857

def ask(expression, number):
    """The type that the expression has for this number c, and whether the value is right."""
    right = eval(expression, {"c": number, "p": PRIME, "abs": abs, "sum": lambda c: c})
    kind, text = duckdb.sql(
        f"select typeof(any_value(v)), any_value(v)::varchar from "
        f"(select {expression.replace('p', str(PRIME))} as v from (select {number} as c))"
    ).fetchall()[0]
    print(f"{len(str(number))} digits, {expression:7} {kind:8} {text}" + ("" if text == str(right) else f", but it is {right}"))
    return kind, text == str(right)

for number, kind, inexact in ((NINE, "HUGEINT", ()), (TEN, "BIGNUM", ("c % p", "c // p", "c * 2", "abs(c)"))):
    for expression in ("c + 1", "c - p", "sum(c)", "c % p", "c // p", "abs(c)", "c * 2"):
        if number == NINE and expression == "c * 2":
            continue  # beyond 128 bits: an error, as it should be
        expected = ("DOUBLE", False) if expression in inexact else (kind, True)
        seen = ask(expression, number)
        assert seen == expected, f"changed: expected {expected}, got {seen}"
PY
