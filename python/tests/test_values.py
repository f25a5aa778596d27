"""Without a coordinator: exact numbers, refused answers, tables, and that generated files and versions are current."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keima import (
    BadAnswer,
    CheckFailed,
    JobState,
    KeimaError,
    Row,
    Table,
    UsageError,
    convert,
    decimal,
    result_from_json,
)
from keima.results import result_of
from keima.sizes import parse_bytes
from keima.v1 import common_pb2, job_pb2

PYTHON = Path(__file__).resolve().parents[1]
HUGE = 3**20_000


def test_numbers_of_any_length() -> None:
    for number in [0, -1, 10**4000 - 1, 10**4000, 10**4300, HUGE, -HUGE, 10**9999]:
        assert convert.exact("count", decimal(number)) == number
    assert decimal(number).lstrip("-")[0] != "0" or number == 0


@pytest.mark.parametrize("text", ["", "-", "1.0", "1e9", " 1", "0x10", "²", "+1"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(BadAnswer, match="an integer in decimal"):
        convert.exact("count", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192MiB", 192 << 20),
        ("2GiB", 2 << 30),
        ("1.5g", 3 << 29),
        ("50 GB", 50_000_000_000),
        ("4096", 4096),
        (4096, 4096),
        ("", None),
        ("0", None),
        (0, None),
        ("-1", None),
        ("12 parsecs", None),
        ("999999999TiB", None),
    ],
)
def test_sizes(text: int | str, expected: int | None) -> None:
    if expected is not None:
        assert parse_bytes(text) == expected
        return
    with pytest.raises(UsageError):
        parse_bytes(text)


def finished(**changes: Any) -> job_pb2.JobStatus:
    """A job that is done."""
    outcome = job_pb2.Outcome(problem="go", size="2x2", count="57", ok=True)
    outcome.checks.add(name="bound", ok=True, detail="at most 3^4, as proved")
    outcome.series.add(index=1, name="L(2,1)", count="5", ok=True)
    outcome.series.add(index=2, name="L(2,2)", count="57", ok=True)
    message = job_pb2.JobStatus(job=1, problem="go", size="2x2", state=job_pb2.JOB_STATE_DONE, outcome=outcome)
    for name, value in changes.items():
        setattr(message if name == "state" else message.outcome, name, value)
    return message


def test_a_result() -> None:
    entries = ((1, "L(2,1)", "5"), (2, "L(2,2)", "57"))
    values = [job_pb2.SeriesEntry(index=index, name=name, count=count, ok=True) for index, name, count in entries]
    result = result_of(convert.status(finished(), values))
    assert result.count == 57 and result.tables["series"].rows == (Row(1, 5, ("L(2,1)",)), Row(2, 57, ("L(2,2)",)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": 77}, "JobStatus.state: expected a state of a job, got '77'"),
        ({"state": 0}, "JobStatus.state"),
        ({"count": "5.7e1"}, "Outcome.count"),
        ({"count": ""}, "Outcome.count"),
        ({"ok": False}, "JobStatus.outcome"),
    ],
)
def test_answers_that_make_no_sense(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadAnswer) as refused:
        convert.status(finished(**changes))
    assert words in str(refused.value)


def test_a_failed_check_withholds_the_number() -> None:
    """Even where a coordinator sends one."""
    message = finished(state=job_pb2.JOB_STATE_CHECK_FAILED)
    message.outcome.checks.add(name="spare_prime", ok=False, detail="expected 1, got 2")
    status = convert.status(message)
    assert status.state is JobState.CHECK_FAILED and status.outcome is not None and status.outcome.count is None
    assert [value.count for value in status.outcome.series] == [None, None]
    with pytest.raises(CheckFailed, match="spare_prime: expected 1, got 2") as failed:
        result_of(status)
    assert [check.name for check in failed.value.failed] == ["spare_prime"]


def test_how_much_is_done() -> None:
    plan = job_pb2.Plan(
        states=[1, 2, 4, 8, 4, 1], windows=[common_pb2.Window(first=0, len=2)], sweeps=[job_pb2.Sweep()] * 2
    )
    running = job_pb2.JobStatus(job=1, state=job_pb2.JOB_STATE_RUNNING, plan=plan, passes=6, states_stage=10)
    for sweep, passes_done, states_done, expected in [
        (0, 0, 0, 0.0),
        (0, 2, 0, 3 / 40),
        (0, 2, 5, 9 / 40),
        (1, 2, 10, 35 / 40),
        (1, 6, 0, 1.0),
        (2, 6, 9, 1.0),
    ]:
        running.sweep, running.states_done = sweep, states_done
        setattr(running, "pass", passes_done)
        assert convert.status(running).fraction == pytest.approx(expected)


TABLE = Table("by_fences", "fences", (Row(0, HUGE, ("1.0",)), Row(1, 2**53 + 1, ())), ("guess",))


def test_frames_of_pandas_keep_integers() -> None:
    pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    assert list(frame.columns) == ["fences", "count", "guess"]
    assert [type(count) for count in frame["count"]] == [int, int]
    assert list(frame["count"]) == [HUGE, 2**53 + 1] and frame["count"].sum() == HUGE + 2**53 + 1
    small = Table("t", "n", (Row(1, 5), Row(2, 57))).to_pandas()
    assert small["count"].dtype == object


def test_frames_of_polars_keep_digits() -> None:
    polars = pytest.importorskip("polars")
    frame = TABLE.to_polars()
    assert frame.schema["count"] == polars.String
    assert frame["count"].to_list() == [decimal(HUGE), str(2**53 + 1)]
    assert frame["guess"].to_list() == ["1.0", None]


JSON: dict[str, Any] = {
    "problem": "quoridor-fences",
    "size": "1x1",
    "count": "9007199254740993",
    "checks": [{"name": "bound", "ok": True, "detail": "as proved"}],
    "residues": [{"modulus": "7", "residue": "3"}],
    "seconds": 0.5,
    "peak_states": 2,
    "counts": [
        {"table": "by_fences", "fences": 0, "count": "1", "note": "x"},
        {"table": "by_fences", "fences": 1, "count": "2"},
    ],
}


def test_json() -> None:
    result = result_from_json(json.dumps(JSON))
    assert result.count == 2**53 + 1
    assert result.tables["by_fences"] == Table("by_fences", "fences", (Row(0, 1, ("x",)), Row(1, 2, ("",))), ("note",))
    with pytest.raises(KeyError):
        result.tables["by_fences"][7]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not one result"),
        ("[]", "expected an object, got list"),
        ("{}", "there is no number in it"),
        (json.dumps({**JSON, "count": None, "state": "check failed"}), "check failed"),
        (json.dumps({**JSON, "count": 3}), "not one result"),
        (json.dumps({**JSON, "count": "3.0"}), "an integer in decimal"),
        (json.dumps({**JSON, "checks": [{"name": "bound", "ok": False, "detail": "beyond"}]}), "checks failed: bound"),
        (json.dumps({**JSON, "checks": [{"name": "bound", "ok": "yes", "detail": "?"}]}), "checks failed: bound"),
        (json.dumps({**JSON, "counts": [{"table": "t", "a": "x", "b": "y", "count": "1"}]}), "expected one index"),
    ],
)
def test_json_that_is_no_result(text: str, words: str) -> None:
    with pytest.raises(KeimaError, match=words):
        result_from_json(text)


def test_generated_files_are_current(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools")
    environment = {**os.environ, "PYTHON": sys.executable}
    subprocess.run([PYTHON / "generate", tmp_path], env=environment, check=True, timeout=120)
    made = {path.name: path.read_bytes() for path in (tmp_path / "keima" / "v1").iterdir() if path.is_file()}
    kept = {path.name: path.read_bytes() for path in (PYTHON / "src" / "keima" / "v1").iterdir() if path.is_file()}
    assert made.keys() == kept.keys() and len(made) == 9
    stale = [name for name, text in made.items() if kept[name] != text]
    assert not stale, f"run python/generate: {stale}"


def test_the_version_is_the_programs() -> None:
    def version(path: Path) -> str:
        found = re.search(r'^version = "(.*)"$', path.read_text(), re.MULTILINE)
        assert found is not None
        return found[1]

    assert version(PYTHON / "pyproject.toml") == version(PYTHON.parent / "Cargo.toml")
