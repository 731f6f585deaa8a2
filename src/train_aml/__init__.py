"""The data plane: what runs inside a training process. It knows nothing of the control plane."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from train_aml.loop import Loop, Recipe
    from train_aml.provenance import dataset_digest
    from train_aml.sampler import Batch, Sampler, shard
    from train_aml.strategy import Network
    from train_aml.training_session import Session, session

__all__ = [
    "Batch",
    "Loop",
    "Network",
    "Recipe",
    "Sampler",
    "Session",
    "dataset_digest",
    "session",
    "shard",
]

_HOMES = {
    "Batch": "sampler",
    "Loop": "loop",
    "Network": "strategy",
    "Recipe": "loop",
    "Sampler": "sampler",
    "Session": "training_session",
    "dataset_digest": "provenance",
    "session": "training_session",
    "shard": "sampler",
}


def __getattr__(name: str) -> Any:
    # Late, because a TensorFlow or MPI job has no torch, and `python -m train_aml` cleans the
    # environment first.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
