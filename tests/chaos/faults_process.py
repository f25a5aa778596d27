"""Faults of processes: kill -9, SIGSTOP, SIGTERM."""

import signal
import time

from faults import Fault, Missed, kind

# A worker or coordinator that was asked to stop is gone by then, unless it waits for a disk.
LEAVES_SECONDS = 40.0


def start_again(service):
    """Lets a service that the fault has ended come back."""
    service.down = False
    service.process = None
    service.restart_at = 0.0


def killed(world, rng, name, services):
    """Kills services at one moment; they come back after a while."""
    alive = [one for one in services if one.is_alive()]
    if len(alive) < len(services):
        raise Missed(f"{name}: not all were alive")
    for one in services:
        one.down = True
    done = [one.kill() for one in services]

    def end():
        for one in services:
            start_again(one)

    if not all(done):
        end()
        raise Missed(f"{name}: a process ended by itself")
    victim = ", ".join(one.name for one in services)
    return Fault(name, victim, [one.name for one in services], rng.uniform(0.1, 2.5), end, services=services)


@kind("kill -9 of a worker", 5)
def kill_worker(world, rng):
    return killed(world, rng, "kill -9 of a worker", [world.a_worker(rng)])


@kind("kill -9 of the coordinator", 3)
def kill_coordinator(world, rng):
    return killed(world, rng, "kill -9 of the coordinator", [world.coordinator])


@kind("kill -9 of all processes", 0.6)
def kill_all(world, rng):
    return killed(world, rng, "kill -9 of all processes", world.all_free())


def stopped(name, service, seconds):
    if not service.is_alive():
        raise Missed(f"{name}: not alive")
    service.signal(signal.SIGSTOP)
    end = time.monotonic() + 1
    while not service.is_stopped():
        if time.monotonic() > end:
            service.signal(signal.SIGCONT)
            raise Missed(f"{name}: it goes on")
        time.sleep(0.005)
    return Fault(name, service.name, [service.name], seconds, lambda: service.signal(signal.SIGCONT),
                 services=[service])


@kind("SIGSTOP of a worker", 3)
def stop_worker(world, rng):
    return stopped("SIGSTOP of a worker", world.a_worker(rng), rng.uniform(0.3, 5))


@kind("SIGSTOP of the coordinator", 2)
def stop_coordinator(world, rng):
    return stopped("SIGSTOP of the coordinator", world.coordinator, rng.uniform(0.3, 4))


def told_to_stop(world, name, service, twice):
    """SIGTERM, perhaps two of them; it counts once the process has ended as documented."""
    if not service.is_alive() or time.monotonic() - service.started < 1:
        # A process that has not set its signals yet dies by them.
        raise Missed(f"{name}: not long alive")
    service.down = True
    service.signal(signal.SIGTERM)
    again = [time.monotonic() + 0.5] if twice else []

    def look():
        if again and time.monotonic() > again[0] and service.is_alive():
            again.clear()
            service.signal(signal.SIGTERM)
        if service.is_alive():
            return None
        code = service.process.returncode
        if code not in (0, 4):
            world.remarks.append(f"{service.name} ended with {code} after SIGTERM: {service.last_words()}")
        return True

    return Fault(name, service.name, [service.name], LEAVES_SECONDS, lambda: start_again(service), look, [service])


@kind("SIGTERM of a worker", 2.5)
def term_worker(world, rng):
    return told_to_stop(world, "SIGTERM of a worker", world.a_worker(rng), False)


@kind("SIGTERM twice of a worker", 1)
def term_worker_twice(world, rng):
    return told_to_stop(world, "SIGTERM twice of a worker", world.a_worker(rng), True)


@kind("SIGTERM of the coordinator", 1.5)
def term_coordinator(world, rng):
    return told_to_stop(world, "SIGTERM of the coordinator", world.coordinator, False)
