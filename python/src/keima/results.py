"""Results of finished counts, from a coordinator or from the JSON that ``keima`` prints, and their tables.

Every number is an ``int``. Frames of pandas hold these in columns of objects, frames of polars as decimal texts: neither
has integers without bounds, and no number becomes a float on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keima.convert import exact
from keima.errors import BadAnswer, CheckFailed, JobCancelled, NotFinished, UsageError
from keima.jobs import Check, JobState, JobStatus, Residue, Value

if TYPE_CHECKING:
    import pandas
    import polars

#: Fields of a table's row in JSON that are not its index or a figure.
_FIXED = ("table", "count")


@dataclass(frozen=True, slots=True)
class Row:
    """A number of a table."""

    index: int | str
    count: int
    #: What stands beside the number, such as another author's estimate; texts, in the order of the table's columns.
    figures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers of one kind."""

    name: str
    #: Name of the rows' index, such as ``"fences"``.
    index: str
    rows: tuple[Row, ...]
    #: Names of the columns beside the numbers.
    columns: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int | str) -> int:
        """The number at ``index``."""
        for row in self.rows:
            if row.index == index:
                return row.count
        raise KeyError(index)

    def _columns(self) -> dict[str, list[Any]]:
        data: dict[str, list[Any]] = {
            self.index: [row.index for row in self.rows],
            "count": [row.count for row in self.rows],
        }
        for place, name in enumerate(self.columns):
            data[name] = [row.figures[place] if place < len(row.figures) else None for row in self.rows]
        return data

    def to_pandas(self) -> pandas.DataFrame:
        """A frame of pandas; the column ``count`` holds ``int`` objects. Needs the extra ``keima[pandas]``."""
        import pandas

        data = self._columns()
        counts = pandas.Series(data["count"], dtype="object")
        return pandas.DataFrame({**data, "count": counts})

    def to_polars(self) -> polars.DataFrame:
        """A frame of polars; the column ``count`` holds decimal texts. Needs the extra ``keima[polars]``."""
        import polars

        data = self._columns()
        counts = polars.Series("count", [decimal(count) for count in data["count"]], dtype=polars.String)
        return polars.DataFrame({**data, "count": counts})


@dataclass(frozen=True, slots=True)
class Result:
    """A finished count whose checks all hold."""

    problem: str
    size: str
    options: Mapping[str, str]
    count: int
    #: By coefficient, for problems that count several things at once; empty for others.
    coefficients: tuple[int, ...]
    #: Shorter boards that the count passed, as far as they were read.
    series: tuple[Value, ...]
    #: ``"count"``, ``"coefficients"`` and ``"series"`` where there are any; from JSON also the problem's own.
    tables: Mapping[str, Table]
    checks: tuple[Check, ...]
    residues: tuple[Residue, ...]
    identity: str
    builds: tuple[str, ...]
    seconds: float
    peak_states: int
    #: The evidence of each stage, from JSON that has it. ``Client.certificate`` gives that of a job.
    certificate: Mapping[str, Any] | None = field(default=None, repr=False)

    def __int__(self) -> int:
        return self.count


def decimal(number: int) -> str:
    """The decimal text of a number of any length; ``str`` refuses more than 4300 digits."""
    sign, number = ("-" if number < 0 else ""), abs(number)
    # 10^4000 has more than 13287 bits, and 0.30103 is just above log10(2).
    if number.bit_length() <= 13287:
        return sign + str(number)
    low = int(number.bit_length() * 0.30103) // 2
    head, tail = divmod(number, 10**low)
    return sign + decimal(head) + decimal(tail).zfill(low)


def _tables(size: str, count: int, coefficients: tuple[int, ...], series: tuple[Value, ...]) -> dict[str, Table]:
    tables = {"count": Table("count", "size", (Row(size, count),))}
    if len(coefficients) > 1:
        tables["coefficients"] = Table("coefficients", "index", tuple(map(Row, range(len(coefficients)), coefficients)))
    rows = tuple(Row(value.index, value.count, (value.name,)) for value in series if value.count is not None)
    if len(rows) > 1:
        tables["series"] = Table("series", "index", rows, ("name",))
    return tables


