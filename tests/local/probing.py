"""Small scripts in place of training, and eyes on their processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

OUTCOME = """
import json, os, pathlib
def succeed():
    if os.environ.get("RANK", "0") == "0":
        folder = pathlib.Path("outputs/traingate"); folder.mkdir(parents=True)
        (folder / "outcome.json").write_text(json.dumps({
            "schema_version": 1, "status": "succeeded", "run_name": os.environ["TRAINGATE_RUN"],
            "workload": os.environ["TRAINGATE_WORKLOAD"],
            "world_size": int(os.environ.get("WORLD_SIZE", "1")),
            "training_backend": "aml-distributed", "dataset_digest": "0" * 64, "mlflow_run_id": "r",
            "model": {"name": "probe", "version": "1", "uri": "models:/probe/1"},
            "metrics": {"accuracy": 0.97},
            "curve": [{"step": 1, "loss": 2.0}, {"step": 9, "loss": 0.5}],
            "durations_seconds": {"training": 1.0}, "warnings": [], "failure": None}))
"""
WELL = OUTCOME + "succeed()\n"


def start(repository, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
    """The command line in a process of its own, so that it can be signalled."""
    code = "from traingate.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=repository.path,
        env=os.environ | variables | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_of(repository) -> list[str]:
    """Command lines of processes whose working directory is inside a run of `repository`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            inside = (process / "cwd").readlink().is_relative_to(repository.path / ".traingate")
            command = (process / "cmdline").read_text()
        except OSError:
            continue
        if inside and command:
            found.append(command)
    return found


def log_of_rank_zero(repository) -> str:
    logs = [run / "user_logs" / "std_log_process_0.txt" for run in repository.runs()]
    return "".join(log.read_text() for log in logs if log.exists())


def wait_for(condition, limit_seconds: float = 30) -> None:
    until = time.monotonic() + limit_seconds
    while not condition():
        assert time.monotonic() < until, "the condition did not come true"
        time.sleep(0.02)
