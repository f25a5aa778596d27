"""Jobs of a real coordinator, from submission to result, against published numbers of ../tests/golden."""

from __future__ import annotations

import csv
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest
from conftest import Cluster

from keima import (
    Client,
    InvalidRequest,
    JobCancelled,
    JobState,
    JobStatus,
    KeimaError,
    NoSuchJob,
    NotFinished,
    UsageError,
    Value,
    WrongState,
    result_from_json,
)

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"


def golden(name: str) -> dict[tuple[str, ...], int]:
    """Published numbers by what stands before them."""
    with (GOLDEN / name).open() as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))[1:]
    return {tuple(row[:-1]): int(row[-1]) for row in rows}


LEGAL = golden("go_legal_positions.csv")
FENCES = golden("quoridor_fences_9x9.csv")


def test_a_job_from_submission_to_result(plain: Cluster) -> None:
    with Client(plain.url) as client:
        job = client.submit("go", "7x8", priority=3, task_memory="64MiB", disk="1GB", executor="stream", series=True)
        statuses = list(client.watch(job, interval_seconds=0.1))
        assert [status.state for status in statuses][-1] is JobState.DONE
        assert not any(status.state.is_over for status in statuses[:-1])
        fractions = [status.fraction for status in statuses]
        assert fractions == sorted(fractions) and fractions[-1] == 1.0
        last = statuses[-1]
        assert (last.job, last.priority, last.options) == (job, 3, {})
        assert last.plan is not None and last.plan.executor == "stream" and last.plan.task_memory_bytes == 64 << 20
        told = [value.index for status in statuses for value in (status.outcome or status).series]
        assert told == list(range(1, 9)), "each value is told once"
        assert (last.values_known, client.jobs(limit=1)[0].series) == (8, ())
        result = client.result(job)
        assert type(result.count) is int and result.count == LEGAL["7", "8"] == int(result)
        series = result.tables["series"]
        assert [row.index for row in series] == list(range(1, 9)) == [value.index for value in result.series]
        assert [series[n] for n in (6, 7, 8)] == [LEGAL["6", "7"], LEGAL["7", "7"], LEGAL["7", "8"]]
        assert result.tables["count"]["7x8"] == result.count
        assert result.checks and all(check.ok for check in result.checks)
        assert all(result.count % residue.modulus == residue.residue for residue in result.residues)
        assert (client.certificate(job) or "").startswith("{")
        assert job in [status.job for status in client.jobs()]
        here = [worker for worker in client.workers() if worker.is_here]
        assert len(here) == 1 and here[0].slots == 1


@pytest.mark.parametrize(
    ("problem", "size", "options", "count"),
    [
        ("knight", "6x6", {"closed": True}, 9862),
        ("knight", "6x6", ["closed"], 9862),
        ("quoridor-fences", "8x8", {"max-fences": 2}, sum(FENCES[str(k),] for k in range(3))),
        ("grid-paths", "9x9", ["hamiltonian"], 2688307514),
        ("hard-squares", "8x8", (), 660647962955),
    ],
)
def test_options(plain: Cluster, problem: str, size: str, options: object, count: int) -> None:
    with Client(plain.url) as client:
        result = client.wait(client.submit(problem, size, options))  # type: ignore[arg-type]
        assert result.count == count
        if result.coefficients:
            assert sum(result.coefficients) == count
        # The program prints the same numbers, with the problem's own tables.
        same = result_from_json(plain.run("result", client.jobs()[0].job, "--json", "--coordinator", plain.url))
        assert (same.count, same.options, same.identity) == (count, result.options, result.identity)
        assert same.residues == result.residues and same.certificate is not None
        if problem == "quoridor-fences":
            by_fences = same.tables["by_fences"]
            assert (by_fences.index, by_fences.columns) == ("fences", ("mertens", "mertens_unordered"))
            assert [by_fences[k] for k in range(3)] == [FENCES[str(k),] for k in range(3)] == list(result.coefficients)


def test_steering(cluster: Cluster) -> None:
    """Without a worker nothing happens, so that every state is met for certain."""
    with Client(cluster.coordinator()) as client:
        job = client.submit("go", "6x6")
        assert client.status(job).state is JobState.QUEUED
        with pytest.raises(NotFinished, match="wait"):
            client.result(job)
        with pytest.raises(NotFinished, match="keeps running"):
            client.wait(job, timeout_seconds=0.2)
        client.pause(job)
        assert client.status(job).state is JobState.PAUSED
        with pytest.raises(NotFinished, match=f'resume\\("{job}"\\)'):
            client.result(job)
        client.resume(job)
        cluster.worker()
        assert client.wait(job).count == LEGAL["6", "6"]
        job = client.submit("go", "12x12", executor="stream")
        client.cancel(job)
        assert client.status(int(job[1:])).state is JobState.CANCELLED
        with pytest.raises(JobCancelled) as cancelled:
            client.wait(job)
        assert cancelled.value.status.job == job
        with pytest.raises(WrongState) as wrong:
            client.pause(job)
        assert (wrong.value.code, wrong.value.kind) == ("FAILED_PRECONDITION", "wrong-state")


