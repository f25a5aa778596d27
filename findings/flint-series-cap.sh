#!/usr/bin/env bash
# Library: python-flint 0.9.0, fmpz_series (power series over the integers).
# Guess:   fmpz_series(list, prec=40) is known up to x^39, and so is a quotient of two. A coefficient beyond what is known is an
#          error, as PARI's polcoef has it.
# Happens: the global flint.ctx.cap, 10 at the start, cuts what is computed: P/Q with prec=40 is known up to x^9, and so is a
#          series of 15 terms times 1. series[20] is then 0, not an error: for the Fibonacci numbers 0 instead of 6765.
# Matters: reading far terms off a generating function gives zeros, which are possible counts. Set flint.ctx.cap first, and ask
#          only below series.prec.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: 'python-flint==0.9.0'
"$work/venv/bin/python" - <<'PY'
import flint

def quotient():
    return flint.fmpz_series([0, 1], prec=40) / flint.fmpz_series([1, -1, -1], prec=40)

print(f"flint.ctx.cap at the start: {flint.ctx.cap}")
series = quotient()
print(f"x / (1 - x - x^2) with prec=40: {series}")
print(f"a(9) = {series[9]}, a(10) = {series[10]}, a(20) = {series[20]}")
assert (flint.ctx.cap, series[9], series[10], series[20]) == (10, 34, 0, 0), "changed"
listed = flint.fmpz_series(list(range(1, 16)))
print(f"15 terms without prec: a(9) = {listed[9]}, a(10) = {listed[10]}")
assert (listed[9], listed[10]) == (10, 0), "changed: the terms handed in are kept"
kept = flint.fmpz_series(list(range(1, 16)), prec=15)
print(f"15 terms with prec=15: a(10) = {kept[10]}; times 1: a(10) = {(kept * 1)[10]}")
assert (kept[10], (kept * 1)[10]) == (11, 0), "changed"
flint.ctx.cap = 40
print(f"with flint.ctx.cap = 40: a(20) = {quotient()[20]}")
assert quotient()[20] == 6765, "changed"
PY
