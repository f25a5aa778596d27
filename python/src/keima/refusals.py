"""From a failed call to an error that says what to do."""

from __future__ import annotations

import grpc

from keima import errors
from keima.access import START, Access
from keima.v1 import PROTOCOL_VERSION

#: Metadata with the kind of a refusal.
_KIND = "keima-error"

_SAME_VERSION = (
    f"this client speaks version {PROTOCOL_VERSION} of the protocol: install the same version of keima on both sides"
)

#: The kinds of refusals that a user's call may get, each with its class and what to do.
_KINDS: dict[str, tuple[type[errors.KeimaError], str]] = {
    "version": (errors.VersionMismatch, _SAME_VERSION),
    "no-such-job": (errors.NoSuchJob, "Client.jobs() lists the jobs"),
    "wrong-state": (errors.WrongState, "Client.status() tells what it does"),
    "invalid": (errors.InvalidRequest, ""),
    "not-now": (errors.NotNow, "try again"),
    "no-credentials": (
        errors.AccessDenied,
        "give token_file=FILE with a token that this coordinator knows; after a change of its folder tls copy the file anew",
    ),
    "wrong-role": (
        errors.AccessDenied,
        "take the token of another role: client.token may submit and steer, reader.token may only look",
    ),
    "broken": (errors.CoordinatorBroken, "look at its log and its disk, then start it again on its data folder"),
}

_MAY_PASS = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
)


def refusal(error: grpc.RpcError, access: Access, job: int | str | None = None) -> errors.KeimaError:
    """The typed error for a failed call."""
    if not isinstance(error, grpc.Call):
        return errors.Unreachable(str(error), address=access.url, advice=START)
    code = error.code()
    text = error.details() or "no details"
    metadata = dict(error.trailing_metadata() or ())
    kind = metadata.get(_KIND, "")
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    evidence = {"address": access.url, "code": code.name, "kind": kind}
    if kind in _KINDS:
        kind_of_error, advice = _KINDS[kind]
        return kind_of_error(text, advice=advice, **evidence)
    if kind:
        return errors.Refused(text, **evidence)
    # Not a refusal of keima: it comes from the transport, or another program listens there.
    if code is grpc.StatusCode.UNIMPLEMENTED:
        what = f"the program there is not a coordinator of this version of keima ({text})"
        return errors.VersionMismatch(what, advice="check the address; " + _SAME_VERSION, **evidence)
    if code in _MAY_PASS:
        return access.why_not() or errors.Unreachable(text, advice=START, **evidence)
    what = text if job is None else f"{job}: {text}"
    return errors.Refused(what, **evidence)
