#!/usr/bin/env python3
"""Prints the licences of all that a program of keima contains, with their texts: whoever passes it on must include them.

    deploy/release/notices.py TARGET    such as x86_64-unknown-linux-gnu

A text that several crates share is printed once. A crate without a text in its package is named with its licence.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from crates import crates, libraries

_TEXTS = re.compile(r"(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)
#: Of GMP, whose manual and tests have other licences, and whose GPLv2 is a choice that keima does not take.
_GMP = ("COPYING.LESSERv3", "COPYINGv3")

INTRODUCTION = """\
keima itself is licensed under MIT or Apache-2.0, as you choose. The program also contains the libraries below.

GMP is licensed under the GNU Lesser General Public License, version 3 or later. The source of this version of keima is the file
keima-VERSION-source.tar.gz beside the program; its Cargo.lock names the version and hash of every crate, the one with GMP's source
among them. `cargo build --release --locked -p keima-cli` makes the program from it, with a changed GMP if you wish.
"""


def texts(folder: Path, names: tuple[str, ...] = ()) -> list[str]:
    """The licence texts in a folder."""
    if names:
        return [(folder / name).read_text() for name in names]
    files = sorted(path for path in folder.iterdir() if path.is_file() and _TEXTS.search(path.name))
    return [path.read_text(errors="replace") for path in files if path.suffix not in (".rs", ".py", ".toml", ".json")]


def main() -> None:
    (target,) = sys.argv[1:]
    found = crates(target)
    linked = [crate for crate in found if crate.is_linked and crate.sha256]
    parts = [
        (f"{library.name} {library.version}", library.licence, texts(library.folder, _GMP if library.name == "gmp" else ()))
        for library in libraries(found)
    ]
    # The crate with GMP has texts of the LGPL and GPL, too: they are GMP's.
    parts += [(f"{crate.name} {crate.version}", crate.licence, texts(crate.folder)) for crate in linked]
    users: dict[str, list[str]] = {}
    for name, _, its_texts in parts:
        for text in its_texts:
            users.setdefault(text.strip(), []).append(name)
    print(INTRODUCTION)
    for name, licence, its_texts in parts:
        print(f"{name}: {licence}" + ("" if its_texts else " (no text in its package)"))
    for text, names in users.items():
        print(f"\n{'-' * 100}\n{', '.join(names)}\n{'-' * 100}\n\n{text}")


if __name__ == "__main__":
    main()
