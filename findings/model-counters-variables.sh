#!/usr/bin/env bash
# Libraries: pyapproxmc 4.4.0, pyganak 2.9.0, python-sat 1.9.dev24 (PySAT, with CaDiCaL 1.5.3).
# Guess:   counters and an enumerating solver agree on a formula with few models, and `p cnf 4 1` says that it has 4 variables.
# Happens: `x1 or x3` over four variables has 12 models. pyapproxmc, exact for so few, says 3: it counts only variables that
#          stand in clauses. pyganak and PySAT say 6: they count variables up to the largest number in a clause. PySAT's CNF
#          reads the header's 4 and keeps 3. pyganak says 12 when told new_vars(4).
# Matters: the same constraints with variables numbered otherwise have another count. An encoding of a board where a cell is
#          free of all constraints is off by a power of two, and a comparison of two counters finds a difference that is none.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
  'pyapproxmc==4.4.0' 'pyganak==2.9.0' 'python-sat==1.9.dev24'
"$work/venv/bin/python" - <<'PY'
from itertools import product
import pyapproxmc, pyganak
from pysat.formula import CNF
from pysat.solvers import Solver

def exact(size, clause):
    return sum(any(model[v - 1] for v in clause) for model in product((False, True), repeat=size))

def approxmc(clause):
    counter = pyapproxmc.Counter()
    counter.add_clause(clause)
    cells, hashes = counter.count()
    assert hashes == 0, f"expected an exact count without hashes, got {hashes} of them"
    return cells

def ganak(clause, declared):
    counter = pyganak.Counter()
    if declared:
        counter.new_vars(declared)
    counter.add_clause(clause)
    return counter.count()

def pysat(size, clause):
    formula = CNF(from_string=f"p cnf {size} 1\n{' '.join(map(str, clause))} 0\n")
    with Solver(name="cadical153", bootstrap_with=formula) as solver:
        return formula.nv, sum(1 for _ in solver.enum_models())

for size, clause, expected in (
    (2, [1, 2], (3, 3, 3, 3, (2, 3))),
    (3, [1, 3], (6, 3, 6, 6, (3, 6))),
    (4, [1, 3], (12, 3, 6, 12, (3, 6))),
    (4, [1, 2], (12, 3, 3, 12, (2, 3))),
):
    seen = exact(size, clause), approxmc(clause), ganak(clause, 0), ganak(clause, size), pysat(size, clause)
    print(f"p cnf {size} 1, clause {clause}: {seen[0]} models; pyapproxmc {seen[1]}, pyganak {seen[2]}, "
          f"with new_vars {seen[3]}; PySAT {seen[4][1]} over {seen[4][0]} variables")
    assert seen == expected, f"changed: expected {expected}"
PY
