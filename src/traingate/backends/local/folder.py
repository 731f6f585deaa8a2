"""A run's folder: what it holds, and the record of its states that survives a kill."""

import fcntl
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from traingate.outcome import MAX_BYTES

RUNS = Path(".traingate", "runs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One line of the record: when (seconds since the epoch), which state, and its details."""

    at: float
    state: str
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """`.traingate/runs/<run name>/`.

    `code/` is the working directory of every rank, `inputs/<name>` and `outputs/<name>` are
    what the job's references stand for, `user_logs/` has a file a rank as on Azure ML.
    """

    path: Path

    @property
    def repository(self) -> Path:
        return self.path.parents[len(RUNS.parts)]

    @property
    def code(self) -> Path:
        return self.path / "code"

    @property
    def inputs(self) -> Path:
        return self.path / "inputs"

    @property
    def outputs(self) -> Path:
        return self.path / "outputs"

    @property
    def outcome(self) -> Path:
        return self.outputs / "traingate" / "outcome.json"

    @property
    def failures(self) -> Path:
        return self.path / "failures"

    def failure(self, rank: int) -> Path:
        return self.failures / f"{rank}.json"

    @property
    def card(self) -> Path:
        return self.path / "card.md"

    def outcome_text(self) -> str | None:
        """The outcome file's text, cut off just past the size it may have; None without one."""
        try:
            with self.outcome.open("rb") as file:
                return file.read(MAX_BYTES + 1).decode(errors="replace")
        except FileNotFoundError:
            return None

    def log(self, rank: int) -> Path:
        return self.path / "user_logs" / f"std_log_process_{rank}.txt"

    def facts(self) -> dict[str, Any]:
        """What was decided when the run was made; never changes."""
        facts: dict[str, Any] = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        return facts

    def record(self, state: str, **details: Any) -> None:
        """Append a state, on the disk before this returns."""
        line = json.dumps({"at": time.time(), "state": state, "details": details})
        descriptor = os.open(self.path / "state.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, f"{line}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def entries(self) -> tuple[Entry, ...]:
        """The record. A last line cut off by a kill was never promised, so it is left out."""
        text = (self.path / "state.jsonl").read_text(encoding="utf-8")
        return tuple(Entry(**json.loads(line)) for line in text.split("\n")[:-1] if line)

    def is_launched(self) -> bool:
        """Whether a launcher is alive on this run."""
        lock = self.lock()
        if lock is None:
            return True
        lock.close()
        return False

    def lock(self) -> TextIO | None:
        """Hold the run until the returned file is closed; None when somebody else holds it."""
        lock = (self.path / "lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        return lock


def make(folder: RunFolder, facts: dict[str, Any]) -> TextIO | None:
    """Make the folder, whole or not at all; None when the run is there already.

    The folder is written beside its place and renamed into it: of two submits at the same
    moment one wins, and a kill in the middle leaves no half-made run. The winner holds the
    run's lock (see `RunFolder.lock`) from before anyone can see the folder.
    """
    draft = RunFolder(folder.path.with_name(f".{folder.path.name}.{os.getpid()}"))
    shutil.rmtree(draft.path, ignore_errors=True)
    for name in ("code", "inputs", "outputs", "user_logs", "failures"):
        (draft.path / name).mkdir(parents=True)
    # Azure ML uploads ./outputs of the working directory, so a script writes there.
    (draft.code / "outputs").symlink_to(Path("..", "outputs"))
    (draft.path / "run.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")
    draft.record("Preparing", launcher=os.getpid())
    lock = draft.lock()
    try:
        draft.path.rename(folder.path)
    except OSError:
        if lock is not None:
            lock.close()
        shutil.rmtree(draft.path)
        if not folder.path.is_dir():
            raise
        return None
    return lock


def folders(runs: Path) -> tuple[RunFolder, ...]:
    """The runs that lie in the folder `runs`, oldest first."""
    made = [RunFolder(path.parent) for path in runs.glob("[a-z0-9]*/run.json")]
    return tuple(sorted(made, key=lambda folder: folder.entries()[0].at))
