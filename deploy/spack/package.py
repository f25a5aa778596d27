"""keima for Spack: builds the source archive of a release.

    spack repo create keima-repo && mkdir -p keima-repo/packages/keima && cp deploy/spack/package.py keima-repo/packages/keima/
    spack repo add keima-repo
    cp keima-0.2.0-source.tar.gz . && spack install --no-checksum keima    # in the folder of the archive

The archive is one that scripts/release makes, and its checksum stands in the SHA256SUMS beside it. Cargo gets the crates that
Cargo.lock names. `deploy/spack/check` holds this file against Cargo.toml.
"""

import os

try:
    # Spack 1.0 and later.
    from spack_repo.builtin.build_systems.cargo import CargoPackage
except ImportError:
    from spack.build_systems.cargo import CargoPackage

from spack.package import *


class Keima(CargoPackage):
    """Counts combinatorial objects exactly, on one machine or on a cluster, when the work does not fit in memory."""

    # There is no address yet: the archive lies in the folder where spack is called.
    manual_download = True
    url = f"file://{os.getcwd()}/keima-0.2.0-source.tar.gz"

    license("MIT OR Apache-2.0", checked_by="keima")

    version("0.2.0")

    # GMP and zstd are built from C, by the crates that have them; GMP's configure needs m4.
    depends_on("c", type="build")
    depends_on("rust@1.95:", type="build")
    depends_on("m4", type="build")
    depends_on("gmake", type="build")

    conflicts("platform=windows", msg="keima runs on Linux")

    @property
    def build_directory(self):
        """The folder of the program: `cargo install` takes one package."""
        return os.path.join(self.stage.source_path, "crates", "cli")

    @property
    def build_args(self):
        """By what Cargo.lock says."""
        return ["-j", str(self.module.make_jobs), "--locked"]

    @property
    def check_args(self):
        """The quick tests: those of the program take half an hour."""
        return ["--locked", "--workspace", "--exclude", "keima-cli"]
