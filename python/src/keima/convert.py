"""From messages to values. What makes no sense is refused with its field, what was expected, and what came.

An unknown state or a count that is no number would be shown as something that it is not, so nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

from keima.errors import BadAnswer
from keima.jobs import (
    Check,
    JobState,
    JobStatus,
    JobWorker,
    Outcome,
    Plan,
    Residue,
    Value,
    Worker,
)
from keima.v1 import job_pb2

_STATES = {
    job_pb2.JOB_STATE_QUEUED: JobState.QUEUED,
    job_pb2.JOB_STATE_RUNNING: JobState.RUNNING,
    job_pb2.JOB_STATE_PAUSED: JobState.PAUSED,
    job_pb2.JOB_STATE_DONE: JobState.DONE,
    job_pb2.JOB_STATE_CHECK_FAILED: JobState.CHECK_FAILED,
    job_pb2.JOB_STATE_CANCELLED: JobState.CANCELLED,
}

#: Digits that ``int`` takes at once; Python refuses longer texts, for they take quadratic time.
_DIGITS = 4000


def _wrong(what: str, expected: str, got: object) -> BadAnswer:
    return BadAnswer(
        f"{what}: expected {expected}, got {str(got)[:80]!r}",
        advice="is that a coordinator of this version of keima? look at its log",
    )


def exact(what: str, text: str) -> int:
    """The integer of a decimal text of any length. Costs O(M(d) log d) for d digits."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise _wrong(what, "an integer in decimal", text)
    value = _natural(digits)
    return -value if len(digits) < len(text) else value


def _natural(digits: str) -> int:
    if len(digits) <= _DIGITS:
        return int(digits)
    low = len(digits) // 2
    scale: int = 10**low
    return _natural(digits[:-low]) * scale + _natural(digits[-low:])


def _withheld(what: str, text: str, ok: bool) -> int | None:
    """A count: None where a check failed, whatever was sent."""
    return exact(what, text) if ok else None


def _exacts(what: str, texts: Iterable[str], ok: bool) -> tuple[int, ...]:
    return tuple(exact(what, text) for text in texts) if ok else ()


def _checks(checks: Iterable[job_pb2.Check]) -> tuple[Check, ...]:
    return tuple(Check(check.name, check.ok, check.detail) for check in checks)


def _value(entry: job_pb2.SeriesEntry, shown: bool) -> Value:
    shown = shown and entry.ok
    return Value(
        index=entry.index,
        name=entry.name,
        count=_withheld("SeriesEntry.count", entry.count, shown),
        coefficients=_exacts("SeriesEntry.counts", entry.counts, shown),
        ok=entry.ok,
        checks=_checks(entry.checks),
    )


def outcome(message: job_pb2.Outcome, found: Iterable[job_pb2.SeriesEntry] = ()) -> Outcome:
    """What a finished job found, with values that came beside it. ``ok`` must agree with the checks."""
    checks = _checks(message.checks)
    ok = message.ok and all(check.ok for check in checks)
    return Outcome(
        problem=message.problem,
        size=message.size,
        count=_withheld("Outcome.count", message.count, ok),
        coefficients=_exacts("Outcome.counts", message.counts, ok),
        residues=tuple(Residue(residue.modulus, residue.residue) for residue in message.residues),
        series=tuple(_value(entry, ok) for entry in (found if ok else message.series)),
        checks=checks,
        ok=ok,
        identity=message.identity,
        builds=tuple(message.builds),
    )


def _plan(message: job_pb2.Plan) -> Plan:
    return Plan(
        executor=message.executor,
        why=message.why,
        height=message.board.height,
        length=message.board.length,
        moduli=tuple(message.moduli),
        sweeps=len(message.sweeps),
        windows=tuple(window.len for window in message.windows),
        task_memory_bytes=message.task_memory_bytes,
        states=tuple(message.states),
        peak_states=message.peak_states,
        disk_bytes=message.disk_bytes,
    )


def state_to(state: JobState) -> job_pb2.JobState.ValueType:
    """A state as a message has it."""
    return next(number for number, known in _STATES.items() if known is state)


def status(message: job_pb2.JobStatus, found: Iterable[job_pb2.SeriesEntry] = ()) -> JobStatus:
    """A job at one moment, with values that came beside it."""
    known = tuple(found)
    state = _STATES.get(message.state)
    if state is None:
        raise _wrong("JobStatus.state", "a state of a job", message.state)
    if state is JobState.DONE and not (message.HasField("outcome") and message.outcome.ok):
        raise _wrong("JobStatus.outcome", "a result whose checks all hold, for the job is done", "none")
    return JobStatus(
        job=f"j{message.job}",
        problem=message.problem,
        size=message.size,
        options={option.name: option.value for option in message.options},
        state=state,
        reason=message.reason,
        priority=message.priority,
        plan=_plan(message.plan) if message.HasField("plan") else None,
        sweep=message.sweep,
        stage=message.stage,
        passes_done=getattr(message, "pass"),
        passes=message.passes,
        column=message.column,
        states=message.states,
        states_done=message.states_done,
        states_stage=message.states_stage,
        states_per_second=message.states_per_second,
        peak_states=message.peak_states,
        tasks=message.tasks,
        tasks_done=message.tasks_done,
        tasks_running=message.tasks_running,
        disk_bytes=message.disk_bytes,
        disk_peak_bytes=message.disk_peak_bytes,
        bytes_read=message.bytes_read,
        bytes_written=message.bytes_written,
        seconds=message.seconds,
        eta_seconds=message.eta_seconds if message.HasField("eta_seconds") else None,
        series=() if message.HasField("outcome") else tuple(_value(entry, True) for entry in known),
        outcome=outcome(message.outcome, known) if message.HasField("outcome") else None,
        notes=tuple(message.notes),
        workers=tuple(JobWorker(worker.worker, worker.running, worker.note) for worker in message.workers),
        resumed_from=message.resumed_from if message.HasField("resumed_from") else None,
        name=message.terms.name,
        note=message.terms.note,
        owner=message.terms.owner,
        waits_for=message.waits_for,
        max_workers=message.terms.max_workers or None,
        max_disk_bytes=message.terms.max_disk_bytes or None,
        level=message.level,
        submitted=message.submitted_millis / 1000 if message.submitted_millis else None,
        ended=message.ended_millis / 1000 if message.ended_millis else None,
        task_seconds=message.task_seconds,
        values_known=message.values_known,
    )


def worker(message: job_pb2.WorkerStatus) -> Worker:
    """A worker of the coordinator."""
    return Worker(
        worker=message.worker,
        address=message.address,
        folder=message.folder,
        is_here=message.here,
        silent_seconds=message.silent_millis / 1000,
        slots=message.slots,
        running=message.running,
        task_memory_bytes=message.task_memory_bytes,
        disk_bytes=message.disk_bytes,
        disk_used_bytes=message.disk_used_bytes,
        memory_used_bytes=message.memory_used_bytes if message.HasField("memory_used_bytes") else None,
        runs=message.runs,
        set_aside={f"j{aside.job}": aside.reason for aside in message.set_aside},
    )
