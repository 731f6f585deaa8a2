"""Write the training image's requirements with exact versions and hashes.

Run:
    python scripts/lock_image.py          # requirements.in -> requirements.txt
    python scripts/lock_image.py --torch  # adds hashes to requirements-torch.txt

pip resolves for the image's platform, CPython 3.11 on x86-64 Linux, whatever this machine is, and
reports the hash of each wheel without installing anything. Only wheels are taken: a source
distribution would run its own code while the image is built.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "src" / "train_aml"
HEADER = "# Written by scripts/lock_image.py from requirements.in; change that file instead.\n"

# Every tag that glibc 2.36, the base image's, satisfies, in the order in which pip prefers them.
PLATFORMS = [
    *(f"manylinux_2_{minor}" for minor in range(36, 4, -1)),
    *("manylinux2014", "manylinux2010", "manylinux1", "linux"),
]


def resolve(requirements: str) -> list[dict[str, Any]]:
    """Pip's report on a requirements file's text: one entry for each package it would install."""
    platforms = [f"--platform={name}_x86_64" for name in PLATFORMS]
    with tempfile.TemporaryDirectory() as folder:
        source, report = Path(folder) / "requirements.txt", Path(folder) / "report.json"
        source.write_text(requirements, encoding="utf-8")
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"),
                *("--quiet", "--report", str(report), "--target", folder),
                *("--python-version=3.11", "--implementation=cp", "--only-binary=:all:"),
                *(*platforms, "--requirement", str(source)),
            ],
            check=True,
        )
        installed: list[dict[str, Any]] = json.loads(report.read_text("utf-8"))["install"]
        return installed


def locked(entry: dict[str, Any]) -> str:
    """One line of a requirements file."""
    metadata = entry["metadata"]
    extras = f"[{','.join(entry['requested_extras'])}]" if entry.get("requested_extras") else ""
    digest = entry["download_info"]["archive_info"]["hashes"]["sha256"]
    name = metadata["name"].lower().replace("_", "-")
    return f"{name}{extras}=={metadata['version']} \\\n    --hash=sha256:{digest}\n"


def lock(source: str, header: str) -> str:
    """The text of a requirements file with every package that the source needs."""
    return header + "".join(sorted(locked(entry) for entry in resolve(source)))


def lock_torch(text: str) -> str:
    """The torch requirements with hashes; the comments, index and torch's version are kept."""
    lines = text.splitlines(keepends=True)
    header = "".join(line for line in lines if line.startswith(("#", "--")))
    torch = next(line.split()[0] for line in lines if line.startswith("torch=="))
    return lock(f"{header}{torch}\n", header)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--torch", action="store_true", help="lock requirements-torch.txt instead")
    if parser.parse_args().torch:
        path = FOLDER / "requirements-torch.txt"
        text = lock_torch(path.read_text(encoding="utf-8"))
    else:
        path = FOLDER / "requirements.txt"
        text = lock((FOLDER / "requirements.in").read_text(encoding="utf-8"), HEADER)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.name}: {text.count('==')} packages")


if __name__ == "__main__":
    main()
