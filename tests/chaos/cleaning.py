"""Removes all that a run has made: processes, frozen or mounted file systems, network namespaces, its folder.

A process of its own does it, the janitor, once the run's process is gone: at its end, after Ctrl-C, and after kill
-9. It touches only namespaces whose name begins with the run's prefix, mounts below the run's folder, and processes
that stand in these namespaces or name the run's folder.
"""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path


def run(*words, check=True, timeout=30):
    """Runs a command; its output is kept for the error."""
    ran = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    if check and ran.returncode != 0:
        raise OSError(f"{' '.join(map(str, words))}: {ran.stderr.strip() or ran.returncode}")
    return ran


def mounts_below(folder):
    """Mount points below a folder, the innermost first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = line.split()[4].replace("\\040", " ")
        if point.startswith(f"{folder}/"):
            found.append(point)
    return sorted(found, reverse=True)


def namespaces(prefix):
    """Names of the run's network namespaces."""
    if shutil.which("ip") is None:
        return []
    listed = run("ip", "netns", "list", check=False).stdout.splitlines()
    return [line.split()[0] for line in listed if line.startswith(prefix)]


def processes(prefix, folder):
    """Processes in the run's namespaces, and those that name its folder."""
    pids = set()
    for namespace in namespaces(prefix):
        pids.update(map(int, run("ip", "netns", "pids", namespace, check=False).stdout.split()))
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            # The program of the run stands in its folder, and all its arguments do.
            if f"{folder}/".encode() in words:
                pids.add(int(entry.name))
    return pids - {os.getpid()}


def clean(prefix, folder, keep):
    """Removes everything. May be called again and again. Logs stay in the folder if `keep` is set."""
    for point in mounts_below(folder):
        # Fails where nothing is frozen.
        run("fsfreeze", "-u", point, check=False)
    for _ in range(50):
        pids = processes(prefix, folder)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not pids:
            break
        time.sleep(0.1)
    for point in mounts_below(folder):
        for _ in range(20):
            if run("umount", point, check=False).returncode == 0:
                break
            time.sleep(0.1)
        else:
            run("umount", "-l", point, check=False)
    for namespace in namespaces(prefix):
        run("ip", "netns", "del", namespace, check=False)
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


class Janitor:
    """The process that cleans. It sees the end of the run's process at a pipe."""

    def __init__(self, prefix, folder, keep):
        reader, self.writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.writer)
            # A process group of its own: Ctrl-C does not reach it.
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.read(reader, 1)
            try:
                clean(prefix, folder, keep)
            finally:
                os._exit(0)
        os.close(reader)

    def let_go(self):
        """Cleans, and returns when all is gone."""
        os.close(self.writer)
        os.waitpid(self.pid, 0)
