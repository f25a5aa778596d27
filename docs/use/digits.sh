#!/usr/bin/env bash
# Tries the table of docs/use/data.md: what keeps every digit of counts with up to 180, and what loses some, in the versions that
# the page names. Installs the packages into a temporary folder; programs that are missing are skipped aloud.
#   docs/use/digits.sh
# Exit code 0 means that all is as the page says. Needs python3 with venv, and pip's access to packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
golden=$PWD/tests/golden/go_legal_positions.csv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

install() { "$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$@"; }
python3 -m venv venv
install 'pandas==3.1.1' 'polars==2.1.0' 'pyarrow==26.0.1' 'duckdb==2.0.1' 'openpyxl==3.1.5'
install --target old 'duckdb==1.3.2'

# The published counts as `keima count` prints many sizes, and once with a size that has no number.
python3 - "$golden" <<'PY'
import csv, json, sys
lines = (line for line in open(sys.argv[1]) if not line.startswith("#"))
rows = [(f"{row['m']}x{row['n']}", row["count"]) for row in csv.DictReader(lines)]
rows.sort(key=lambda row: int(row[1]))
open("want.txt", "w").write("".join(count + "\n" for _, count in rows))
open("sizes.csv", "w").write("size,count,error\n" + "".join(f"{size},{count},\n" for size, count in rows))
short = [row for row in rows if len(row[1]) <= 19]
open("gap.csv", "w").write("size,count,error\n" + "".join(f"{size},{count},\n" for size, count in short) + "22x22,,no\n")
open("sizes.jsonl", "w").write("".join(json.dumps({"size": size, "count": count}) + "\n" for size, count in rows))
PY

cat > check.py <<'PY'
"""check(what, keeps, counts): whether all digits are there must be as the page says."""
WANT = open("want.txt").read().split()

def check(what, keeps, counts):
    try:
        got = [str(count) for count in counts()]
    except Exception as error:  # noqa: BLE001: a refusal loses nothing
        got = f"{type(error).__name__}"
    is_kept = got == WANT
    print(f"{what}: {'every digit' if is_kept else got if isinstance(got, str) else 'loses digits, ' + got[-1][:24]}")
    assert is_kept == keeps, f"{what}: changed: the page says {'keeps' if keeps else 'loses'}"
PY

venv/bin/python - <<'PY'
import csv, json
import pandas as pd, polars as pl, pyarrow, duckdb
from openpyxl import Workbook, load_workbook
from check import WANT, check

check("Python json", True, lambda: [int(json.loads(line)["count"]) for line in open("sizes.jsonl")])
check("Python csv", True, lambda: [int(row["count"]) for row in csv.DictReader(open("sizes.csv"))])
check("Python float", False, lambda: [int(float(count)) for count in WANT])

text = {"count": str}
check("pandas read_csv, str", True, lambda: pd.read_csv("sizes.csv", dtype=text)["count"])
check("pandas read_csv, pyarrow", False, lambda: pd.read_csv("sizes.csv", engine="pyarrow")["count"])
check("pandas read_json", False, lambda: pd.read_json("sizes.jsonl", lines=True)["count"])
gap = pd.read_csv("gap.csv")["count"]
print("pandas read_csv, one cell empty:", gap.dtype)
assert gap.dtype == "float64", "changed: an empty cell no longer makes all counts doubles"
exact = pd.read_csv("sizes.csv", dtype=text)["count"].map(int)
assert exact.sum() == sum(map(int, WANT)), "changed: a column of Python's integers does not add up exactly"

check("polars read_csv, String", True, lambda: pl.read_csv("sizes.csv", schema_overrides={"count": pl.String})["count"])
check("polars read_ndjson", True, lambda: pl.read_ndjson("sizes.jsonl")["count"])
check("polars read_csv", False, lambda: pl.read_csv("sizes.csv", infer_schema_length=None)["count"])
pl.read_csv("sizes.csv", schema_overrides={"count": pl.String}).write_parquet("sizes.parquet")
check("pandas reads Parquet of polars", True, lambda: pd.read_parquet("sizes.parquet")["count"])

def rows(query):
    return [row[0] for row in duckdb.sql(query).fetchall()]
check("DuckDB 2, VARCHAR", True, lambda: rows("select count from read_csv('sizes.csv', types={'count': 'VARCHAR'})"))
check("DuckDB 2, its own choice", True, lambda: rows("select count::varchar from 'sizes.csv'"))
check("DuckDB 2, product", False, lambda: rows("select (count::bignum * 1::bignum)::varchar from 'sizes.csv'"))
assert rows("select sum(count::bignum)::varchar from 'sizes.csv'") == [str(sum(map(int, WANT)))], "changed: sum"

for kind, keeps in ((str, True), (int, False)):
    book = Workbook()
    for count in WANT:
        book.active.append([kind(count)])
    book.save(f"{kind.__name__}.xlsx")
    check(f"openpyxl, {kind.__name__}", keeps, lambda: [cell.value for cell in load_workbook(f"{kind.__name__}.xlsx").active["A"]])
PY
PYTHONPATH=old venv/bin/python - <<'PY'
import duckdb
from check import check
of = lambda query: [row[0] for row in duckdb.sql(query).fetchall()]
assert duckdb.__version__ == "1.3.2", duckdb.__version__
check("DuckDB 1.3, VARCHAR", True, lambda: of("select count from read_csv('sizes.csv', types={'count': 'VARCHAR'})"))
check("DuckDB 1.3, its own choice", False, lambda: of("select count::varchar from 'sizes.csv'"))
PY

# compared KEEPS WHAT FILE: whether FILE has the counts, one a line.
compared() {
  if cmp --quiet want.txt "$3"; then found=keeps; else found=loses; fi
  echo "$2: $found"
  [ "$found" = "$1" ] || { echo "$2: changed: the page says $1" >&2; exit 1; }
}
missing() { ! command -v "$1" >/dev/null && echo "skipped: $1 is missing" >&2; }

missing jq || {
  jq -r .count sizes.jsonl > out; compared keeps "jq -r" out
  jq -r '.count | tonumber' sizes.jsonl > out; compared loses "jq tonumber" out
}
missing sqlite3 || for type in text integer numeric; do
  printf 'create table t (size text, count %s, error text);\n.import --csv --skip 1 sizes.csv t\nselect count from t;\n' "$type" |
    sqlite3 > out
  compared "$([ "$type" = text ] && echo keeps || echo loses)" "SQLite, $type" out
done
column() { tail -n +2 "$1" | cut -d , -f 2; }
office() { soffice --headless "-env:UserInstallation=file://$work/profile" "$@" >/dev/null 2>&1; }
missing soffice || {
  office --infilter="CSV:44,34,76,1,1/2/2/2/3/2" --convert-to xlsx --outdir text sizes.csv
  office --convert-to csv --outdir text text/sizes.xlsx
  column text/sizes.csv > out; compared keeps "LibreOffice, text" out
  office --convert-to csv --outdir plain sizes.csv
  cat plain/*.csv > plain.csv; column plain.csv > out; compared loses "LibreOffice, default" out
}
missing ssconvert || {
  ssconvert str.xlsx gnumeric.csv >/dev/null 2>&1; compared keeps "Gnumeric, text" gnumeric.csv
  ssconvert sizes.csv gnumeric.csv >/dev/null 2>&1; column gnumeric.csv > out; compared loses "Gnumeric, default" out
}
echo "all as the page says"
