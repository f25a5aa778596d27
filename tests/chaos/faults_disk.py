"""Faults of file systems: full, frozen, without power; scratch folders lost, rolled back and copied; runs damaged."""

import os
import subprocess
import time

from faults import Fault, Missed, kind
from faults_process import start_again

# How long a process on a copied folder lives, and how long it takes until the worker has its name again.
COPIED_SECONDS = 12.0
CONTEST_SECONDS = 6.0


def fills(world):
    return world.disks_are.fills


def freezes(world):
    return world.disks_are.freezes


def powers(world):
    return world.disks_are.powers


def full(name, service, seconds):
    if not service.disk.fill():
        service.disk.drain()
        raise Missed(f"{name}: there is room")
    return Fault(name, service.name, [f"disk {service.name}"], seconds, service.disk.drain, services=[service])


@kind("full disk of a worker", 2.5, fills)
def full_worker(world, rng):
    return full("full disk of a worker", world.a_worker(rng), rng.uniform(0.5, 6))


@kind("full disk of the coordinator", 1, fills)
def full_coordinator(world, rng):
    return full("full disk of the coordinator", world.coordinator, rng.uniform(0.5, 4))


def frozen(name, service, seconds):
    service.disk.freeze()
    return Fault(name, service.name, [f"disk {service.name}", service.name], seconds, service.disk.thaw,
                 services=[service])


@kind("frozen disk of a worker", 2.5, freezes)
def frozen_worker(world, rng):
    return frozen("frozen disk of a worker", world.a_worker(rng), rng.uniform(0.3, 6))


@kind("frozen disk of the coordinator", 1, freezes)
def frozen_coordinator(world, rng):
    return frozen("frozen disk of the coordinator", world.coordinator, rng.uniform(0.3, 3))


@kind("archive out of reach", 1.5, lambda world: world.coordinator.host.user is not None)
def closed_archive(world, rng):
    name = "archive out of reach"
    world.must_be_free([name])
    world.archive.chmod(0)

    def open_again():
        world.archive.chmod(0o777)

    look = world.coordinator.host.command("ls", str(world.archive))
    if subprocess.run(look, capture_output=True, check=False).returncode == 0:
        open_again()
        raise Missed(f"{name}: it can be read")
    return Fault(name, "all", [name], rng.uniform(1, 10), open_again, services=world.all_services())


def without_power(world, rng, name, service):
    """The disk takes nothing any more; a moment later the process dies, and what was not on the device is gone."""
    if not service.is_alive():
        raise Missed(f"{name}: not alive")
    service.down = True
    failed = service.disk.cut_power()
    # For a moment the process sees a disk that fails.
    time.sleep(rng.choice([0, 0, 0.3]))
    service.kill()
    service.process.wait(timeout=20)
    service.disk.restore_power()
    fault = Fault(name, service.name, [service.name], rng.uniform(0.1, 2), lambda: start_again(service),
                  services=[service])
    if not failed:
        fault.end()
        raise Missed(f"{name}: the disk took a write")
    return fault


@kind("power cut of a worker", 2.5, powers)
def power_worker(world, rng):
    return without_power(world, rng, "power cut of a worker", world.a_worker(rng))


@kind("power cut of the coordinator", 1, powers)
def power_coordinator(world, rng):
    return without_power(world, rng, "power cut of the coordinator", world.coordinator)


def replaced(world, rng, name, change):
    """Kills a worker, changes its disk, and starts it again."""
    service = world.a_worker(rng)
    runs = count_runs(service)
    service.down = True
    service.kill()
    if not change(service) or runs == 0:
        start_again(service)
        raise Missed(f"{name}: nothing was there")
    return Fault(name, service.name, [service.name], rng.uniform(0.1, 2), lambda: start_again(service),
                 services=[service])


@kind("scratch folder lost", 1.5)
def lost(world, rng):
    def wipe(service):
        service.disk.wipe()
        return not service.disk.folder.exists()

    return replaced(world, rng, "scratch folder lost", wipe)


