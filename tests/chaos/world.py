"""The cluster under fire: hosts, disks, services, the faults under way and their number."""

import random
import time
from collections import Counter

import faults
# These add their kinds.
import faults_disk  # noqa: F401
import faults_network  # noqa: F401
import faults_process  # noqa: F401
from services import Service, Supervisor

WORKERS = ["w1", "w2", "w3"]
HOSTS = ["coordinator", *WORKERS, "spare", "client"]
COORDINATOR_MEBIBYTES = 64
WORKER_MEBIBYTES = 256
# A worker's cap is below its file system: without faults it is the cap that it meets.
WORKER_CAP = "192MiB"
# After a fault, so long a process may still end because of it.
AFTERMATH_SECONDS = 10.0
SNAPSHOT_SECONDS = (6, 25)
# Faults under way at a time.
MOST_AT_ONCE = 5
# Runs the words after it with files that all users may write.
ANYBODY_MAY_WRITE = ["sh", "-c", 'umask 0; exec "$@"', "sh"]


class World:
    """Everything that faults act on."""

    def __init__(self, keima, root, network, disks_are, extra, left_out):
        self.network = network
        self.disks_are = disks_are
        self.left_out = left_out
        self.root = root
        self.remarks = []
        self.faults = Counter()
        self.missed = Counter()
        # Processes on copied scratch folders that a fault had to end.
        self.ended_copies = 0
        self.active = []
        # Workers that a fault under way does not have; for the fault that begins.
        self.free = []
        hosts = network.hosts
        head = hosts["coordinator"]
        port = network.port(head, 7700)
        self.url = f"http://{head.address}:{port}"
        self.keima = keima
        log = root / "logs"
        log.mkdir()
        log.chmod(0o777)

        # A folder that all hosts share, as a cluster's file system is: whoever is allowed in may delete what others wrote.
        self.archive = root / "archive"
        self.archive.mkdir()
        self.archive.chmod(0o777)
        disk = disks_are(head, root, COORDINATOR_MEBIBYTES)
        words = [*ANYBODY_MAY_WRITE, keima, "coordinator", "--listen", f"{head.address}:{port}", "--data",
                 str(disk.folder), "--archive", str(self.archive), "--archive-stages", "3",
                 "--lease-seconds", "1", "--grace-seconds", "4", "--checkpoint-seconds", "2", *extra["coordinator"]]
        self.coordinator = Service("coordinator", head, disk, words, log / "coordinator.log")
        self.workers = [self.worker(hosts[name], root, log, extra) for name in WORKERS]
        self.spare = self.worker(hosts["spare"], root, log, extra)
        self.supervisor = Supervisor(self.all_services(), time.monotonic())
        self.next_snapshot = {one.name: time.monotonic() + 8 for one in self.workers}

    def worker(self, host, root, log, extra):
        disk = self.disks_are(host, root, WORKER_MEBIBYTES)
        port = self.network.port(host, 7702)
        words = [*ANYBODY_MAY_WRITE, self.keima, "worker", "--coordinator", self.url, "--listen",
                 f"{host.address}:{port}", "--scratch", str(disk.folder), "--memory", "160MiB", "--threads", "1",
                 "--disk", WORKER_CAP, "--archive", str(self.archive), *extra["worker"]]
        return Service(host.name, host, disk, words, log / f"{host.name}.log")

    def client(self, *words):
        """The command line of a user's command. The first word is the verb."""
        verb, *rest = words
        return self.network.hosts["client"].command(self.keima, verb, *rest, "--coordinator", self.url)

    def all_services(self):
        return [self.coordinator, *self.workers]

    def services_on(self, *hosts):
        return [one for one in self.all_services() if one.host in hosts]

    def claimed(self):
        return set().union(*(fault.claims for fault in self.active)) if self.active else set()

    def must_be_free(self, claims):
        if self.claimed() & set(claims):
            raise faults.Missed("another fault has it")

    def all_free(self):
        self.must_be_free([one.name for one in self.all_services()])
        return self.all_services()

    def a_worker(self, rng):
        """A worker that no other fault of processes or disks has."""
        if not self.free:
            raise faults.Missed("no worker is free")
        return rng.choice(self.free)

    def count(self, name):
        self.faults[name] += 1

    def strike(self, rng, kinds):
        """Begins a fault of a drawn kind; whether it took effect so far."""
        kind = rng.choices(kinds, [one.weight for one in kinds])[0]
        # Each fault draws from a generator of its own: what one draws does not move the others.
        own = random.Random(rng.getrandbits(64))
        if len(self.active) >= MOST_AT_ONCE:
            return False
        busy = self.claimed()
        # Processes may die on a full disk.
        of_process = kind.name.startswith(("kill", "SIG"))

        def is_free(one):
            return one.name not in busy and (of_process or f"disk {one.name}" not in busy)

        self.free = [one for one in self.workers if is_free(one)]
        if kind.name.endswith("coordinator") and not is_free(self.coordinator):
            return False
        try:
            fault = kind.begin(self, own)
        except faults.Missed as missed:
            self.missed[kind.name] += 1
            self.trace(f"missed: {missed}")
            return False
        self.active.append(fault)
        self.harm(fault)
        if fault.look is None:
            self.count(fault.kind)
            self.trace(f"{fault.kind}: {fault.victim}, {max(0.0, fault.until - time.monotonic()):.1f} s")
        return True

    def harm(self, fault):
        until = max(fault.until, time.monotonic()) + AFTERMATH_SECONDS
        # A coordinator that is away or mute may make workers end, and the other way round: all count as harmed.
        for service in self.all_services():
            if not fault.services or service in fault.services or self.coordinator in fault.services:
                service.harmed_until = max(service.harmed_until, until)

    def tick(self, rng):
        """Ends faults that are over, starts services again, takes snapshots."""
        now = time.monotonic()
        for fault in list(self.active):
            seen = fault.look() if fault.look else None
            if seen is not None or now >= fault.until:
                self.finish(fault, seen)
        self.supervisor.tick()
        for service in self.workers:
            if now >= self.next_snapshot[service.name] and not self.claimed() & {service.name, f"disk {service.name}"}:
                self.next_snapshot[service.name] = now + rng.uniform(*SNAPSHOT_SECONDS)
                service.disk.snapshot()

    def finish(self, fault, seen):
        self.active.remove(fault)
        fault.end()
        if fault.look is not None:
            if seen:
                self.count(fault.kind)
                self.trace(f"{fault.kind}: {fault.victim}")
            else:
                self.missed[fault.kind] += 1
                self.trace(f"missed: {fault.kind}: {fault.victim}")
                if "SIGTERM" in fault.kind:
                    self.remarks.append(f"{fault.victim} did not leave after SIGTERM")
        for service in fault.services:
            service.harmed_until = max(service.harmed_until, time.monotonic() + AFTERMATH_SECONDS)

    def heal(self):
        """Ends all faults."""
        for fault in list(self.active):
            self.finish(fault, fault.look() if fault.look else None)

    def trace(self, text):
        """Set by the run."""
