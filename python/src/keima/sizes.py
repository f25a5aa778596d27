"""Numbers of bytes and names of jobs, as people write them."""

from __future__ import annotations

import re
from fractions import Fraction

from keima.errors import UsageError

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)\s*", re.IGNORECASE)
_FACTORS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _FACTORS[_letter] = _FACTORS[f"{_letter}ib"] = 1024**_power
    _FACTORS[f"{_letter}b"] = 1000**_power

#: Numbers of the protocol are below this.
LARGEST = 2**63


def parse_bytes(size: int | str) -> int:
    """Bytes from ``"512MiB"``, ``"1.5g"``, ``"50 GB"`` or a number; powers of 1024 with an ``i``, of 1000 without."""
    if isinstance(size, str):
        match = _SIZE.fullmatch(size)
        factor = _FACTORS.get(match[2].lower()) if match else None
        if match is None or factor is None:
            raise UsageError(
                f"{size!r} is not a number of bytes", advice="write a number and a unit, such as 512MiB, 2GiB or 50GB"
            )
        size = int(Fraction(match[1]) * factor)
    if not 1 <= size < LARGEST:
        raise UsageError(f"{size} bytes are out of range", advice=f"give at least 1 and less than {LARGEST}")
    return size


def job_number(job: int | str) -> int:
    """The number of ``"j7"``, ``"7"`` or ``7``."""
    digits = str(job).removeprefix("j")
    if not (digits.isascii() and digits.isdigit()) or int(digits) >= 2**64:
        raise UsageError(f"{job!r} is not the name of a job, such as j1", advice="Client.jobs() lists them")
    return int(digits)
