"""keima counts combinatorial objects exactly, on one machine or on a cluster. This package talks to its coordinator.

>>> from keima import Client
>>> with Client("http://127.0.0.1:7700") as client:
...     job = client.submit("go", "9x9")
...     for status in client.watch(job):
...         print(status)
...     print(client.result(job).count)
"""

from keima.client import Client
from keima.errors import (
    AccessDenied,
    BadAnswer,
    CheckFailed,
    CoordinatorBroken,
    InvalidRequest,
    JobCancelled,
    KeimaError,
    NoSuchJob,
    NotFinished,
    NotNow,
    Refused,
    Unreachable,
    Untrusted,
    UsageError,
    VersionMismatch,
    WrongState,
)
from keima.jobs import Check, JobState, JobStatus, JobWorker, Outcome, Plan, Residue, Value, Worker
from keima.results import Result, Row, Table, decimal, result_from_json

__all__ = [
    "AccessDenied",
    "BadAnswer",
    "Check",
    "CheckFailed",
    "Client",
    "CoordinatorBroken",
    "InvalidRequest",
    "JobCancelled",
    "JobState",
    "JobStatus",
    "JobWorker",
    "KeimaError",
    "NoSuchJob",
    "NotFinished",
    "NotNow",
    "Outcome",
    "Plan",
    "Refused",
    "Residue",
    "Result",
    "Row",
    "Table",
    "Unreachable",
    "Untrusted",
    "UsageError",
    "Value",
    "VersionMismatch",
    "Worker",
    "WrongState",
    "decimal",
    "result_from_json",
]
