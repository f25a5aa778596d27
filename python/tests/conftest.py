"""Real coordinators and workers, started from the program that the variable KEIMA names. Without it their tests are skipped."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

#: Limit of a single wait. Only a hang reaches it.
LIMIT_SECONDS = 90


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own coordinator is none of a test's business."""
    for name in ("COORDINATOR", "FINGERPRINT", "TLS_CA", "TOKEN_FILE"):
        monkeypatch.delenv(f"KEIMA_{name}", raising=False)


@pytest.fixture(scope="session")
def program() -> Path:
    """The program keima."""
    named = os.environ.get("KEIMA")
    if not named:
        pytest.skip("the variable KEIMA names no program: KEIMA=target/debug/keima pytest")
    return Path(named).resolve(strict=True)


@dataclass
class Cluster:
    """Processes on loopback, each with a folder of its own."""

    program: Path
    folder: Path
    url: str = ""
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def run(self, *args: str) -> str:
        """Standard output of the program."""
        command = [str(self.program), *args]
        ran = subprocess.run(command, env=self._environment(), capture_output=True, text=True, timeout=LIMIT_SECONDS)
        assert ran.returncode == 0, (args, ran.stdout, ran.stderr)
        return ran.stdout

    def coordinator(self, *args: str) -> str:
        """Starts the coordinator, always on the same port; its URL."""
        listen = self.url.partition("://")[2] or "127.0.0.1:0"
        data = str(self.folder / "data")
        self.url = self._start("coordinator", "coordinator", "--listen", listen, "--data", data, *args)
        return self.url

    def worker(self, *args: str) -> None:
        """Starts a worker of one thread."""
        name = f"worker{len(self.processes)}"
        small = ("--memory", "256MiB", "--disk", "1GiB", "--threads", "1")
        scratch = str(self.folder / name)
        self._start(name, "worker", "--coordinator", self.url, "--scratch", scratch, *small, *args)

    def kill(self, name: str) -> None:
        """Kills a process as kill -9 does."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(LIMIT_SECONDS)

    def close(self) -> None:
        """Kills all."""
        for name in list(self.processes):
            self.kill(name)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KEIMA")}
        return {**kept, "XDG_CONFIG_HOME": str(self.folder / "xdg"), "XDG_STATE_HOME": str(self.folder / "xdg")}

    def _start(self, name: str, verb: str, *args: str) -> str:
        log = (self.folder / f"{name}.log").open("a")
        command = [str(self.program), verb, *args]
        process = subprocess.Popen(command, env=self._environment(), stdout=subprocess.PIPE, stderr=log, text=True)
        log.close()
        self.processes[name] = process
        lines: queue.Queue[str] = queue.Queue()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()
        mark = f"{verb} ready at "
        while line := lines.get(timeout=LIMIT_SECONDS):
            if line.startswith(mark):
                return line.removeprefix(mark).strip()
        raise AssertionError(f"{command} ended: {(self.folder / f'{name}.log').read_text()}")


@pytest.fixture
def cluster(program: Path, tmp_path: Path) -> Iterator[Cluster]:
    """Nothing is started yet."""
    made = Cluster(program, tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A coordinator in plain text and a worker, for all tests of a module."""
    made = Cluster(program, tmp_path_factory.mktemp("plain"))
    made.coordinator()
    made.worker()
    yield made
    made.close()


@pytest.fixture(scope="module")
def secure(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A coordinator with TLS and tokens, without workers."""
    made = Cluster(program, tmp_path_factory.mktemp("secure"))
    made.coordinator("--tls-init")
    yield made
    made.close()
