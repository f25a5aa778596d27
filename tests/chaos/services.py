"""Coordinator and workers as processes, and what starts them again.

It does what systemd does by the units in deploy/systemd: a process that ended is started again after a moment, on the same
folders and with the same command line. It never deletes a file, and never resumes a job. Where that is not enough, a
person would have to come: after code 2 or 6, which the units do not start again, and where a process cannot start for
half a minute though its host is sound. Each such case counts as a manual step. One has a count of its own: while a copy
of a scratch folder has the worker's name, the worker itself may be refused. Who copied the folder has to end the process
on the copy. Here the fault does that, and `ended_copies` counts it.
"""

import signal
import subprocess
import time
from pathlib import Path

RESTART_SECONDS = 0.5
# A process that lives so long has started.
STARTED_SECONDS = 2.0
# Longest time without a start on a sound host.
PATIENCE_SECONDS = 30.0
# Codes after which the units do not start a process again.
FOR_A_PERSON = (2, 6)


class Service:
    """A coordinator or worker on its host."""

    def __init__(self, name, host, disk, words, log):
        self.name = name
        self.host = host
        self.disk = disk
        self.words = words
        self.log = Path(log)
        self.process = None
        # A fault keeps it down, and harms its host until then.
        self.down = False
        self.harmed_until = 0.0
        # A copy of its folder is at work: until then it may be refused.
        self.copied_until = 0.0
        self.started = 0.0
        self.restart_at = 0.0
        self.failing_since = None
        # Ends that no fault had asked for: (seconds, code).
        self.ends = []

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.host.command(*self.words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        self.started = time.monotonic()

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """kill -9; whether it was this that ended the process."""
        if not self.is_alive():
            return False
        self.signal(signal.SIGKILL)
        try:
            return self.process.wait(timeout=20) == -signal.SIGKILL
        except subprocess.TimeoutExpired:
            return False

    def is_stopped(self):
        """Whether SIGSTOP holds it."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] == "T"

    def times_said(self, words):
        """How often its log has these words."""
        return self.log.read_bytes().count(words.encode()) if self.log.exists() else 0

    def last_words(self, lines=3):
        """The end of its log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return " | ".join(line.strip() for line in text.strip().splitlines()[-lines:])


class Supervisor:
    """Starts services again."""

    def __init__(self, services, begun):
        self.services = services
        self.begun = begun
        # What a person would have had to do, in words.
        self.manual = []
        # Services that wait for a person already: each counts once.
        self.told = set()

    def tick(self):
        now = time.monotonic()
        for service in self.services:
            if service.down:
                continue
            if service.is_alive():
                if now - service.started > STARTED_SECONDS:
                    service.failing_since = None
                    self.told.discard(service.name)
                continue
            if service.process is not None and service.restart_at == 0.0:
                self.ended(service, now)
            if now >= service.restart_at:
                service.restart_at = 0.0
                service.start()

    def ended(self, service, now):
        """A service ended by itself."""
        code = service.process.returncode
        service.restart_at = now + RESTART_SECONDS
        service.ends.append((round(now - self.begun, 1), code))
        harmed = now < service.harmed_until
        if harmed:
            service.failing_since = None
        elif service.failing_since is None:
            service.failing_since = now
        late = service.failing_since is not None and now - service.failing_since > PATIENCE_SECONDS
        refused = code in FOR_A_PERSON and now >= service.copied_until
        if (late or refused) and service.name not in self.told:
            self.told.add(service.name)
            self.manual.append(f"{service.name} does not start again (code {code}): {service.last_words()}")
