#!/usr/bin/env bash
# Libraries: duckdb 2.0.1, pyarrow 26.0.1 (to look into the file without DuckDB, and to write decimals).
# Guess:   a HUGEINT, DuckDB's integer of 128 bits, keeps its digits in Parquet or is refused; if a type is lost there, then
#          the less common BIGNUM, which has no limit. A decimal of 76 digits is refused where DuckDB has none of that width.
# Happens: COPY writes HUGEINT as DOUBLE without a word: the 39 digits of Go's 9x9 become 17. BIGNUM becomes a string with all
#          digits. A decimal(76, 0) that pyarrow wrote is read as DOUBLE, too.
# Matters: which of the two types a column has, read_csv decides by its largest number: with one count of 40 digits or more
#          in the table all digits survive, without it they are lost. Cast counts to VARCHAR before COPY.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: 'duckdb==2.0.1' 'pyarrow==26.0.1'
cd "$work"
venv/bin/python - <<'PY'
from decimal import Decimal
import duckdb, pyarrow, pyarrow.parquet

NINE = 103919148791293834318983090438798793469
TEN = 96498428501909654589630887978835098088148177857

def through_parquet(numbers):
    """CSV, DuckDB, Parquet: the type that read_csv chose, the one in the file, and the first number that comes back."""
    with open("counts.csv", "w") as file:
        file.write("count\n" + "".join(f"{number}\n" for number in numbers))
    kind = duckdb.sql("select typeof(count) from 'counts.csv'").fetchall()[0][0]
    duckdb.sql("copy (from 'counts.csv') to 'counts.parquet'")
    stored = str(pyarrow.parquet.read_schema("counts.parquet").field(0).type)
    return kind, stored, str(duckdb.sql("select count from 'counts.parquet'").fetchall()[0][0])

for numbers, expected in (
    ([NINE], ("HUGEINT", "double", "1.0391914879129383e+38")),
    ([NINE, TEN], ("BIGNUM", "string", str(NINE))),
):
    seen = through_parquet(numbers)
    digits = " and ".join(str(len(str(number))) for number in numbers)
    print(f"numbers of {digits} digits: read_csv says {seen[0]}, Parquet has {seen[1]}, back comes {seen[2]}")
    assert seen == expected, f"changed: expected {expected}"

pyarrow.parquet.write_table(pyarrow.table({"c": pyarrow.array([Decimal(TEN)], pyarrow.decimal256(76))}), "wide.parquet")
same = pyarrow.parquet.read_table("wide.parquet")["c"][0].as_py() == TEN
kind, value = duckdb.sql("select typeof(c), c from 'wide.parquet'").fetchall()[0]
print(f"decimal(76, 0) of pyarrow: pyarrow reads it back exactly: {same}; DuckDB reads {kind} {value!r}")
assert same and (kind, value) == ("DOUBLE", float(TEN)), "changed"
PY
