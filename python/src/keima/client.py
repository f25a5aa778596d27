"""A coordinator's client: the calls of ``keima submit``, ``jobs``, ``status``, ``watch``, ``result`` and so on.

A client keeps one connection and may be used by several threads. Every call has a deadline. Reading calls may simply be made
again after an error that ``may_pass``; ``submit`` may not, for each submission is a job of its own.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import TypeVar

import grpc

from keima import convert
from keima.access import Access
from keima.errors import BadAnswer, KeimaError, NotFinished, UsageError
from keima.jobs import JobState, JobStatus, Worker
from keima.refusals import refusal
from keima.results import Result, result_of
from keima.sizes import job_number, parse_bytes
from keima.v1 import PROTOCOL_VERSION, common_pb2, job_pb2
from keima.v1.job_pb2_grpc import JobServiceStub

#: Deadline of a call.
DEADLINE_SECONDS = 60.0
#: How long ``watch`` waits for a coordinator that does not answer.
PATIENCE_SECONDS = 600.0
#: Memory of a task if no worker is connected to say what it offers.
_TASK_MEMORY_BYTES = 256 << 20

#: Most jobs of one answer.
_PAGE_JOBS = 1000
#: As many values as there are.
_ALL_VALUES = 2**32 - 1

_EXECUTORS = {
    "auto": job_pb2.EXECUTOR_AUTO,
    "stream": job_pb2.EXECUTOR_STREAM,
    "block": job_pb2.EXECUTOR_BLOCK,
}

_Answer = TypeVar("_Answer")

#: A problem's options: ``{"closed": True, "max-fences": 3}``, or texts ``NAME`` and ``NAME=VALUE``.
Options = Mapping[str, str | int | bool] | Iterable[str]


class Client:
    """A connection to a coordinator.

    What is not given comes from ``KEIMA_COORDINATOR``, ``KEIMA_FINGERPRINT``, ``KEIMA_TLS_CA`` and ``KEIMA_TOKEN_FILE``, as
    for the program ``keima``. ``https://`` needs ``fingerprint`` or ``tls_ca``, and ``token_file``; ``http://`` takes none.
    """

    def __init__(
        self,
        coordinator: str | None = None,
        *,
        fingerprint: str | None = None,
        tls_ca: str | os.PathLike[str] | None = None,
        token_file: str | os.PathLike[str] | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self._access = Access.of(coordinator, fingerprint, tls_ca, token_file)
        self._deadline_seconds = deadline_seconds
        self._channel = self._access.channel()
        self._stub = JobServiceStub(self._channel)

    @property
    def url(self) -> str:
        """The coordinator's URL."""
        return self._access.url

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def submit(
        self,
        problem: str,
        size: str,
        options: Options = (),
        *,
        priority: int = 0,
        task_memory: int | str | None = None,
        disk: int | str | None = None,
        residues_per_sweep: int | None = None,
        window: int | None = None,
        executor: str = "auto",
        series: bool = False,
        name: str = "",
        note: str = "",
        owner: str | None = None,
        max_workers: int | None = None,
        max_disk: int | str | None = None,
    ) -> str:
        """Submits a job and returns its name, such as ``"j1"``.

        ``task_memory`` and ``disk`` are bytes or texts such as ``"2GiB"``. What is not given follows the workers that are
        there when the job begins. Jobs of higher ``priority`` go first. With ``series`` the counts of all shorter boards
        are kept. ``owner`` is ``KEIMA_OWNER`` or the local user if it is not given: owners share the workers. At most
        ``max_workers`` have tasks of the job at a time. It pauses when its runs take more than ``max_disk``.
        """
        if executor not in _EXECUTORS:
            raise UsageError(f"executor: expected one of {', '.join(_EXECUTORS)}, got {executor!r}")
        here = [worker for worker in self.workers() if worker.is_here]
        memory = min((worker.task_memory_bytes for worker in here), default=_TASK_MEMORY_BYTES)
        room = min(sum(worker.disk_bytes for worker in here), 2**64 - 1)
        with _in_range("submit"):
            terms = _terms(name, note, owner, max_workers, max_disk)
            spec = job_pb2.JobSpec(
                problem=common_pb2.Problem(name=problem, size=size, options=_options(options)),
                priority=priority,
                task_memory_bytes=memory if task_memory is None else parse_bytes(task_memory),
                disk_bytes=(room or None) if disk is None else parse_bytes(disk),
                residues_per_sweep=residues_per_sweep,
                window=window,
                # More workers may come later. Tasks cut for one slot would leave a second one idle.
                slots=max(sum(worker.slots for worker in here), 2),
                worker_slots=min((worker.slots for worker in here), default=0),
                executor=_EXECUTORS[executor],
                series=series,
                task_memory_of_workers=task_memory is None,
                disk_of_workers=disk is None,
                slots_of_workers=True,
            )
        return self._submit(job_pb2.SubmitJobRequest(protocol_version=PROTOCOL_VERSION, spec=spec, terms=terms))

    def resume_from(
        self,
        checkpoint: str,
        *,
        replan: bool = False,
        task_memory: int | str | None = None,
        disk: int | str | None = None,
        name: str = "",
        note: str = "",
        owner: str | None = None,
        max_workers: int | None = None,
        max_disk: int | str | None = None,
    ) -> str:
        """Goes on with a checkpoint of the coordinator's archive: its URL, or a job's folder in it. Returns the job's name.

        With ``replan`` the rest is planned anew, for ``task_memory`` and ``disk``, and else for the workers that are there.
        The rest is as for ``submit``.
        """
        if not checkpoint:
            raise UsageError("resume_from: expected the archive's URL, or a job's folder in it, got an empty text")
        if not replan and (task_memory is not None or disk is not None):
            raise UsageError("resume_from: a job keeps its plan; give replan=True with task_memory or disk")
        with _in_range("resume_from"):
            terms = _terms(name, note, owner, max_workers, max_disk)
            limits = job_pb2.Replan(
                task_memory_bytes=None if task_memory is None else parse_bytes(task_memory),
                disk_bytes=None if disk is None else parse_bytes(disk),
            )
            request = job_pb2.SubmitJobRequest(
                protocol_version=PROTOCOL_VERSION,
                resume_from=checkpoint,
                terms=terms,
                replan=limits if replan else None,
            )
        return self._submit(request)

    def _submit(self, request: job_pb2.SubmitJobRequest) -> str:
        return f"j{self._call(lambda **k: self._stub.SubmitJob(request, **k)).job}"

    def jobs(
        self,
        *,
        state: JobState | Iterable[JobState] = (),
        owner: str | None = None,
        name: str | None = None,
        since: datetime | float | None = None,
        after: int | str | None = None,
        limit: int | None = None,
        archived: bool = False,
    ) -> tuple[JobStatus, ...]:
        """Jobs without their values, the newest first: all of them, or those that the filters let through.

        ``state`` is one or several; ``since`` is when they were submitted at the earliest, a time or seconds since 1970. A page
        has ``limit`` jobs, and the next one begins ``after`` the last of them. With ``archived`` these are the jobs that have
        left the coordinator's list.
        """
        states = (state,) if isinstance(state, JobState) else tuple(state)
        if limit is not None and limit < 1:
            raise UsageError(f"limit: expected a whole number from 1 on, got {limit}")
        with _in_range("jobs"):
            request = job_pb2.ListJobsRequest(
                protocol_version=PROTOCOL_VERSION,
                states=map(convert.state_to, states),
                owner=owner,
                name=name,
                since_millis=None if since is None else _millis(since),
                after=None if after is None else job_number(after),
                archived=archived,
            )
        jobs: list[JobStatus] = []
        while True:
            left = 0 if limit is None else limit - len(jobs)
            request.limit = min(left, _PAGE_JOBS)
            answer = self._call(lambda **k: self._stub.ListJobs(request, **k))
            jobs.extend(map(convert.status, answer.jobs))
            # A list goes on with older jobs, or ends.
            is_last = not answer.HasField("next") or request.HasField("after") and answer.next >= request.after
            if is_last or limit is not None and len(jobs) >= limit:
                return tuple(jobs)
            request.after = answer.next

    def workers(self) -> tuple[Worker, ...]:
        """All workers that the coordinator knows."""
        request = job_pb2.ListWorkersRequest(protocol_version=PROTOCOL_VERSION)
        return tuple(map(convert.worker, self._call(lambda **k: self._stub.ListWorkers(request, **k)).workers))

    def status(self, job: int | str, *, values: int | None = None) -> JobStatus:
        """A job as it is now, with all its values, or with the newest ``values`` of them."""
        return self._get(job, values=_ALL_VALUES if values is None else values)[0]

    def certificate(self, job: int | str) -> str | None:
        """The evidence of a finished job, JSON in canonical form; None if there is none. ``keima verify`` checks results."""
        return self._get(job, certificate=True)[1]

    def _get(self, job: int | str, *, values: int = 0, certificate: bool = False) -> tuple[JobStatus, str | None]:
        with _in_range("status"):
            request = job_pb2.GetJobRequest(
                protocol_version=PROTOCOL_VERSION,
                job=job_number(job),
                certificate=certificate,
                newest_values=values,
            )
        status: job_pb2.JobStatus | None = None
        found: list[job_pb2.SeriesEntry] = []
        evidence: list[str] = []
        # A job comes in pieces of about a megabyte: its status, its values, its certificate.
        for piece in self._pieces(request, job):
            if status is None and piece.HasField("status"):
                status = piece.status
            found.extend(piece.values)
            if piece.HasField("certificate"):
                evidence.append(piece.certificate)
        if status is None:
            raise BadAnswer("GetJobResponse.status: expected a status, got none", address=self.url)
        return convert.status(status, found), "".join(evidence) or None

    def _pieces(self, request: job_pb2.GetJobRequest, job: int | str) -> Iterator[job_pb2.GetJobResponse]:
        try:
            yield from self._stub.GetJob(request, timeout=self._deadline_seconds)
        except grpc.RpcError as error:
            raise refusal(error, self._access, job) from error

    def change(
        self,
        job: int | str,
        *,
        priority: int | None = None,
        name: str | None = None,
        note: str | None = None,
        owner: str | None = None,
        max_workers: int | None = None,
        max_disk: int | str | None = None,
    ) -> None:
        """Changes a job at any time. What is not given stays as it is; 0 lifts a cap.

        Of a job that is over, name, note and owner can be changed.
        """
        with _in_range("change"):
            request = job_pb2.ChangeJobRequest(
                protocol_version=PROTOCOL_VERSION,
                job=job_number(job),
                priority=priority,
                name=name,
                note=note,
                owner=owner,
                max_workers=max_workers,
                max_disk_bytes=None if max_disk is None else _cap(max_disk),
            )
        self._call(lambda **k: self._stub.ChangeJob(request, **k), job)

    def pause(self, job: int | str) -> None:
        """Stops granting tasks of a job. Running tasks finish and are kept."""
        request = job_pb2.PauseJobRequest(protocol_version=PROTOCOL_VERSION, job=job_number(job))
        self._call(lambda **k: self._stub.PauseJob(request, **k), job)

    def resume(self, job: int | str) -> None:
        """Goes on with a paused job."""
        request = job_pb2.ResumeJobRequest(protocol_version=PROTOCOL_VERSION, job=job_number(job))
        self._call(lambda **k: self._stub.ResumeJob(request, **k), job)

    def cancel(self, job: int | str) -> None:
        """Ends a job and deletes its files."""
        request = job_pb2.CancelJobRequest(protocol_version=PROTOCOL_VERSION, job=job_number(job))
        self._call(lambda **k: self._stub.CancelJob(request, **k), job)

    def result(self, job: int | str) -> Result:
        """The result of a job that is done; ``NotFinished``, ``CheckFailed`` or ``JobCancelled`` otherwise."""
        return result_of(self.status(job))

    def watch(
        self, job: int | str, *, interval_seconds: float = 0.5, patience_seconds: float = PATIENCE_SECONDS
    ) -> Iterator[JobStatus]:
        """A job's status now and after each change, until it is over. A paused job is not over.

        Each has the values that became known since the one before, not all of them; ``status`` and ``result`` have all.
        If the coordinator does not answer, or is started again, this waits for it for ``patience_seconds``.
        """
        return self._watch(job, interval_seconds, patience_seconds, None)

    def wait(
        self,
        job: int | str,
        *,
        timeout_seconds: float | None = None,
        progress: Callable[[JobStatus], object] | None = None,
    ) -> Result:
        """Waits until a job is over and returns its result.

        ``progress`` is called with each new status. After ``timeout_seconds`` this raises ``NotFinished``, and the job keeps
        running.
        """
        end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        status = None
        for status in self._watch(job, 0.5, PATIENCE_SECONDS, end):
            if progress is not None:
                progress(status)
        status = status or self.status(job, values=0)
        if not status.state.is_over:
            advice = f'it keeps running; Client.wait("{status.job}") waits again'
            raise NotFinished(f"{status} after {timeout_seconds} s", status, advice=advice)
        return self.result(status.job)

    def _watch(
        self, job: int | str, interval_seconds: float, patience_seconds: float, end: float | None
    ) -> Iterator[JobStatus]:
        """The same until ``end``, a time of ``time.monotonic``."""
        request = job_pb2.WatchJobRequest(
            protocol_version=PROTOCOL_VERSION,
            job=job_number(job),
            interval_millis=min(max(int(1000 * interval_seconds), 100), 60_000),
        )
        away_since: float | None = None
        wait_seconds = 0.1
        known = 0
        while True:
            left = None if end is None else max(end - time.monotonic(), 0.0)
            request.values_known = known
            found: list[job_pb2.SeriesEntry] = []
            stream = self._stub.WatchJob(request, timeout=left)
            try:
                for answer in stream:
                    away_since, wait_seconds = None, 0.1
                    found.extend(answer.values)
                    if not answer.HasField("status"):
                        continue
                    status = convert.status(answer.status, found)
                    # After a fall back there are fewer.
                    known = min(known, status.values_known) + len(found)
                    found = []
                    yield status
                    if status.state.is_over:
                        return
            except grpc.RpcError as error:
                now = time.monotonic()
                if end is not None and now >= end:
                    return
                refused = refusal(error, self._access, job)
                away_since = now if away_since is None else away_since
                if not refused.may_pass or now - away_since >= patience_seconds:
                    raise refused from error
            finally:
                stream.cancel()  # type: ignore[no-untyped-call]
            # Many watchers must not come back in step.
            time.sleep(wait_seconds * random.uniform(0.5, 1.0))
            wait_seconds = min(2 * wait_seconds, 2.0)

    def _call(self, call: Callable[..., _Answer], job: int | str | None = None) -> _Answer:
        try:
            return call(timeout=self._deadline_seconds)
        except grpc.RpcError as error:
            raise refusal(error, self._access, job) from error


