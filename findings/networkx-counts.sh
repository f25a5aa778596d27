#!/usr/bin/env bash
# Libraries: networkx 3.6.1 on numpy 2.4.6 and scipy 1.17.1.
# Guess:   number_of_walks() and number_of_spanning_trees() of a graph without weights are exact: networkx is pure Python, and
#          its own loops count in integers of any length.
# Happens: walks are powers of a matrix of integers of 64 bits: for length 60 on the 4x4 grid the number is negative. Spanning
#          trees are a determinant in floating point: for the 4x4 grid a float near 100352, here just below it, so that int()
#          gives 100351. Of the 29 digits that the complete graph of 23 has, about 14 are right.
# Matters: neither warns, and both are right, or nearly, on the small graphs that one tries first. Kirchhoff's determinant and
#          matrix powers are exact over integers or modulo primes only.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
  'networkx==3.6.1' 'numpy==2.4.6' 'scipy==1.17.1'
"$work/venv/bin/python" - <<'PY'
from collections import Counter
import networkx as nx

grid = nx.grid_2d_graph(4, 4)
start = (0, 0)

def exact_walks(length):
    """Walks from the corner back to it, one step at a time."""
    ends = {start: 1}
    for _ in range(length):
        further = Counter()
        for node, number in ends.items():
            for neighbour in grid[node]:
                further[neighbour] += number
        ends = further
    return ends[start]

for length, is_right in ((10, True), (60, False)):
    right, seen = exact_walks(length), int(nx.number_of_walks(grid, length)[start][start])
    print(f"closed walks of length {length} at the corner: {right}, networkx says {seen}")
    assert (seen == right) == is_right, "changed: right where it was wrong, or the other way round"
    assert (seen - right) % 2**64 == 0, "changed: no longer the number modulo 2^64"
for name, graph, right in (
    ("the 4x4 grid", grid, 100352),
    ("the complete graph of 23", nx.complete_graph(23), 23**21),  # Cayley: n^(n-2)
):
    seen = nx.number_of_spanning_trees(graph)
    print(f"spanning trees of {name}: {right}, networkx says {seen!r}, as an integer {int(seen)}")
    # The last digits depend on the machine's linear algebra; the type and the size do not.
    assert isinstance(seen, float) and abs(seen / right - 1) < 1e-9, "changed"
assert int(seen) != right, "changed: exact where a double can not be"
PY
