"""What a run found: the table on the screen and the file."""

import json
from pathlib import Path


def object_of(world, jobs, stuck, arguments, seconds, version):
    """All figures of a run.

    `manual` counts steps that a person would have had to do; the run itself does none. `ended_copies` counts the one
    that it does: it ends processes on copied scratch folders.
    """
    counts = jobs.counts()
    manual = world.supervisor.manual + [
        f"{name} {' '.join(job['board'].words[:2])} has not ended: {job['state']} {job['reason']}".strip()
        for name, job in stuck.items()]
    judged = jobs.jobs.items()

    def told(verdict):
        return [f"{name} {' '.join(job['board'].words)}: {job['reason'] or job['state']}"
                for name, job in judged if job["verdict"] == verdict]

    problems = {}
    for _, job in judged:
        if job["verdict"] == "right":
            words = " ".join(job["board"].words[:2])
            problems[words] = problems.get(words, 0) + 1
    return {
        "seed": arguments.seed,
        "minutes": arguments.minutes,
        "seconds": round(seconds, 1),
        "version": version,
        "hosts": world.network.kind,
        "file_systems": world.disks_are.kind,
        "folder": str(world.root),
        "faults": dict(sorted(world.faults.items())),
        "faults_total": sum(world.faults.values()),
        "missed": dict(sorted(world.missed.items())),
        "jobs": len(jobs.jobs),
        "right": counts["right"],
        "wrong": counts["wrong"],
        "lost": counts["lost"],
        "manual": len(manual),
        "ended_copies": world.ended_copies,
        "right_by_problem": problems,
        "archived": world.coordinator.times_said("checkpoint in the archive"),
        "fallbacks": sum(any("fell back" in note for note in job["notes"]) for _, job in judged),
        "wrong_jobs": told("wrong"),
        "lost_jobs": told("lost"),
        "manual_steps": manual,
        "ends_by_themselves": {one.name: one.ends for one in world.all_services() if one.ends},
        "remarks": world.remarks,
        "left_out": world.left_out,
    }


def table(found):
    """The same for the screen."""
    width = max([len("checkpoints in the archive"), *map(len, found["faults"])]) + 2
    lines = [f"{'fault':<{width}}number"]
    lines += [f"{name:<{width}}{number:>6}" for name, number in found["faults"].items()]
    lines.append(f"{'all':<{width}}{found['faults_total']:>6}")
    lines.append("")
    for name, words in (("jobs", "jobs"), ("right", "right"), ("wrong", "wrong answers"), ("lost", "lost jobs"),
                        ("manual", "manual steps"), ("ended_copies", "ended copies"),
                        ("archived", "checkpoints in the archive")):
        lines.append(f"{words:<{width}}{found[name]:>6}")
    for name in ("wrong_jobs", "lost_jobs", "manual_steps", "remarks", "left_out"):
        lines += [f"  {name.replace('_', ' ')}: {text}" for text in found[name]]
    return "\n".join(lines)


def write(found, path):
    """Writes the file, aside first."""
    aside = Path(f"{path}.tmp")
    aside.write_text(json.dumps(found, indent=1) + "\n")
    aside.replace(path)
