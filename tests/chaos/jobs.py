"""The jobs: what is counted, the published numbers, submission, and the verdict on each job.

A thread submits jobs through the command line, keeps some of them in the cluster, and looks at all of them again and
again. A submission that got no answer is repeated; should both have arrived, both are judged. Verdicts:

    right    the number and its table are the published ones
    wrong    they are not
    lost     the job ended without a number, or the coordinator does not know it any more
    stuck    it has not ended long after the last fault: a person would have to look
"""

import csv
import json
import subprocess
import threading
import time

# Longest wait for an answer of the command line.
ANSWER_SECONDS = 15
POLL_SECONDS = 0.5
# A job that the coordinator does not know must be missing from so many lists.
LISTS = 3


class Board:
    """One thing to count: words of the command line, and what is published."""

    def __init__(self, words, count, table=None, rows=None):
        self.words = words
        self.count = count
        self.table = table
        self.rows = rows or {}

    def judge(self, result):
        """Whether a result as JSON is the published one."""
        if result.get("count") != self.count:
            return False
        got = {str(row.get("fences")): row["count"] for row in result.get("counts", []) if row["table"] == self.table}
        return all(got.get(index) == count for index, count in self.rows.items())


def rows_of(path):
    """Rows of a table of published numbers, without its comments."""
    with open(path, newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def catalogue(repository, quick):
    """The boards, from the published numbers in tests/golden."""
    golden = repository / "tests" / "golden"
    go = {(row["m"], row["n"]): row["count"] for row in rows_of(golden / "go_legal_positions.csv")}
    grid = {(row["sequence"], row["n"]): row["count"] for row in rows_of(golden / "grid_curves.csv")}
    knight = {(row["tours"], row["m"], row["n"]): row["count"] for row in rows_of(golden / "knight_tours.csv")}
    fences = {row["fences"]: row["count"] for row in rows_of(golden / "quoridor_fences_9x9.csv")}

    def of_go(m, n, *words):
        return Board(["go", f"{m}x{n}", *words], go[(str(m), str(n))])

    def of_grid(problem, sequence, n, *words):
        return Board([problem, f"{n}x{n}", *words], grid[(sequence, str(n))])

    def of_knight(m, n, *words):
        return Board(["knight", f"{m}x{n}", "--closed", *words], knight[("closed", str(m), str(n))])

    def of_fences(*words):
        total = str(sum(map(int, fences.values())))
        return Board(["quoridor-fences", "8x8", *words], total, "by_fences", fences)

    if quick:
        return [of_go(7, 7, "--executor", "stream", "--window", "1"), of_grid("grid-cycles", "A140517", 9),
                of_knight(6, 6, "--window", "1"), of_fences()]
    return [
        of_go(9, 9, "--executor", "stream"),
        of_grid("grid-cycles", "A140517", 12, "--window", "3"),
        of_knight(6, 7, "--window", "2"),
        of_fences("--window", "1"),
        of_go(10, 10, "--executor", "block"),
        of_grid("grid-paths", "A007764", 11, "--window", "2"),
        of_go(8, 8, "--executor", "stream", "--window", "1"),
        of_knight(6, 8, "--window", "3"),
    ]


class Jobs:
    """Submits and judges jobs, beside the faults."""

    def __init__(self, boards, client, at_once, on_done):
        self.boards = boards
        self.client = client
        self.at_once = at_once
        self.on_done = on_done
        self.lock = threading.Lock()
        # Per job: board, verdict, state, reason, seconds, notes.
        self.jobs = {}
        self.submitted = 0
        self.submitting = True
        self.ending = False
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def start(self):
        self.thread.start()

    def ask(self, *words):
        """Runs the command line; (code, output)."""
        try:
            ran = subprocess.run(self.client(*words), capture_output=True, text=True, timeout=ANSWER_SECONDS,
                                 stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return None, ""
        return ran.returncode, ran.stdout

    def loop(self):
        while not self.ending:
            self.look()
            with self.lock:
                open_jobs = sum(job["verdict"] is None for job in self.jobs.values())
            if self.submitting and open_jobs < self.at_once:
                self.submit()
            else:
                time.sleep(POLL_SECONDS)

    def submit(self):
        board = self.boards[self.submitted % len(self.boards)]
        code, name = self.ask("submit", *board.words)
        if code == 0:
            self.submitted += 1
            with self.lock:
                self.jobs.setdefault(name.strip(), fresh(board))
        else:
            time.sleep(POLL_SECONDS)

    def board_of(self, listed):
        """The board of a job in a list."""
        alike = [board for board in self.boards if board.words[:2] == [listed["problem"], listed["size"]]]
        return alike[0] if alike else None

    def look(self):
        code, text = self.ask("jobs", "--json")
        if code != 0:
            return
        listed = {job["job"]: job for job in json.loads(text)["jobs"]}
        with self.lock:
            for name, job in listed.items():
                # A submission whose answer was lost.
                self.jobs.setdefault(name, fresh(self.board_of(job)))
            known = list(self.jobs.items())
        for name, job in known:
            if job["verdict"] is not None:
                continue
            found = listed.get(name)
            job["missing"] = 0 if found else job["missing"] + 1
            if found:
                job.update(state=found["state"], reason=found.get("reason", ""), seconds=found["seconds"],
                           notes=found["notes"])
                self.judge(name, job)
            elif job["missing"] >= LISTS:
                job.update(verdict="lost", reason="the coordinator does not know it any more")

    def judge(self, name, job):
        if job["state"] == "done":
            code, text = self.ask("result", name, "--json")
            if code == 0:
                job["verdict"] = "right" if job["board"].judge(json.loads(text)) else "wrong"
                if job["verdict"] == "wrong":
                    job["reason"] = f"count {json.loads(text).get('count')}, published {job['board'].count}"
            elif code is not None and code not in (1,):
                job.update(verdict="lost", reason=f"done, but `keima result` ends with {code}")
        elif job["state"] not in ("queued", "planning", "running", "paused"):
            job["verdict"] = "lost"
        if job["verdict"]:
            self.on_done(name, job)

    def counts(self):
        """Number of jobs by verdict."""
        with self.lock:
            verdicts = [job["verdict"] for job in self.jobs.values()]
        return {word: verdicts.count(word) for word in ("right", "wrong", "lost")} | {"open": verdicts.count(None)}

    def settle(self, seconds):
        """Waits for open jobs, without faults and without new jobs. Returns those that do not end."""
        self.submitting = False
        end, last, progress = time.monotonic() + seconds, None, time.monotonic()
        while time.monotonic() < end:
            time.sleep(0.5)
            now = self.counts()
            if now["open"] == 0:
                break
            if now != last:
                last, progress = now, time.monotonic()
            # A job after a job: each gets the whole time.
            end = max(end, progress + seconds)
        self.ending = True
        self.thread.join(timeout=2 * ANSWER_SECONDS)
        with self.lock:
            return {name: job for name, job in self.jobs.items() if job["verdict"] is None}


def fresh(board):
    return {"board": board, "verdict": None, "state": "", "reason": "", "seconds": 0.0, "notes": [], "missing": 0}