@contextmanager
def _in_range(call: str) -> Iterator[None]:
    """Numbers that no message has room for are the caller's."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, KeimaError):
            raise
        raise UsageError(f"{call}: an argument is out of range: {error}") from error


def _terms(
    name: str, note: str, owner: str | None, max_workers: int | None, max_disk: int | str | None
) -> job_pb2.Terms:
    return job_pb2.Terms(
        name=name,
        note=note,
        owner=_user() if owner is None else owner,
        # 0 is no cap.
        max_workers=max_workers or 0,
        max_disk_bytes=0 if max_disk is None else parse_bytes(max_disk),
    )


def _cap(size: int | str) -> int:
    return 0 if size in (0, "0") else parse_bytes(size)


def _millis(moment: datetime | float) -> int:
    return int(1000 * (moment.timestamp() if isinstance(moment, datetime) else moment))


def _user() -> str:
    """Who submits, as the program ``keima`` would say."""
    names = (os.environ.get(name) for name in ("KEIMA_OWNER", "USER", "LOGNAME"))
    return next((name for name in names if name), "")


def _options(options: Options) -> list[common_pb2.ProblemOption]:
    if isinstance(options, str):
        raise UsageError(f"options: expected several, got the text {options!r}", advice=f"write [{options!r}]")
    pairs: dict[str, str] = {}
    if isinstance(options, Mapping):
        for name, value in options.items():
            if value is not False:
                pairs[name] = "" if value is True else str(value)
    else:
        for text in options:
            name, _, value = text.partition("=")
            pairs[name] = value
    # The order of options does not matter.
    return [common_pb2.ProblemOption(name=name, value=pairs[name]) for name in sorted(pairs)]
