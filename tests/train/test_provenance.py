from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

import pytest

from train_aml import provenance
from train_aml.problems import DataProblem
from train_aml.provenance import dataset_digest, mlflow_version, training_backend

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


BASE = {"a/x.bin": b"12", "b.bin": b"3" * 3_000_000}


@pytest.mark.parametrize(
    "other",
    [
        {**BASE, "b.bin": b"3" * 2_999_999 + b"4"},
        {"a/y.bin": b"12", "b.bin": BASE["b.bin"]},
        {"a/x.bin": b"123", "b.bin": BASE["b.bin"][1:]},
        {**BASE, "c.bin": b""},
    ],
    ids=["last byte", "name", "byte moved to the other file", "empty file"],
)
def test_any_change_changes_the_digest(tmp_path: Path, other: dict[str, bytes]):
    base = dataset_digest(write(tmp_path / "1", BASE))
    assert base != dataset_digest(write(tmp_path / "2", other))


def test_the_same_files_elsewhere_have_the_same_digest(tmp_path: Path):
    one = dataset_digest(write(tmp_path / "1", BASE))
    assert one == dataset_digest(write(tmp_path / "2" / "deeper", dict(reversed(BASE.items()))))
    assert len(one) == 64


def test_a_single_file_has_a_digest(tmp_path: Path):
    write(tmp_path, {"x.bin": b"1"})
    assert dataset_digest(tmp_path / "x.bin") == dataset_digest(tmp_path)


def test_refuses_what_is_not_there(tmp_path: Path):
    with pytest.raises(DataProblem, match="does not exist"):
        dataset_digest(tmp_path / "none")
    with pytest.raises(DataProblem, match="holds no file"):
        dataset_digest(tmp_path)


def test_backend():
    assert [training_backend(n) for n in (1, 2, 16)] == [
        "single-node",
        "aml-distributed",
        "aml-distributed",
    ]


def test_the_client_of_the_training_image_has_a_version_too(monkeypatch: pytest.MonkeyPatch):
    def only_the_client(name: str) -> str:
        if name == "mlflow":
            raise PackageNotFoundError(name)
        return {"mlflow-skinny": "3.17.2"}[name]

    monkeypatch.setattr(provenance, "installed", only_the_client)
    assert mlflow_version() == "3.17.2"
