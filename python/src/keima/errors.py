"""What can go wrong, one class for each thing that a caller may want to treat differently.

Every error says what happened, with the evidence, and what to do next. Refusals of the coordinator carry the gRPC code
and the kind that it sends beside it (metadata ``keima-error``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keima.jobs import Check, JobStatus

__all__ = [
    "AccessDenied",
    "BadAnswer",
    "CheckFailed",
    "CoordinatorBroken",
    "InvalidRequest",
    "JobCancelled",
    "KeimaError",
    "NoSuchJob",
    "NotFinished",
    "NotNow",
    "Refused",
    "Unreachable",
    "Untrusted",
    "UsageError",
    "VersionMismatch",
    "WrongState",
]


class KeimaError(Exception):
    """Any error of this package. ``str(error)`` has all of it in one text."""

    #: Whether the same call may succeed later by itself.
    may_pass: bool = False

    def __init__(self, what: str, *, advice: str = "", address: str = "", code: str = "", kind: str = "") -> None:
        #: What happened.
        self.what = what
        #: What to do next; empty if ``what`` says it.
        self.advice = advice
        #: URL of the coordinator; empty if none was asked.
        self.address = address
        #: Name of the gRPC code, such as ``NOT_FOUND``; empty if there was no call.
        self.code = code
        #: Kind of the refusal, such as ``no-such-job``; empty if the coordinator named none.
        self.kind = kind
        evidence = ", ".join(part for part in (code, kind) if part)
        text = f"{address}: {what}" if address else what
        if evidence:
            text += f" [{evidence}]"
        super().__init__(f"{text}; {advice}" if advice else text)


class UsageError(KeimaError, ValueError):
    """Arguments that make no sense together; nothing was sent."""


class Unreachable(KeimaError):
    """Nobody answers in time. Trying again may help."""

    may_pass = True


class Untrusted(KeimaError):
    """The server is not the one that is trusted. No token was sent."""


class VersionMismatch(KeimaError):
    """Coordinator and client speak different versions of the protocol."""


class AccessDenied(KeimaError):
    """The token is not known there, or its role may not do this."""


class NoSuchJob(KeimaError, LookupError):
    """The coordinator has no job of this name."""


class WrongState(KeimaError):
    """The job's state does not allow it."""


class InvalidRequest(KeimaError, ValueError):
    """The coordinator cannot do what was asked: an unknown problem, a wrong size, too little memory or disk."""


class NotNow(KeimaError):
    """The coordinator has too much to do. Trying again helps, or gets a clear answer."""

    may_pass = True


class CoordinatorBroken(KeimaError):
    """The coordinator cannot store its decisions any more. Somebody must start it again."""

    may_pass = True


class Refused(KeimaError):
    """Any other refusal."""


class BadAnswer(KeimaError):
    """The answer makes no sense: what came, and what was expected."""


class _OfJob(KeimaError):
    def __init__(self, what: str, status: JobStatus, *, advice: str = "") -> None:
        super().__init__(what, advice=advice)
        #: The job, as it was when the error was raised.
        self.status = status


class NotFinished(_OfJob):
    """The job has no number yet: it waits, runs, or is paused."""


class JobCancelled(_OfJob):
    """The job was cancelled."""


class CheckFailed(_OfJob):
    """A check failed, so the number is withheld."""

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed, with their evidence."""
        outcome = self.status.outcome
        return tuple(check for check in outcome.checks if not check.ok) if outcome else ()
