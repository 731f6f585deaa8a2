"""The scripts of a request and its evidence: text files small enough to read."""

from pathlib import Path

from traingate.documents.request import Tree

_SUFFIXES = (".py", ".sh")
_LONGEST_FILE_BYTES = 256 * 1024
_MOST_FILES = 200


def evidence_file(workload: str) -> str:
    """Where `traingate measure` keeps what it measured."""
    return f"jobs/{workload}/evidence.json"


def read_sources(repository: Path, tree: Tree, workloads: tuple[str, ...]) -> dict[str, str]:
    """The scripts and the evidence under the job folders of `workloads`, by repository path.

    At most 200 files a request, each of at most 256 KiB; a longer file, a link or a file that is
    no UTF-8 is left out, for rules look at scripts only to say more than they could without.
    """
    texts: dict[str, str] = {}
    for workload in workloads:
        scripts = [
            path
            for path, blob in tree.under(f"jobs/{workload}").items()
            if (path.endswith(_SUFFIXES) or path == evidence_file(workload)) and not blob.is_symlink
        ]
        for path in scripts[:_MOST_FILES]:
            text = _text(repository / path)
            if text is not None:
                texts[path] = text
    return texts


def _text(path: Path) -> str | None:
    try:
        if path.is_symlink() or path.stat().st_size > _LONGEST_FILE_BYTES:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None  # Gone or unreadable: the rules then know as much as the tree says.
