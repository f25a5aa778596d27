#!/usr/bin/env bash
# Libraries: networkx 3.6.1 on numpy 2.4.6 and scipy 1.17.1.
# Guess:   number_of_walks() and number_of_spanning_trees() of a graph without weights are exact: networkx is pure Python, and
#          its own loops count in integers of any length.
# Happens: walks are powers of an integer matrix of 64 bits: for length 60 on the 4x4 grid the number is negative. Spanning
#          trees are a determinant in floating point: a float near 100352 for the 4x4 grid, often just below it, so that int()
#          gives 100351; and a dozen right digits of the 31 that the 9x9 grid has.
# Matters: neither warns, and both are right, or nearly, on the small graphs that one tries first. Kirchhoff's determinant and matrix powers
#          are exact over integers or modulo primes only.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
  'networkx==3.6.1' 'numpy==2.4.6' 'scipy==1.17.1'
"$work/venv/bin/python" - <<'PY'
from collections import Counter
from fractions import Fraction
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

def exact_trees(graph):
    """Kirchhoff: the determinant of the Laplacian without a row and its column, by fractions."""
    nodes = sorted(graph)[1:]
    rows = [[Fraction(graph.degree[u] if u == v else -(v in graph[u])) for v in nodes] for u in nodes]
    determinant = Fraction(1)
    for i in range(len(rows)):
        pivot = next(r for r in range(i, len(rows)) if rows[r][i])
        if pivot != i:
            rows[i], rows[pivot], determinant = rows[pivot], rows[i], -determinant
        determinant *= rows[i][i]
        for r in range(i + 1, len(rows)):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return determinant

for length, is_right in ((10, True), (60, False)):
    right, seen = exact_walks(length), int(nx.number_of_walks(grid, length)[start][start])
    print(f"closed walks of length {length} at the corner: {right}, networkx says {seen}")
    assert (seen == right) == is_right, "changed: right where it was wrong, or the other way round"
    assert (seen - right) % 2**64 == 0, "changed: no longer the number modulo 2^64"
for side, known in ((4, 100352), (9, 8326627661691818545121844900864)):
    graph = nx.grid_2d_graph(side, side)
    right, seen = exact_trees(graph), nx.number_of_spanning_trees(graph)
    print(f"spanning trees {side}x{side}: {right}, networkx says {seen!r}, as an integer {int(seen)}")
    assert right == known, f"expected {known}, as published"
    # The last digits depend on the machine's linear algebra, the type and the size do not.
    assert isinstance(seen, float) and abs(seen / known - 1) < 1e-9, "changed"
    assert side == 4 or int(seen) != known, "changed: exact where a double can not be"
PY
