#!/usr/bin/env bash
# Libraries: gmpy2 2.3.2 (GMP), python-flint 0.9.0 (FLINT), cypari 2.5.7 (PARI/GP).
# Guess:   `1 113`, a line of a b-file with index and value, is no number: reading it as one is an error, as in Python.
# Happens: all three drop the space and say 1113; GMP and FLINT drop line ends as well. PARI's readvec(), which reads a file
#          with an expression in each line, reads a whole b-file so, without a word.
# Matters: index and value become one number with the right last digits. Split lines before any of these sees them, and never
#          take "it parsed" for a check. A number that an editor broke over two lines is mended silently, too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
  'gmpy2==2.3.2' 'python-flint==0.9.0' 'cypari==2.5.7'
printf '1 113\n2 35117\n3 8180343\n' > "$work/b.txt"
"$work/venv/bin/python" - "$work/b.txt" <<'PY'
import sys
import flint, gmpy2
from cypari import pari

def refused(read, text):
    try:
        return read(text)
    except ValueError:
        return None

for name, read, text, expected in (
    ("Python int", int, "1 113", None),
    ("gmpy2.mpz", gmpy2.mpz, "1 113", 1113),
    ("gmpy2.mpq", gmpy2.mpq, "1 / 3 4", gmpy2.mpq(1, 34)),
    ("flint.fmpz", flint.fmpz, "1 113", 1113),
    ("PARI", pari, "1 113", 1113),
    ("Python int", int, "103919\n148791", None),
    ("gmpy2.mpz", gmpy2.mpz, "103919\n148791", 103919148791),
    ("flint.fmpz", flint.fmpz, "103919\n148791", 103919148791),
):
    seen = refused(read, text)
    print(f"{name:11} reads {text!r} as {'no number' if seen is None else seen}")
    assert seen == expected, f"changed: expected {expected}"
vector = [int(value) for value in pari(f'readvec("{sys.argv[1]}")')]
print(f"PARI's readvec of a b-file with 113, 35117, 8180343: {vector}")
assert vector == [1113, 235117, 38180343], "changed"
PY
