#!/usr/bin/env python3
"""Writes an image that holds the static program alone, as deploy/Dockerfile makes it, without an engine.

    deploy/release/image.py PROGRAM TAG ARCHITECTURE SECONDS OUT    such as keima keima:0.2.0 amd64 1764000000 image.tar

The archive is an OCI layout, and has the list `manifest.json` of older engines besides: `docker load -i`, `podman load -i`
and `skopeo copy oci-archive:` take it. The same program gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Archive:
    """A tar file with fixed times and owners."""

    def __init__(self, file: io.BufferedIOBase, seconds: int) -> None:
        self.tar = tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT)
        self.seconds = seconds

    def add(self, name: str, content: bytes, mode: int = 0o644) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.mtime = len(content), mode, self.seconds
        self.tar.addfile(entry, io.BytesIO(content))

    def blob(self, content: bytes, media_type: str) -> dict[str, Any]:
        """Adds a blob under its hash; its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        self.add(f"blobs/sha256/{digest}", content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def main() -> None:
    program, tag, architecture, time, out = sys.argv[1:]
    seconds = int(time)
    layer = io.BytesIO()
    files = Archive(layer, seconds)
    files.add("keima", Path(program).read_bytes(), 0o755)
    files.tar.close()
    content = layer.getvalue()
    created = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": {"Entrypoint": ["/keima"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]},
        "history": [{"created": created, "created_by": "COPY keima /keima"}],
    }
    with Path(out).open("wb") as file:
        archive = Archive(file, seconds)
        archive.add("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        of_layer = archive.blob(content, "application/vnd.oci.image.layer.v1.tar")
        of_config = archive.blob(json.dumps(config).encode(), "application/vnd.oci.image.config.v1+json")
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": of_config, "layers": [of_layer]}
        of_manifest = archive.blob(json.dumps(manifest).encode(), MANIFEST)
        of_manifest["annotations"] = {"io.containerd.image.name": f"docker.io/library/{tag}"}
        of_manifest["annotations"]["org.opencontainers.image.ref.name"] = tag.partition(":")[2]
        archive.add("index.json", json.dumps({"schemaVersion": 2, "manifests": [of_manifest]}).encode())
        paths = [f"blobs/sha256/{each['digest'].partition(':')[2]}" for each in (of_config, of_layer)]
        older = [{"Config": paths[0], "RepoTags": [tag], "Layers": paths[1:]}]
        archive.add("manifest.json", json.dumps(older).encode())
        archive.tar.close()


if __name__ == "__main__":
    main()
