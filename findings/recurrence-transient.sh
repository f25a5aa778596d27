#!/usr/bin/env bash
# Libraries: galois 0.4.11, passagemath-modules 10.8.13 (Sage's Berlekamp-Massey), sympy 1.14.0; python-flint 0.9.0 to compare.
# Guess:   all find the same shortest recurrence, and it holds for all terms that they were given.
# Happens: the first terms may stand outside the recurrence of the others, as 7 and 0 do before 1, 1, 2, 3, 5, 8. Only FLINT
#          says so: x^3 - x^2 - x, order 3. The other three say x^2 - x - 1, order 2, which would need 1 = 0 + 7. And of
#          1, 0, 0, 0, 0, 0 galois and Sage give the polynomial 1, a recurrence of order 0: all terms would be zero.
# Matters: Berlekamp and Massey's algorithm finds an order and a polynomial; these programs drop the order. Counts on a strip
#          often have such first terms. An order too small makes "2 r terms suffice" false, and a term computed from the first
#          r terms wrong: here the third term, from the first two, would be 7.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
  'galois==0.4.11' 'passagemath-modules==10.8.13' 'sympy==1.14.0' 'python-flint==0.9.0'
"$work/venv/bin/python" - <<'PY'
import warnings
warnings.simplefilter("ignore")
import flint, galois
from sage.all__sagemath_modules import *
from sage.matrix.berlekamp_massey import berlekamp_massey
from sympy.concrete.guess import find_simple_recurrence_vector

PRIME = 101

def symmetric(coefficients):
    """Residues next to zero, the highest power first."""
    return [(int(c) + PRIME // 2) % PRIME - PRIME // 2 for c in coefficients]

def by_flint(terms):
    ring = flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(PRIME))
    return symmetric(reversed(ring.minpoly(terms).coeffs()))

def by_galois(terms):
    return symmetric(galois.berlekamp_massey(galois.GF(PRIME)(terms)).coeffs)

def by_sage(terms):
    return symmetric(reversed(berlekamp_massey(terms).list()))

def by_sympy(terms):
    return symmetric(find_simple_recurrence_vector(terms))

def first_failure(polynomial, terms):
    """The first index at which the recurrence does not hold, or None."""
    order = len(polynomial) - 1
    for n in range(order, len(terms)):
        if sum(c * terms[n - i] for i, c in enumerate(polynomial)) % PRIME:
            return n
    return None

fibonacci, late, once = [0, 1, 1, 2, 3, 5, 8, 13], [7, 0, 1, 1, 2, 3, 5, 8, 13, 21], [1, 0, 0, 0, 0, 0]
for name, find, terms, expected, fails_at in (
    ("FLINT", by_flint, fibonacci, [1, -1, -1], None),
    ("galois", by_galois, fibonacci, [1, -1, -1], None),
    ("Sage", by_sage, fibonacci, [1, -1, -1], None),
    ("sympy", by_sympy, fibonacci, [1, -1, -1], None),
    ("FLINT", by_flint, late, [1, -1, -1, 0], None),
    ("galois", by_galois, late, [1, -1, -1], 2),
    ("Sage", by_sage, late, [1, -1, -1], 2),
    ("sympy", by_sympy, late, [1, -1, -1], 2),
    ("FLINT", by_flint, once, [1, 0], None),
    ("galois", by_galois, once, [1], 0),
    ("Sage", by_sage, once, [1], 0),
):
    polynomial = find(terms)
    failure = first_failure(polynomial, terms)
    print(f"{name:7} {str(terms):34} coefficients {str(polynomial):15} fails first at index {failure}")
    assert (polynomial, failure) == (expected, fails_at), f"changed: expected {expected}, failing at {fails_at}"
PY