def result_of(status: JobStatus) -> Result:
    """The result of a job that is done. Any other state is an error that says what to do."""
    outcome = status.outcome
    name = f"{status.job} ({status.problem} {status.size})"
    reason = f": {status.reason}" if status.reason else ""
    if status.state is JobState.CHECK_FAILED:
        failed = [check for check in outcome.checks if not check.ok] if outcome else []
        evidence = "".join(f"\n  {check.name}: {check.detail}" for check in failed)
        advice = "count again, if possible on another machine; if the same check fails again, please report it"
        raise CheckFailed(f"{name}: a check failed, the number is withheld{reason}{evidence}", status, advice=advice)
    if status.state is JobState.CANCELLED:
        raise JobCancelled(f"{name} was cancelled{reason}", status, advice="submit it again if you want its number")
    if status.state is JobState.PAUSED:
        raise NotFinished(f"{name} is paused{reason}", status, advice=f'Client.resume("{status.job}") continues it')
    if outcome is None or outcome.count is None:
        raise NotFinished(
            f"{name} is {status.state}{reason}", status, advice=f'Client.wait("{status.job}") waits for it'
        )
    return Result(
        problem=status.problem,
        size=status.size,
        options=status.options,
        count=outcome.count,
        coefficients=outcome.coefficients,
        series=outcome.series,
        tables=_tables(status.size, outcome.count, outcome.coefficients, outcome.series),
        checks=outcome.checks,
        residues=outcome.residues,
        identity=outcome.identity,
        builds=outcome.builds,
        seconds=status.seconds,
        peak_states=status.peak_states,
    )


def result_from_json(text: str | bytes) -> Result:
    """The result that ``keima count ... --json`` or ``keima result ... --json`` printed."""
    try:
        found = json.loads(text)
        if not isinstance(found, dict):
            raise TypeError(f"expected an object, got {type(found).__name__}")
        if found.get("count") is None:
            state = found.get("state", found.get("error", "no count"))
            raise UsageError(f"there is no number in it: {state}", advice="look at its checks, or count again")
        return _from_object(found)
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as error:
        what = f"this is not one result of keima: {error!r}"
        raise BadAnswer(what, advice="give what `keima count PROBLEM SIZE --json` prints on standard output") from error


def _from_object(found: dict[str, Any]) -> Result:
    checks = tuple(Check(check["name"], check["ok"], check["detail"]) for check in found["checks"])
    bad = [check.name for check in checks if check.ok is not True]
    if bad:
        raise UsageError(f"checks failed: {', '.join(bad)}", advice="the number is not to be used; count again")
    count = exact("count", found["count"])
    series = tuple(
        Value(entry["index"], entry["name"], exact("series", entry["count"]), (), entry["ok"])
        for entry in found.get("series", ())
        if entry["ok"]
    )
    tables = _tables(found["size"], count, (), series)
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in found.get("counts", ()):
        rows.setdefault(row["table"], []).append(row)
    tables.update((name, _table(name, of_table)) for name, of_table in rows.items())
    return Result(
        problem=found["problem"],
        size=found["size"],
        options=dict(found.get("options", {})),
        count=count,
        coefficients=(),
        series=series,
        tables=tables,
        checks=checks,
        residues=tuple(
            Residue(exact("modulus", each["modulus"]), exact("residue", each["residue"])) for each in found["residues"]
        ),
        identity=found.get("identity", ""),
        builds=tuple(found.get("builds", ())),
        seconds=float(found["seconds"]),
        peak_states=found["peak_states"],
        certificate=found.get("certificate"),
    )


def _table(name: str, rows: list[dict[str, Any]]) -> Table:
    # JSON has the index under its own name. Every row has it, and it alone may be a number: figures are texts.
    shared = [key for key in rows[0] if key not in _FIXED and all(key in row for row in rows)]
    numbers = [key for key in shared if any(isinstance(row[key], int) for row in rows)]
    match numbers or shared:
        case [index]:
            pass
        case several:
            raise BadAnswer(
                f"table {name}: expected one index, got {several}", advice="use --format csv for this table"
            )
    columns: dict[str, None] = dict.fromkeys(key for row in rows for key in row if key not in (*_FIXED, index))
    return Table(
        name=name,
        index=index,
        rows=tuple(
            Row(row[index], exact(name, row["count"]), tuple(row.get(column, "") for column in columns)) for row in rows
        ),
        columns=tuple(columns),
    )