@kind("scratch folder rolled back", 1.5)
def rolled_back(world, rng):
    return replaced(world, rng, "scratch folder rolled back", lambda service: service.disk.roll_back())


@kind("scratch folder copied", 1.5)
def copied(world, rng):
    """A second process on a copy while the first one works: it is refused, or takes the name of a silent one."""
    service, spare = world.a_worker(rng), world.spare
    world.must_be_free([spare.name])
    if not service.is_alive() or spare.is_alive() or count_runs(service) == 0:
        raise Missed("scratch folder copied: nothing to copy")
    service.disk.copy_to(spare.disk)
    service.copied_until = time.monotonic() + COPIED_SECONDS + CONTEST_SECONDS
    before = spare.log.stat().st_size if spare.log.exists() else 0
    spare.start()

    def took_the_name():
        with open(spare.log, "rb") as log:
            log.seek(before)
            return b"the coordinator knows this worker" in log.read()

    begun = time.monotonic()

    def look():
        if spare.is_alive():
            return None if time.monotonic() < begun + COPIED_SECONDS or not took_the_name() else True
        return spare.process.returncode == 6 or took_the_name()

    def end():
        # It works on the copy, and would go on: who copied the folder has to end it.
        if spare.kill():
            world.ended_copies += 1

    return Fault("scratch folder copied", service.name, [spare.name, service.name], COPIED_SECONDS + 1, end, look,
                 [service])


def run_files(service):
    """Published runs in a worker's folder, the newest last."""
    found = []
    for folder, _, names in os.walk(service.disk.folder):
        for name in names:
            if name.endswith(".run"):
                path = os.path.join(folder, name)
                try:
                    found.append((os.stat(path).st_mtime, path))
                except OSError:
                    continue
    return [path for _, path in sorted(found)]


def count_runs(service):
    return len(run_files(service))


def a_run(name, world, rng):
    """A run of a worker, one of the newest: those will be read."""
    service = world.a_worker(rng)
    runs = run_files(service)[-12:]
    if not runs:
        raise Missed(f"{name}: no runs")
    return service, rng.choice(runs)


def damaged(name, service):
    # Damage lasts no time, and nothing undoes it.
    return Fault(name, service.name, [], 0, services=[])


@kind("flipped bit in a run", 4)
def flipped(world, rng):
    service, path = a_run("flipped bit in a run", world, rng)
    try:
        with open(path, "r+b", buffering=0) as run:
            length = os.fstat(run.fileno()).st_size
            at = rng.randrange(max(1, length))
            run.seek(at)
            old = run.read(1)
            if not old:
                raise Missed("flipped bit in a run: it is empty")
            new = bytes([old[0] ^ 1 << rng.randrange(8)])
            run.seek(at)
            run.write(new)
            run.seek(at)
            if run.read(1) != new or os.fstat(run.fileno()).st_nlink == 0:
                raise Missed("flipped bit in a run: the run is gone")
    except OSError as error:
        raise Missed(f"flipped bit in a run: {error}") from error
    return damaged("flipped bit in a run", service)


@kind("truncated run", 2)
def truncated(world, rng):
    service, path = a_run("truncated run", world, rng)
    try:
        with open(path, "r+b", buffering=0) as run:
            length = os.fstat(run.fileno()).st_size
            keep = rng.choice([0, length // 2, max(0, length - 1)])
            run.truncate(keep)
            there = os.fstat(run.fileno())
            if there.st_size >= length or there.st_nlink == 0:
                raise Missed("truncated run: the run is gone")
    except OSError as error:
        raise Missed(f"truncated run: {error}") from error
    return damaged("truncated run", service)


@kind("deleted run", 1)
def deleted(world, rng):
    service, path = a_run("deleted run", world, rng)
    try:
        os.unlink(path)
    except OSError as error:
        raise Missed(f"deleted run: {error}") from error
    return damaged("deleted run", service)
