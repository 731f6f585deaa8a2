"""Where a model comes from: the digest of its data and the tags it carries."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import TYPE_CHECKING

from train_aml.problems import DataProblem

if TYPE_CHECKING:
    from train_aml.environment import Contract

CHUNK_BYTES = 1 << 20

#: Stands in a tag for what this run does not have, so that every tag is always there.
ABSENT = "none"


def mlflow_version() -> str:
    """MLflow's version. The training image has its client alone, as `mlflow-skinny`."""
    try:
        return installed("mlflow")
    except PackageNotFoundError:
        return installed("mlflow-skinny")


def dataset_digest(root: str | Path) -> str:
    """SHA-256 over the names (relative, sorted) and the bytes of every file under `root`.

    MLflow's own digest reads the first 10,000 elements only, so that different data can share it.

    Raises:
        DataProblem: `root` does not exist or holds no file.
    """
    root = Path(root)
    if not root.exists():
        raise DataProblem(f"{root} does not exist; give the job's input folder as --data.")
    files = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
    if not files:
        raise DataProblem(f"{root} holds no file; check the job's `inputs`.")
    digest = hashlib.sha256()
    for path in files:
        name = path.name if path == root else path.relative_to(root).as_posix()
        digest.update(f"{len(name.encode())}:{name}:{path.stat().st_size}:".encode())
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    return digest.hexdigest()


def training_backend(world_size: int) -> str:
    """The one tag by which a model trained here differs from one trained on a single node."""
    return "single-node" if world_size == 1 else "aml-distributed"


def version_tags(contract: Contract, *, world_size: int, data_digest: str) -> dict[str, str]:
    """The tags of the run and of the registered version."""
    return {
        "dataset.digest": data_digest or ABSENT,
        "code.image": contract.image or ABSENT,
        "git.commit": contract.commit or ABSENT,
        "git.repository": contract.repository or ABSENT,
        "git.pull_request": contract.pull_request or ABSENT,
        "traingate.run": contract.run,
        "traingate.digest": contract.digest,
        "traingate.workload": contract.workload,
        "traingate.attempt": str(contract.attempt),
        "training.backend": training_backend(world_size),
        "training.world_size": str(world_size),
    }
