#!/usr/bin/env python3
"""Prints what a program of keima is made of, as a CycloneDX bill of materials (JSON, version 1.6).

    deploy/release/sbom.py TARGET VERSION COMMIT SECONDS    such as x86_64-unknown-linux-gnu 0.2.0 3e8bb3f4780d 1764000000

Crates that only help to build it have the scope "excluded". C libraries stand below the crate that brings them. The same
commit gives the same bytes.
"""

from __future__ import annotations

import json
import sys
import uuid
from datetime import datetime, timezone
from typing import Any

from crates import Crate, Library, crates, libraries


def licences(expression: str) -> list[dict[str, Any]]:
    return [{"expression": expression}] if expression else []


def of_crate(crate: Crate, inside: list[Library]) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": crate.key,
        "name": crate.name,
        "version": crate.version,
        "scope": "required" if crate.is_linked else "excluded",
        "licenses": licences(crate.licence),
    }
    if crate.description:
        component["description"] = " ".join(crate.description.split())
    if crate.sha256:
        component["hashes"] = [{"alg": "SHA-256", "content": crate.sha256}]
        component["purl"] = f"pkg:cargo/{crate.name}@{crate.version.replace('+', '%2B')}"
    if crate.repository:
        component["externalReferences"] = [{"type": "vcs", "url": crate.repository}]
    if nested := [of_library(library) for library in inside if library.crate == crate.key]:
        component["components"] = nested
    return component


def of_library(library: Library) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": f"{library.name}@{library.version}",
        "name": library.name,
        "version": library.version,
        "scope": "required",
        "licenses": licences(library.licence),
        "purl": f"pkg:generic/{library.name}@{library.version}",
    }


def main() -> None:
    target, version, commit, seconds = sys.argv[1:]
    found = crates(target)
    inside = libraries(found)
    program, *others = found
    time = datetime.fromtimestamp(int(seconds), timezone.utc)
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'keima {version} {commit} {target}')}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": program.key,
                "name": "keima",
                "version": version,
                "description": "Counts combinatorial objects exactly, on one machine or on a cluster",
                "licenses": licences(program.licence),
                "properties": [{"name": "keima:commit", "value": commit}, {"name": "keima:target", "value": target}],
            },
        },
        "components": [of_crate(crate, inside) for crate in others],
        "dependencies": [
            {
                "ref": crate.key,
                "dependsOn": sorted(
                    {*crate.needs, *(f"{each.name}@{each.version}" for each in inside if each.crate == crate.key)}
                ),
            }
            for crate in found
        ],
    }
    json.dump(bom, sys.stdout, indent=1, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()
