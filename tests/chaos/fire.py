"""A run of scripts/chaos: makes the cluster, lets faults rain, waits until all jobs have ended, reports.

The seed decides kinds, victims and times of faults. What they meet depends on the machine's speed, so that a run is not
repeated exactly.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import disks
import faults
import report
from cleaning import Janitor
from hosts import Loopback, Namespaces
from jobs import Jobs, catalogue
from world import HOSTS, World

REPOSITORY = Path(__file__).resolve().parent.parent.parent
TICK_SECONDS = 0.05
# A job that has not ended so long after the last fault, or after another job ended, does not end.
SETTLE_SECONDS = 120


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/chaos", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Counts jobs on a coordinator and three workers while faults rain down.",
        epilog="Ends with 0 if no answer was wrong, no job was lost, nobody had to help, and a checkpoint came into the "
               "archive; else with 1.")
    parser.add_argument("--minutes", type=float, default=5, help="how long faults rain (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="decides the faults (default 1)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--keima", metavar="PROGRAM", help="the program (default: builds target/release/keima)")
    parser.add_argument("--rate", type=float, default=50, metavar="N", help="faults to begin a minute (default 50)")
    parser.add_argument("--at-once", type=int, default=3, metavar="N", help="jobs in the cluster (default 3)")
    parser.add_argument("--quick", action="store_true", help="small boards, for a run of a minute")
    parser.add_argument("--loopback", action="store_true", help="no namespaces and no file systems, even as root")
    parser.add_argument("--only", metavar="WORDS", help="only faults whose name begins so")
    parser.add_argument("--logs", metavar="DIR", help="keep the logs of all processes there")
    parser.add_argument("--verbose", action="store_true", help="tell each fault")
    return parser.parse_args()


def built():
    """The program, built for release."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "keima-cli"], cwd=REPOSITORY, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    return target / "release" / "keima"


def options_of(keima):
    """Options that this version of the program needs to listen beyond loopback."""
    extra = {}
    for verb in ("coordinator", "worker"):
        text = subprocess.run([keima, verb, "--help"], capture_output=True, text=True, check=True).stdout
        extra[verb] = ["--insecure"] if "--insecure" in text else []
    return extra


def say(text):
    print(text, file=sys.stderr, flush=True)


class Interrupted(Exception):
    """The run was asked to stop."""


def interrupt(number, _frame):
    raise Interrupted(signal.Signals(number).name)


def rain(world, jobs, options, begun):
    """Lets faults rain for the time that was asked for."""
    rng = random.Random(options.seed)
    chance = random.Random(options.seed + 1)
    wanted = [kind for kind in faults.KINDS if kind.name.startswith(options.only or "")]
    kinds = [kind for kind in wanted if kind.allowed(world)]
    world.left_out += [f"not possible here: {kind.name}" for kind in faults.KINDS if not kind.allowed(world)]
    # Jobs get somewhere before the first fault.
    due, told = time.monotonic() + 5, time.monotonic()
    while time.monotonic() - begun < options.minutes * 60:
        world.tick(chance)
        now = time.monotonic()
        if now >= due:
            due = now + rng.expovariate(options.rate / 60)
            world.strike(rng, kinds)
        if now - told > 30:
            told = now
            counts = jobs.counts()
            say(f"{now - begun:6.0f} s  {sum(world.faults.values())} faults, " +
                ", ".join(f"{number} {word}" for word, number in counts.items()) +
                f", {len(world.supervisor.manual)} manual steps")
        time.sleep(TICK_SECONDS)
    world.heal()


def settle(world, jobs):
    """Waits until all jobs have ended; services are still started again."""
    stuck = {}

    def wait():
        stuck.update(jobs.settle(SETTLE_SECONDS))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    while waiting.is_alive():
        world.supervisor.tick()
        time.sleep(TICK_SECONDS)
    return stuck


def fire(options, root, prefix):
    """The whole run; the figures."""
    why_not = "asked for" if options.loopback else Namespaces.why_not()
    left_out = []
    if why_not:
        say(f"no network namespaces ({why_not}): all processes run on loopback")
        left_out.append(f"no network namespaces: {why_not}")
        network = Loopback(HOSTS)
    else:
        network = Namespaces(HOSTS, prefix)
    kind, refused = (disks.Folder, []) if options.loopback else disks.best(root)
    left_out += refused
    say(f"hosts: {network.kind}; file systems: {kind.kind}; seed {options.seed}")
    # A copy, which the hosts' users may run wherever the original is.
    keima = root / "keima"
    shutil.copy(options.keima or built(), keima)
    keima.chmod(0o755)
    version = subprocess.run([keima, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    world = World(str(keima), root, network, kind, options_of(keima), left_out)
    begun = time.monotonic()
    if options.verbose:
        world.trace = lambda text: say(f"{time.monotonic() - begun:7.1f} s  {text}")

    def done(name, job):
        if options.verbose or job["verdict"] != "right":
            say(f"{time.monotonic() - begun:7.1f} s  {name} {' '.join(job['board'].words)}: {job['verdict']} "
                f"after {job['seconds']:.1f} s {job['reason'] if job['verdict'] != 'right' else ''}")

    jobs = Jobs(catalogue(REPOSITORY, options.quick), world.client, options.at_once, done)
    jobs.start()
    rain(world, jobs, options, begun)
    say("no more faults; waiting for the jobs")
    stuck = settle(world, jobs)
    found = report.object_of(world, jobs, stuck, options, time.monotonic() - begun, version)
    network.close()
    return found


def main():
    options = arguments()
    root = Path(tempfile.mkdtemp(prefix="keima-chaos-"))
    root.chmod(0o711)
    prefix = f"{root.name}-"
    janitor = Janitor(prefix, str(root), False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        found = fire(options, root, prefix)
    except Interrupted as why:
        say(f"interrupted ({why}); cleaning")
        return 130
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if options.logs and (root / "logs").exists():
            shutil.copytree(root / "logs", options.logs, dirs_exist_ok=True)
        janitor.let_go()
    print(report.table(found))
    if options.json:
        report.write(found, options.json)
    worked = found["right"] > 0 and found["archived"] > 0
    return 0 if worked and not (found["wrong"] or found["lost"] or found["manual"]) else 1