def test_terms_and_lists(cluster: Cluster) -> None:
    with Client(cluster.coordinator()) as client:
        start = time.time() - 5
        jobs = [
            client.submit("go", "6x6", name="nightly", owner="ada", max_workers=2, max_disk="1GiB"),
            client.submit("go", "6x7", owner="bob"),
            client.submit("go", "7x7", owner="ada"),
        ]
        client.cancel(jobs[1])

        def listed(**filters: object) -> list[str]:
            return [status.job for status in client.jobs(**filters)]  # type: ignore[arg-type]

        for filters, expected in (
            ({}, [2, 1, 0]),
            ({"owner": "ada"}, [2, 0]),
            ({"name": "nightly"}, [0]),
            ({"name": "weekly"}, []),
            ({"state": JobState.CANCELLED}, [1]),
            ({"state": [JobState.QUEUED, JobState.CANCELLED]}, [2, 1, 0]),
            ({"limit": 2}, [2, 1]),
            ({"limit": 2, "after": jobs[1]}, [0]),
            ({"since": start}, [2, 1, 0]),
            ({"since": datetime.fromtimestamp(start + 3600)}, []),
            ({"archived": True}, []),
        ):
            assert listed(**filters) == [jobs[at] for at in expected], filters
        with pytest.raises(UsageError, match="limit"):
            client.jobs(limit=0)
        with pytest.raises(UsageError, match="out of range"):
            client.jobs(since=-1.0)
        first = client.status(jobs[0])
        assert (first.max_workers, first.max_disk_bytes, first.ended) == (2, 1 << 30, None)
        assert first.submitted is not None and abs(first.submitted - time.time()) < 60
        client.change(jobs[0], priority=4, name="weekly", note="two", owner="eve", max_workers=0, max_disk="0")
        first = client.status(jobs[0])
        assert (first.priority, first.name, first.note, first.owner) == (4, "weekly", "two", "eve")
        assert (first.max_workers, first.max_disk_bytes, first.level) == (None, None, 4)
        client.change(jobs[0], max_disk="2GiB")
        assert (client.status(jobs[0]).name, client.status(jobs[0]).max_disk_bytes) == ("weekly", 2 << 30)
        client.change(jobs[1], note="too large")
        with pytest.raises(WrongState):
            client.change(jobs[1], priority=1)
        with pytest.raises(InvalidRequest, match="cannot be called"):
            client.change(jobs[0], name="j7")
        with pytest.raises(NoSuchJob):
            client.change("j999", note="")


def test_jobs_that_are_over_leave_the_list(cluster: Cluster) -> None:
    with Client(cluster.coordinator("--keep-jobs", "0")) as client:
        cluster.worker()
        job = client.submit("go", "6x6", series=True, name="nightly")
        result = client.wait(job)
        end = time.monotonic() + 30
        while client.jobs():
            assert time.monotonic() < end, "it stays in the list"
            time.sleep(0.1)
        assert [status.job for status in client.jobs(archived=True, name="nightly")] == [job]
        assert client.result(job) == result and len(result.series) == 6
        assert [value.index for value in client.status(job, values=2).outcome.series] == [5, 6]  # type: ignore[union-attr]
        file = cluster.folder / "data" / "ended" / f"{job}-go-6x6.json"
        kept = result_from_json(file.read_text())
        assert (kept.count, kept.residues, kept.series) == (result.count, result.residues, tuple(
            Value(value.index, value.name, value.count, (), True) for value in result.series
        ))
        assert kept.certificate is not None and client.certificate(job) is not None
        assert "ok" in cluster.run("verify", str(file))
        with pytest.raises(WrongState, match="archived"):
            client.change(job, note="late")


def test_a_watch_outlives_the_coordinator(cluster: Cluster) -> None:
    with Client(cluster.coordinator()) as client:
        job = client.submit("go", "8x8", executor="stream")
        seen: list[JobStatus] = []
        got: list[int] = []
        waiting = threading.Thread(target=lambda: got.append(client.wait(job, progress=seen.append).count))
        waiting.start()
        while not seen:
            time.sleep(0.01)
        cluster.kill("coordinator")
        cluster.coordinator()
        cluster.worker()
        waiting.join(90)
        assert got == [LEGAL["8", "8"]]


@pytest.mark.parametrize(
    ("call", "expected", "words"),
    [
        (lambda client: client.status("j999"), NoSuchJob, "999"),
        (lambda client: next(client.watch("j999")), NoSuchJob, "999"),
        (lambda client: client.submit("chess", "8x8"), InvalidRequest, "chess"),
        (lambda client: client.submit("go", "99x99"), InvalidRequest, "99x99"),
        (lambda client: client.submit("go", "5x5", ["closed"]), InvalidRequest, "closed"),
        (lambda client: client.submit("go", "13x13", disk="1MiB", executor="stream"), InvalidRequest, "disk"),
        (lambda client: client.submit("go", "5x5", executor="fast"), UsageError, "auto, stream, block"),
        (lambda client: client.submit("go", "5x5", "closed"), UsageError, r"\['closed'\]"),
        (lambda client: client.submit("go", "5x5", task_memory="much"), UsageError, "512MiB"),
        (lambda client: client.submit("go", "5x5", window=-1), UsageError, "out of range"),
        (lambda client: client.status("first"), UsageError, "such as j1"),
        (lambda client: client.resume_from("/nowhere"), KeimaError, "archive"),
        (lambda client: client.resume_from("/nowhere", replan=True, task_memory="1GiB"), KeimaError, "archive"),
        (lambda client: client.resume_from("/nowhere", disk="1GiB"), UsageError, "replan=True"),
    ],
)
def test_what_makes_no_sense_is_refused(plain: Cluster, call: object, expected: type[KeimaError], words: str) -> None:
    with Client(plain.url) as client, pytest.raises(expected, match=words):
        call(client)  # type: ignore[operator]
