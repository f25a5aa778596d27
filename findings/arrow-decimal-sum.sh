#!/usr/bin/env bash
# Library: pyarrow 26.0.1, decimals of 128 and 256 bits.
# Guess:   the sum of decimals that does not fit raises, or has a wider type: add() raises, and sum() does widen decimal(2) to
#          decimal(38).
# Happens: the sum of a decimal128(38) wraps: twice 99...9 is -140282366920938463463374607431768211458, of 39 digits in a type
#          that has 38. The same in group_by().aggregate(), and at 76 digits. Five times 8e37 wraps to a positive number.
# Matters: the wrong sum keeps the type and may keep the sign and the size. Sums over border states reach 39 digits at Go 9x9.
#          Cast to decimal256(76) before the sum, as the last line does, or sum Python's integers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: 'pyarrow==26.0.1'
"$work/venv/bin/python" - <<'PY'
from decimal import Decimal
import pyarrow as pa, pyarrow.compute as pc

def counts(number, times, kind):
    return pa.array([Decimal(number)] * times, kind)

narrow, wide = pa.decimal128(38), pa.decimal256(76)
nines = int("9" * 38)

try:
    pc.add(counts(nines, 1, narrow), counts(nines, 1, narrow))
    raise SystemExit("changed: add() of two decimals of 38 digits was expected to raise")
except pa.ArrowInvalid as error:
    print(f"add():   {error}")

for what, number, times, kind, expected in (
    ("wraps below 0", nines, 2, narrow, 2 * nines - 2**128),
    ("wraps to the wrong positive", 8 * 10**37, 5, narrow, 4 * 10**38 - 2**128),
    ("wraps at 76 digits", int("9" * 76), 20, wide, (20 * int("9" * 76) + 2**255) % 2**256 - 2**255),
):
    total = pc.sum(counts(number, times, kind))
    print(f"sum():   {times} x {number} = {total}: {what}")
    assert total.type == kind and total.as_py() == expected != number * times, f"changed: expected {expected} of {kind}"

table = pa.table({"key": [1, 1], "count": counts(nines, 2, narrow)})
grouped = table.group_by("key").aggregate([("count", "sum")])["count_sum"][0].as_py()
print(f"grouped: {grouped}")
assert grouped == 2 * nines - 2**128, "changed"
cast = pc.sum(counts(nines, 2, narrow).cast(wide)).as_py()
print(f"cast:    {cast}")
assert cast == 2 * nines, "changed"
PY
