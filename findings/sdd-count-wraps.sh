#!/usr/bin/env bash
# Library: PySDD 1.0.6 (sentential decision diagrams; the SDD library in C under it).
# Guess:   model_count() and global_model_count() return a Python int, so they are exact, or they raise.
# Happens: they count in 64 bits and wrap. The parity of 65 variables has 2^64 models; PySDD finds one of them, and says 0.
# Matters: 0 is what a formula without models would have. The weighted count is right here, but is floating point. A count of
#          objects by a decision diagram needs an engine that counts in integers of any length, or residues modulo primes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: 'PySDD==1.0.6'
"$work/venv/bin/python" - <<'PY'
from pysdd.sdd import SddManager

def parity(size):
    """Whether an odd number of the variables is true."""
    manager = SddManager(var_count=size, auto_gc_and_minimize=False)
    formula = manager.literal(1)
    for variable in range(2, size + 1):
        one = manager.literal(variable)
        formula = (formula & ~one) | (~formula & one)
    return formula

for size, expected in ((63, 2**62), (64, 2**63), (65, 0), (66, 0)):
    formula = parity(size)
    model = next(iter(formula.models()))
    seen = formula.model_count(), formula.global_model_count()
    print(f"parity of {size} variables: {2 ** (size - 1)} models, PySDD says {seen[0]} and {seen[1]}")
    assert sum(model.values()) % 2 == 1, f"expected an odd number of ones, got {model}"
    assert seen == (expected, expected), f"changed: expected {expected} twice, got {seen}"
weighted = parity(65).wmc(log_mode=False).propagate()
print(f"weighted count of 65 variables: {weighted!r}")
assert weighted == float(2**64), f"changed: {weighted!r}"
PY
