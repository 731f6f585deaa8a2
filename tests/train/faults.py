"""Run the digits with a fault planted: `python faults.py FAULT RANK ARGUMENTS...`."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from typing import Any


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("planted")


def killed(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def after(function: Any, action: Any) -> Any:
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        function(*arguments, **keywords)
        return action()

    return wrapper


def plant(fault: str) -> None:
    from train_aml import data, registry, results, sampler

    match fault:
        case "raise-before-registering":
            registry.Registry.register = fail  # type: ignore[method-assign]
        case "raise-in-epoch":
            data.ShiftedViews.batch = fail  # type: ignore[method-assign]
        case "kill-in-epoch":
            data.ShiftedViews.batch = killed  # type: ignore[method-assign]
        case "kill-before-registering":
            registry.Registry.register = killed  # type: ignore[method-assign]
        case "kill-after-upload":
            registry.Registry._create_model = killed  # type: ignore[method-assign]
        case "kill-before-row":
            results.Results.record = killed  # type: ignore[method-assign]
        case "kill-after-row":
            results.Results.record = after(results.Results.record, killed)  # type: ignore[method-assign]
        case "data":
            sampler.Sampler.__post_init__ = fail  # type: ignore[method-assign]
        case _:
            sys.exit(f"unknown fault {fault}")


if __name__ == "__main__":
    fault, rank = sys.argv[1:3]
    if os.environ["RANK"] == rank:
        plant(fault)
    sys.argv = ["train_distributed", *sys.argv[3:]]
    runpy.run_module("train_aml.train_distributed", run_name="__main__", alter_sys=True)
