"""What a fault is, and which ones there are.

A fault begins, lasts, and ends. It counts only if it took effect, which each kind checks for itself: the process died
by the signal, the datagram did not arrive, the write failed, the bytes on the disk are others. While it lasts it
claims what it harms, so that two faults do not undo each other; faults of different hosts and links overlap.
"""

import time


class Fault:
    """A fault under way. `end` undoes it at `until`; `look` may end it sooner, and says whether it took effect."""

    def __init__(self, kind, victim, claims, seconds, end=None, look=None, services=()):
        self.kind = kind
        self.victim = victim
        self.claims = set(claims)
        self.until = time.monotonic() + seconds
        self.end = end or (lambda: None)
        # None for a fault whose effect was seen when it began.
        self.look = look
        self.services = services


class Missed(Exception):
    """The fault found nothing to harm, or had no effect."""


class Kind:
    """A kind of fault: its name, how often it comes, whether this machine allows it, and how it begins."""

    def __init__(self, name, weight, begin, allowed):
        self.name = name
        self.weight = weight
        self.begin = begin
        self.allowed = allowed


KINDS = []


def kind(name, weight, allowed=lambda world: True):
    """Adds a kind. Its function takes the world and a random generator, and returns a Fault or raises Missed."""

    def add(begin):
        KINDS.append(Kind(name, weight, begin, allowed))
        return begin

    return add
