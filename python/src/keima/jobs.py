"""Jobs, their results and the workers, as immutable values. All counts are exact: ``int``, or None where withheld."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class JobState(str, Enum):
    """What a job does."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    CHECK_FAILED = "check failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self in (JobState.DONE, JobState.CHECK_FAILED, JobState.CANCELLED)

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Check:
    """One check and what it found."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Residue:
    """A count modulo one prime."""

    modulus: int
    residue: int


@dataclass(frozen=True, slots=True)
class Value:
    """The value of one functional: for Go L(m, index) at the end of column ``index``."""

    index: int
    name: str
    #: None if a check failed.
    count: int | None
    #: By coefficient; empty if there is only one, or a check failed.
    coefficients: tuple[int, ...]
    ok: bool
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a finished job found, good or bad."""

    problem: str
    size: str
    #: None if any check failed.
    count: int | None
    #: By coefficient; empty if there is only one, or a check failed.
    coefficients: tuple[int, ...]
    #: The spare prime is the last.
    residues: tuple[Residue, ...]
    series: tuple[Value, ...]
    checks: tuple[Check, ...]
    ok: bool
    #: The problem in its own words, and a fingerprint of its recurrence.
    identity: str
    #: The builds of keima that took part, the one that began the job first.
    builds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a job is done."""

    #: ``"stream"`` or ``"block"``, and why.
    executor: str
    why: str
    #: The board in the orientation in which it is filled.
    height: int
    length: int
    moduli: tuple[int, ...]
    sweeps: int
    #: Cells of the windows of a column.
    windows: tuple[int, ...]
    task_memory_bytes: int
    #: Forecast of the states after each pass; empty where the problem has none.
    states: tuple[int, ...]
    peak_states: int
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class JobWorker:
    """A worker as one job sees it."""

    worker: str
    running: int
    #: Why it gets no tasks; empty if it does.
    note: str


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job at one moment."""

    #: ``"j1"``.
    job: str
    problem: str
    size: str
    options: dict[str, str]
    state: JobState
    #: Why it is in this state, and what to do.
    reason: str
    priority: int
    plan: Plan | None
    sweep: int
    stage: int
    passes_done: int
    passes: int
    column: int
    #: States of the newest complete boundary.
    states: int
    states_done: int
    states_stage: int
    states_per_second: float
    peak_states: int
    tasks: int
    tasks_done: int
    tasks_running: int
    disk_bytes: int
    disk_peak_bytes: int
    bytes_read: int
    bytes_written: int
    #: Running time, over all restarts.
    seconds: float
    #: None if unknown.
    eta_seconds: float | None
    #: Values of shorter boards that are known already, as far as they were asked for. Empty in lists; in a watch those that are new.
    series: tuple[Value, ...]
    outcome: Outcome | None
    notes: tuple[str, ...]
    workers: tuple[JobWorker, ...]
    resumed_from: str | None
    #: For people; may be empty.
    name: str = ""
    note: str = ""
    owner: str = ""
    #: What it waits for; empty if it does not.
    waits_for: str = ""
    #: Its caps; None for none.
    max_workers: int | None = None
    max_disk_bytes: int | None = None
    #: Its priority, raised by what it waited.
    level: int = 0
    #: Moments, in seconds since 1970; None where they are not known, or not yet.
    submitted: float | None = None
    ended: float | None = None
    #: Time of its tasks, all workers together.
    task_seconds: float = 0.0
    #: Number of values that are known.
    values_known: int = 0

    @property
    def fraction(self) -> float:
        """How much of the work is done, from 0 to 1: in state-passes if the plan has a forecast, else in passes."""
        if self.state is JobState.DONE:
            return 1.0
        if self.plan is None:
            return 0.0
        forecast = self.plan.states

        def weight(first: int, end: int) -> float:
            passes = range(first, min(end, self.passes))
            return sum(float(forecast[at]) if at < len(forecast) else 1.0 for at in passes)

        sweep = weight(0, self.passes)
        part = self.states_done / max(self.states_stage, 1)
        now = weight(self.passes_done, self.passes_done + max(self.plan.windows, default=1)) * part
        done = sweep * self.sweep + min(weight(0, self.passes_done) + now, sweep)
        return min(max(done / max(sweep * self.plan.sweeps, 1e-9), 0.0), 1.0)

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.job} {self.problem} {self.size} {self.state}{reason}, {100 * self.fraction:.0f} %"


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker of the coordinator."""

    worker: str
    address: str
    folder: str
    #: Whether it called within the time of a lease.
    is_here: bool
    silent_seconds: float
    slots: int
    running: int
    task_memory_bytes: int
    disk_bytes: int
    disk_used_bytes: int
    #: Memory of its process that is in use; None where it has not told.
    memory_used_bytes: int | None
    runs: int
    #: Jobs of which it gets no tasks, with the reason.
    set_aside: dict[str, str] = field(default_factory=dict)
