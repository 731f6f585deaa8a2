"""The random numbers of one process, to be put into a checkpoint and taken out again."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch


def state() -> dict[str, Any]:
    """The state of torch's (CPU and current GPU), Python's and NumPy's global generators."""
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002 - scripts use it
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
        "python": random.getstate(),
        "numpy": [name, torch.from_numpy(np.asarray(keys).copy()), position, has_gauss, gauss],
    }


def restore(saved: dict[str, Any]) -> None:
    """Put the generators back to `saved`."""
    torch.set_rng_state(saved["torch"])
    if saved["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(saved["cuda"])
    version, internal, gauss = saved["python"]
    random.setstate((version, tuple(internal), gauss))
    name, keys, *rest = saved["numpy"]
    np.random.set_state((name, keys.numpy(), *rest))  # noqa: NPY002 - as above
