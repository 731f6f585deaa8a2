"""The scripts and settings of a request: text files small enough to read, from the work tree."""

from pathlib import Path

from traingate.documents.request import Tree

_SUFFIXES = (
    *(".py", ".sh", ".ipynb", ".yml", ".yaml", ".json", ".toml", ".ini", ".cfg", ".conf", ".env"),
    *(".txt", ".md", ".pem", ".key"),
)
_LONGEST_FILE_BYTES = 256 * 1024
_MOST_FILES = 200


def evidence_file(workload: str) -> str:
    """Where `traingate measure` keeps what it measured."""
    return f"jobs/{workload}/evidence.json"


def read_sources(repository: Path, tree: Tree, folder: str) -> dict[str, str]:
    """The scripts and settings under a job folder, by repository path.

    At most 200 files, each of at most 256 KiB; a longer file, a link or a file that is no UTF-8
    is left out, for rules look at them only to say more than they could without.
    """
    wanted = [
        path
        for path, blob in tree.under(folder).items()
        if path.endswith(_SUFFIXES) and not blob.is_symlink and path != f"{folder}/job.yml"
    ]
    texts = {path: _text(repository / path) for path in wanted[:_MOST_FILES]}
    return {path: text for path, text in texts.items() if text is not None}


def _text(path: Path) -> str | None:
    try:
        if path.is_symlink() or path.stat().st_size > _LONGEST_FILE_BYTES:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None  # Gone or unreadable: the rules then know as much as the tree says.
