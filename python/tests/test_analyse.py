"""The Python program that `keima analyse --format sympy` writes runs with sympy, and prints the numbers that `keima count` counts."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from conftest import LIMIT_SECONDS, Cluster

#: Terms that the written programs print.
TERMS = 10


# Series that begin with 0 and with other numbers.
@pytest.mark.parametrize("series", ["go 1", "go 2", "go 3", "hard-squares 4", "grid-paths 3", "grid-cycles 4"])
def test_sympy_prints_the_counts(cluster: Cluster, series: str) -> None:
    problem, height = series.split()
    written = cluster.run("analyse", problem, height, "--format", "sympy", "--quiet")
    ran = subprocess.run([sys.executable, "-"], input=written, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert ran.returncode == 0, (written, ran.stderr)
    counted = cluster.run("count", problem, f"{height}x{TERMS}", "--series", "--format", "bfile", "--quiet")
    expected = [int(line.split()[1]) for line in counted.splitlines()]
    assert (len(expected), ast.literal_eval(ran.stdout)) == (TERMS, expected), written
