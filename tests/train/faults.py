"""Run the digits with a fault planted on one rank: `faults.py ACTION POINT RANK ARGUMENTS...`."""

from __future__ import annotations

import os
import runpy
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def do(action: str) -> None:
    """Fail in the given way; most of them do not return."""
    match action:
        case "raise":
            raise RuntimeError("planted")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit0":
            sys.exit(0)
        case "vanish0":
            os._exit(0)
        case "hang":
            time.sleep(1_000)
        case "stuck-in-finally":
            try:
                raise RuntimeError("planted")
            finally:
                time.sleep(1_000)
        case "sigterm":
            os.kill(os.getpid(), signal.SIGTERM)
        case _:
            sys.exit(f"unknown action {action}")


def before(owner: Any, name: str, action: str, skip: int = 0) -> None:
    """Make `owner.name` do the action before its call number `skip`."""
    original, calls = getattr(owner, name), iter(range(10**9))

    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        if next(calls) == skip:
            do(action)
        return original(*arguments, **keywords)

    setattr(owner, name, wrapper)


def plant(action: str, point: str) -> None:
    from train_aml import checkpoint, loop, outcome, registry, results

    name, _, number = point.partition(":")
    match name:
        case "step":
            before(loop.Loop, "step", action, int(number))
        case "backward":
            before(loop.Loop, "_backward", action, int(number))
        case "checkpoint":
            before(checkpoint, "write_atomically", action, int(number or 0))
        case "register":
            before(registry.Registry, "register", action)
        case "version":
            before(registry.Registry, "_create_model", action)
        case "row":
            before(results.Results, "record", action)
        case "outcome":
            before(outcome.Outcome, "write", action)
        case "loss":
            poison(int(number))
        case _:
            sys.exit(f"unknown point {point}")


def poison(step: int) -> None:
    """Make the loss of a step no number."""
    from train_aml import loop

    original, calls = loop.Loop._backward, iter(range(10**9))

    def wrapper(self: loop.Loop, loss_sum: Any, size: int) -> Any:
        scale = float("nan") if next(calls) == step else 1.0
        return original(self, loss_sum * scale, size)

    loop.Loop._backward = wrapper  # type: ignore[method-assign]


if __name__ == "__main__":
    action, point, rank = sys.argv[1:4]
    if os.environ["RANK"] == rank:
        plant(action, point)
    sys.argv = ["train_distributed", *sys.argv[4:]]
    runpy.run_module("train_aml.train_distributed", run_name="__main__", alter_sys=True)
