"""Checkpoints: whole or invisible, newest valid first, at any number of ranks."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from train_aml.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator

    from train_aml.ranks import Ranks

NAME = re.compile(r"step-(\d{12})")
#: Written last: the names and sizes of all files. A mounted store renames no folder atomically.
COMPLETE = "complete.json"
KEEP = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A complete checkpoint, and the state it was opened with."""

    path: Path
    step: int


class Checkpoints:
    """The checkpoints in one folder, which every rank can reach.

    A checkpoint is a folder `step-<step>`: tensors as torch.distributed.checkpoint writes them, a
    file a rank for what is only its own (random numbers), one for what all share.
    """

    def __init__(self, folder: str | Path, ranks: Ranks) -> None:
        self._folder = Path(folder)
        self._ranks = ranks

    def save(
        self, step: int, tensors: dict[str, Any], shared: dict[str, Any], own: dict[str, Any]
    ) -> None:
        """Write a checkpoint; every rank must call it at the same step."""
        # Importing this takes most of a second, and the first step comes first.
        from torch.distributed.checkpoint.state_dict_saver import save  # noqa: PLC0415

        path = self._folder / f"step-{step:012}"
        if self._ranks.is_zero:
            # What lies there has no COMPLETE: a start that was killed while writing it.
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
        self._barrier()
        with _alone_on_purpose():
            save(tensors, checkpoint_id=path, no_dist=self._ranks.world_size == 1)
        torch.save(own, path / f"rank-{self._ranks.rank}.pt")
        if self._ranks.is_zero:
            torch.save(shared, path / "shared.pt")
        self._barrier()
        if self._ranks.is_zero:
            sizes = {each.name: each.stat().st_size for each in path.iterdir()}
            content = {"world_size": self._ranks.world_size, "files": sizes}
            write_atomically(path / COMPLETE, json.dumps(content).encode())
            self._drop_older()
        # Nobody goes on, or ends, before the checkpoint counts.
        self._barrier()

    def newest(self) -> Checkpoint | None:
        """The newest complete checkpoint, the same on every rank."""
        found: list[Checkpoint | None] = [None]
        if self._ranks.is_zero:
            found = [next((c for c in self._all() if _is_complete(c.path)), None)]
        if self._ranks.world_size > 1:
            dist.broadcast_object_list(found, src=0)
        return found[0]

    def load(
        self, checkpoint: Checkpoint, tensors: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Fill `tensors` in place and return what all ranks share and what is this rank's own.

        The own part is None where the checkpoint was made by fewer ranks.
        """
        from torch.distributed.checkpoint.state_dict_loader import load  # noqa: PLC0415 - as above

        with _alone_on_purpose():
            load(tensors, checkpoint_id=checkpoint.path, no_dist=self._ranks.world_size == 1)
        own = checkpoint.path / f"rank-{self._ranks.rank}.pt"
        shared: dict[str, Any] = torch.load(checkpoint.path / "shared.pt", weights_only=True)
        return shared, torch.load(own, weights_only=True) if own.exists() else None

    def _all(self) -> list[Checkpoint]:
        if not self._folder.is_dir():
            return []
        found = [(NAME.fullmatch(path.name), path) for path in self._folder.iterdir()]
        known = [Checkpoint(path=path, step=int(match[1])) for match, path in found if match]
        return sorted(known, key=lambda checkpoint: checkpoint.step, reverse=True)

    def _drop_older(self) -> None:
        complete = [c for c in self._all() if _is_complete(c.path)]
        for checkpoint in complete[KEEP:]:
            # First the mark, so that a half-deleted checkpoint does not count.
            (checkpoint.path / COMPLETE).unlink()
            shutil.rmtree(checkpoint.path, ignore_errors=True)

    def _barrier(self) -> None:
        if self._ranks.world_size > 1:
            dist.barrier()


@contextmanager
def _alone_on_purpose() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        yield


def _is_complete(path: Path) -> bool:
    try:
        sizes = json.loads((path / COMPLETE).read_text())["files"]
        return all((path / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, AttributeError):
        return False
