"""What a program of keima is linked from: crates by name and version, and the C libraries inside them.

`cargo tree` tells which crates are linked into the program for a target and which only help to build it, with the features
that the program has; `cargo metadata` tells what they are, and Cargo.lock has their hashes.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "keima-cli"


@dataclass(frozen=True)
class Library:
    """C code in a crate: its name, version, licence, and the folder with its licence texts."""

    name: str
    version: str
    licence: str
    crate: str
    folder: Path


@dataclass(frozen=True)
class Crate:
    """A crate, and whether its code is in the program."""

    name: str
    version: str
    licence: str
    description: str
    repository: str
    folder: Path
    #: SHA-256 of its package in the registry; empty for keima's own crates.
    sha256: str
    is_linked: bool
    needs: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.name}@{self.version}"


def _cargo(*arguments: str) -> str:
    ran = subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return ran.stdout


def _tree(target: str, edges: str) -> set[str]:
    tree = _cargo("tree", "--locked", "-p", PROGRAM, "--target", target, "-e", edges, "--prefix", "none", "-f", "{p}")
    lines = (line.split() for line in tree.splitlines() if line.strip())
    return {f"{words[0]}@{words[1].removeprefix('v')}" for words in lines}


def crates(target: str) -> list[Crate]:
    """All crates that take part in a build for `target`, the program itself first."""
    linked = _tree(target, "normal,no-proc-macro")
    all_of_them = _tree(target, "normal,build")
    metadata = json.loads(_cargo("metadata", "--locked", "--format-version", "1", "--filter-platform", target))
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    hashes = {f"{package['name']}@{package['version']}": package.get("checksum", "") for package in lock}
    keys = {package["id"]: f"{package['name']}@{package['version']}" for package in metadata["packages"]}
    needs = {
        keys[node["id"]]: sorted(
            keys[need["pkg"]]
            for need in node["deps"]
            if keys[need["pkg"]] in all_of_them and any(kind["kind"] != "dev" for kind in need["dep_kinds"])
        )
        for node in metadata["resolve"]["nodes"]
    }
    found = [
        Crate(
            name=package["name"],
            version=package["version"],
            licence=(package["license"] or "").replace("/", " OR "),
            description=package["description"] or "",
            repository=package["repository"] or "",
            folder=Path(package["manifest_path"]).parent,
            sha256=hashes.get(key, ""),
            is_linked=key in linked,
            needs=tuple(needs[key]),
        )
        for package in metadata["packages"]
        if (key := keys[package["id"]]) in all_of_them
    ]
    missing = all_of_them - {crate.key for crate in found}
    if missing:
        raise SystemExit(f"cargo metadata does not know {sorted(missing)}, which cargo tree names")
    return sorted(found, key=lambda crate: (crate.name != PROGRAM, crate.name, crate.version))


def libraries(found: list[Crate]) -> list[Library]:
    """The C libraries in linked crates, with the versions that stand in the crates' versions or folders."""
    by_name = {crate.name: crate for crate in found if crate.is_linked}
    libraries = []
    if crate := by_name.get("gmp-mpfr-sys"):
        folder = next(crate.folder.glob("gmp-*-c"))
        version = folder.name.removeprefix("gmp-").removesuffix("-c")
        libraries.append(Library("gmp", version, "LGPL-3.0-or-later", crate.key, folder))
    if crate := by_name.get("zstd-sys"):
        version = re.sub(r".*\+zstd\.", "", crate.version)
        libraries.append(Library("zstd", version, "BSD-3-Clause", crate.key, crate.folder / "zstd"))
    if crate := by_name.get("tikv-jemalloc-sys"):
        version = re.sub(r".*\+([0-9.]+).*", r"\1", crate.version)
        libraries.append(Library("jemalloc", version, "BSD-2-Clause", crate.key, crate.folder / "jemalloc"))
    return libraries
