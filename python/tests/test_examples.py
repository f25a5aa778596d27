"""The examples run, and print published digits."""

from __future__ import annotations

import csv
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import LIMIT_SECONDS, Cluster

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "python" / "examples" / "convergence.py"


def convergence(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE), *args]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=LIMIT_SECONDS)


def check_digits(printed: str, to: int) -> None:
    """Every printed ratio up to ``to`` has the digits of the paper, which rounds them."""
    rows = {line.split()[0]: line.split() for line in printed.splitlines()[1:]}
    with (ROOT / "tests" / "golden" / "go_base_of_liberties.csv").open() as file:
        known = dict(row for row in csv.reader(line for line in file if not line.startswith("#")))
    for n in map(str, range(1, to + 1)):
        digits = Decimal(known[n])
        unit = Decimal(1).scaleb(int(digits.as_tuple().exponent))
        assert abs(Decimal(rows[n][2]) - digits) < unit, (n, rows[n], digits)


def test_convergence_from_a_coordinator(plain: Cluster, tmp_path: Path) -> None:
    svg = tmp_path / "picture.svg"
    ran = convergence("--coordinator", plain.url, "--to", "7", "--svg", str(svg))
    assert ran.returncode == 0, ran.stderr
    check_digits(ran.stdout, 6)
    picture = ElementTree.parse(svg).getroot()
    assert picture.tag.endswith("svg")
    lines = [name for part in picture.iter() if (name := part.get("id", "")).startswith("height-")]
    assert lines == [f"height-{m}" for m in range(1, 9)], "a line for each height: 7 x 8 is the last board"


def test_convergence_from_results(cluster: Cluster) -> None:
    printed = cluster.run("count", "go", "1..5x1..5", "--json", "--quiet")
    ran = convergence("-", "--svg", "", text=printed)
    assert ran.returncode == 0, ran.stderr
    check_digits(ran.stdout, 4)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ((), 2, "give files of results"),
        (("-",), 2, "not enough boards"),
        (("/no/such/file",), 1, "/no/such/file"),
        (("--coordinator", "ftp://head"), 1, "there is no ftp://"),
    ],
)
def test_what_convergence_says(args: tuple[str, ...], code: int, words: str) -> None:
    ran = convergence(*args)
    assert (ran.returncode, words in ran.stderr) == (code, True), ran.stderr


@pytest.mark.parametrize("page", ["python/README.md", "docs/cluster/python.md"])
def test_what_the_pages_show(plain: Cluster, page: str) -> None:
    """The blocks that need no certificate run, and print the number that stands in their comment."""
    blocks = [block.partition("```")[0] for block in (ROOT / page).read_text().split("```python\n")[1:]]
    shown = [block.replace("http://127.0.0.1:7700", plain.url) for block in blocks if "http://127" in block]
    assert shown
    for block in shown:
        ran = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=LIMIT_SECONDS)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.splitlines()[-1] in block
