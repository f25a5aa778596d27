#!/usr/bin/env bash
# Library: igraph 1.0.0 for Python (the C library of the same version under it); formats GraphML and GML.
# Guess:   integer attributes are stored as doubles, so integers up to 2^53 come back as they were.
# Happens: GraphML and GML are written with 15 digits. 1234567890123456, far below 2^53, comes back as 1234567890123460, from a
#          file that says 1.23456789012346e+15. Pickle keeps it.
# Matters: an edge that carries a count, or an identifier of 16 digits, changes on the way through a file though every type on
#          that way could hold it. Store such numbers as strings.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: 'igraph==1.0.0'
cd "$work"
venv/bin/python - <<'PY'
import igraph

def through(write, read, values):
    graph = igraph.Graph([(0, 1), (1, 2)])
    graph.es["count"] = values
    getattr(graph, write)("graph")
    return getattr(igraph.Graph, read)("graph").es["count"]

small, large = 123456789012345, 1234567890123456
assert int(float(large)) == large < 2**53
for write, read, values, expected in (
    ("write_graphml", "Read_GraphML", [small, 5], [small, 5]),
    ("write_graphml", "Read_GraphML", [large, 5], [1234567890123460, 5]),
    ("write_gml", "Read_GML", [large, 5], [1234567890123460, 5]),
    ("write_pickle", "Read_Pickle", [large, 5], [large, 5]),
    ("write_graphml", "Read_GraphML", [str(large), "5"], [str(large), "5"]),
):
    seen = through(write, read, values)
    print(f"{write:14} {values} comes back as {seen}")
    assert seen == expected, f"changed: expected {expected}"
PY
