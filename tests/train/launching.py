"""Start local ranks with the variables Azure ML's PyTorch launcher sets."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "jobs" / "digits-ddp" / "data"
DIGITS = ("-m", "train_aml.train_distributed", "--data", str(DATA))
LIMIT_SECONDS = 150.0


class Template:
    """An empty tracking database: MLflow takes three seconds to make one, a copy takes none."""

    path = Path()
    exists = False


TEMPLATE = Template()


def fault(action: str, point: str, rank: int, *arguments: str) -> tuple[str, ...]:
    """The digits with a fault planted, see faults.py."""
    planted = (str(Path(__file__).parent / "faults.py"), action, point, str(rank))
    return (*planted, "--data", str(DATA), *arguments)


@dataclass(kw_only=True)
class Launch:
    """One run of a script on `nodes` x `processes` ranks, in a folder of its own."""

    folder: Path
    run: str
    arguments: tuple[str, ...] = DIGITS
    nodes: int = 1
    processes: int = 2
    tracking_uri: str = ""
    results_url: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    rank_variables: dict[int, dict[str, str]] = field(default_factory=dict)
    ranks: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.tracking_uri:
            database = self.folder / "tracking.db"
            if TEMPLATE.exists and not database.exists():
                shutil.copyfile(TEMPLATE.path, database)
            self.tracking_uri = f"sqlite:///{database}"
        self.results_url = self.results_url or f"sqlite:///{self.folder}/results.db"

    @property
    def world_size(self) -> int:
        return self.nodes * self.processes

    def start(self) -> Launch:
        port = free_port()
        for rank in range(self.world_size):
            with self.log_path(rank).open("ab") as log:
                self.ranks.append(
                    subprocess.Popen(
                        [sys.executable, *self.arguments],
                        cwd=self.folder,
                        env=self._environment(rank, port),
                        stdout=log,
                        stderr=subprocess.STDOUT,
                    )
                )
        return self

    def wait(self, limit_seconds: float = LIMIT_SECONDS) -> list[int]:
        """The exit codes in rank order; ranks that outlive the limit are killed: a failed test."""
        try:
            return [rank.wait(limit_seconds) for rank in self.ranks]
        finally:
            self.kill()

    def run_to_end(self) -> list[int]:
        return self.start().wait()

    def kill(self) -> None:
        for rank in self.ranks:
            if rank.poll() is None:
                rank.kill()
            rank.wait()

    def log_path(self, rank: int) -> Path:
        return self.folder / f"rank{rank}.log"

    def log(self, rank: int) -> str:
        return self.log_path(rank).read_text(errors="replace")

    def logs(self) -> str:
        return "\n".join(f"--- rank {rank}\n{self.log(rank)}" for rank in range(self.world_size))

    @property
    def outcome_path(self) -> Path:
        return self.folder / "outputs" / "traingate" / "outcome.json"

    def outcome(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.outcome_path.read_text())
        return loaded

    def failure_path(self, rank: int) -> Path:
        return self.folder / f"failure{rank}.json"

    def failure(self, rank: int) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.failure_path(rank).read_text())
        return loaded

    def _environment(self, rank: int, port: int) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "PYTHONPATH": str(ROOT / "src"),
            "OMP_NUM_THREADS": "1",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "WORLD_SIZE": str(self.world_size),
            "RANK": str(rank),
            "LOCAL_RANK": str(rank % self.processes),
            "NODE_RANK": str(rank // self.processes),
            "TRAINGATE_FAILURE_FILE": str(self.failure_path(rank)),
            "TRAINGATE_RUN": self.run,
            "TRAINGATE_WORKLOAD": "digits-ddp",
            "TRAINGATE_MODEL": "digits-ddp",
            "TRAINGATE_DIGEST": "d" * 64,
            "TRAINGATE_ATTEMPT": "1",
            "TRAINGATE_IMAGE": "registry.example.com/train-aml@sha256:" + "0" * 64,
            "TRAINGATE_COMMIT": "c" * 40,
            "TRAINGATE_PULL_REQUEST": "7",
            "TRAINGATE_REPOSITORY": "contoso/training",
            "TRAINGATE_TRACKING_URI": self.tracking_uri,
            "TRAINGATE_RESULTS_URL": self.results_url,
            **self.variables,
            **self.rank_variables.get(rank, {}),
        }


def free_port() -> int:
    """A port nobody listens on now; the store fails at once should somebody take it meanwhile."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
