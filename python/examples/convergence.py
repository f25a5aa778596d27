"""How fast do legal Go positions approach their asymptotic formula A B^(m+n) L^(mn)? Prints a table and draws an SVG.

Left: L(m,n) / 3^(mn), the part of all positions that is legal, a line for each height m. Right: how far
L(n,n) L(n+1,n+1) / L(n,n+1)^2 is from its limit, the base of liberties L (Tromp, Farnebäck, Combinatorics of Go, section 6). All
ratios are exact until they are drawn.

    keima count go 1..9x1..9 --json --quiet | python examples/convergence.py -
    python examples/convergence.py --coordinator http://127.0.0.1:7700 --to 9

Needs the extra keima[plot] for the picture; --svg '' leaves it out. Boards up to 9x9 take a few seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from keima import Client, KeimaError, result_from_json

#: The limit, as the paper has it.
BASE_OF_LIBERTIES = Fraction("2.975734192043357249381")

Counts = dict[tuple[int, int], int]


def read(lines: Iterable[str]) -> Counts:
    """Counts from JSON, an object a line; what has no number is told on standard error."""
    counts: Counts = {}
    for line in lines:
        if not line.strip():
            continue
        try:
            result = result_from_json(line)
        except KeimaError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if result.problem == "go":
            m, n = map(int, result.size.split("x"))
            counts[m, n] = counts[n, m] = result.count
    return counts


def count(client: Client, to: int) -> Counts:
    """The same from jobs of a coordinator: n x (n+1) passes n x n on its way."""
    jobs = {n: client.submit("go", f"{n}x{n + 1}", series=True) for n in range(1, to + 1)}
    counts: Counts = {}
    for n, job in jobs.items():
        result = client.wait(job, progress=lambda status: print(f"\r{status}\x1b[K", end="", file=sys.stderr))
        for row in result.tables["series"]:
            assert isinstance(row.index, int)
            counts[n, row.index] = counts[row.index, n] = row.count
    print(file=sys.stderr)
    return counts


def legal_part(counts: Counts, m: int, n: int) -> Fraction:
    """L(m,n) / 3^(mn)."""
    return Fraction(counts[m, n], 3 ** (m * n))


def base(counts: Counts, n: int) -> Fraction:
    """L(n,n) L(n+1,n+1) / L(n,n+1)^2."""
    return Fraction(counts[n, n] * counts[n + 1, n + 1], counts[n, n + 1] ** 2)


def decimals(number: Fraction, digits: int) -> str:
    """A positive number with so many digits after the point, cut off."""
    whole, rest = divmod(number.numerator * 10**digits // number.denominator, 10**digits)
    return f"{whole}.{rest:0{digits}}"


def draw(path: Path, counts: Counts, bases: dict[int, Fraction]) -> None:
    """Two panels, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    heights = sorted({m for m, _ in counts})
    for m in heights:
        lengths = sorted(n for height, n in counts if height == m)
        parts = [float(legal_part(counts, m, n)) for n in lengths]
        shade = pyplot.get_cmap("viridis")(0.9 * (m - 1) / max(heights))
        left.plot(lengths, parts, "o-", color=shade, markersize=3, gid=f"height-{m}", label=f"m = {m}")
    left.set(xlabel="n", ylabel=r"$L(m,n)\,/\,3^{mn}$", title="legal part of all positions", ylim=(0, None))
    left.legend(fontsize="x-small", ncols=2)
    gaps = {n: abs(number / BASE_OF_LIBERTIES - 1) for n, number in bases.items()}
    right.semilogy(list(gaps), [float(gap) for gap in gaps.values()], "s-", color="#a33c2f")
    right.set(xlabel="n", ylabel="relative distance from the limit", title="base of liberties")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.set_xticks(heights)
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Reads or counts, prints, draws."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", nargs="*", metavar="FILE", help="JSON that keima printed; - is standard input")
    parser.add_argument("--coordinator", metavar="URL", help="count there; TLS as the KEIMA_ variables say")
    parser.add_argument("--to", type=int, default=8, metavar="N", help="largest side to count there [default: 8]")
    parser.add_argument("--svg", default="convergence.svg", metavar="FILE", help="picture [default: convergence.svg]")
    given = parser.parse_args()
    if bool(given.results) == bool(given.coordinator):
        parser.error("give files of results, or --coordinator URL")
    if given.coordinator:
        with Client(given.coordinator) as client:
            counts = count(client, given.to)
    else:
        counts = read(
            line
            for name in given.results
            for line in (sys.stdin if name == "-" else Path(name).read_text().splitlines())
        )
    sides = sorted({m for m, n in counts if m == n})
    bases = {n: base(counts, n) for n in sides if (n, n + 1) in counts and (n + 1, n + 1) in counts}
    if not bases:
        print("not enough boards: at least nxn, nx(n+1) and (n+1)x(n+1) for one n", file=sys.stderr)
        return 2
    print(f"{'n':>2}  {'L(n,n)/3^(n^2)':<14}  L(n,n) L(n+1,n+1) / L(n,n+1)^2")
    for n in sides:
        print(f"{n:>2}  {decimals(legal_part(counts, n, n), 12):<14}  {decimals(bases[n], 21) if n in bases else ''}".rstrip())
    print(f"    limit           {decimals(BASE_OF_LIBERTIES, 21)}")
    if given.svg:
        draw(Path(given.svg), counts, bases)
        print(f"wrote {given.svg}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeimaError, OSError, json.JSONDecodeError) as problem:
        print(problem, file=sys.stderr)
        sys.exit(1)
