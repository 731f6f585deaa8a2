from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from train_aml.failure import Failure, record, shorten
from train_aml.problems import DataProblem, EnvironmentProblem, StoreProblem
from train_aml.ranks import Ranks

if TYPE_CHECKING:
    from pathlib import Path

RANKS = Ranks(
    rank=3, local_rank=1, world_size=4, local_world_size=2, node_rank=1, launcher="pytorch"
)


def raised(error: BaseException) -> BaseException:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        fail()
    return caught.value


def test_record_goes_where_the_launcher_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "rank3" / "failure.json"
    monkeypatch.setenv("TRAINGATE_FAILURE_FILE", str(path))
    before = time.time()
    record(raised(ValueError("planted")), RANKS)
    written = json.loads(path.read_text())
    assert before <= written.pop("time_unix_seconds") <= time.time()
    assert "test_failure.py" in written.pop("traceback")
    assert written == {
        "rank": 3,
        "local_rank": 1,
        "node_rank": 1,
        "error": "ValueError: planted",
        "exit_code": 1,
    }


def test_the_first_record_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRAINGATE_FAILURE_FILE", str(tmp_path / "failure.json"))
    record(raised(ValueError("cause")), RANKS)
    record(raised(RuntimeError("consequence")), RANKS)
    written = json.loads((tmp_path / "failure.json").read_text())
    assert written["error"] == "ValueError: cause"


def test_torchrun_gets_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TRAINGATE_FAILURE_FILE", raising=False)
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    record(raised(ValueError("planted")), RANKS)
    assert (
        "ValueError: planted"
        in json.loads((tmp_path / "error.json").read_text())["message"]["message"]
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("x"), 1),
        (KeyboardInterrupt(), 1),
        (DataProblem("x"), 65),
        (EnvironmentProblem("x"), 69),
        (StoreProblem("x"), 69),
        (SystemExit(7), 7),
        (SystemExit("message"), 1),
        (SystemExit(0), 1),
    ],
)
def test_exit_codes(error: BaseException, code: int):
    assert Failure.of(raised(error), RANKS).exit_code == code


def test_survives_the_way_through_json():
    failure = Failure.of(raised(ValueError("x")), None)
    assert Failure.from_json(failure.to_json()) == failure
    assert failure.rank is None


def test_shortening_keeps_the_beginning_and_more_of_the_end():
    assert shorten("abc", 3) == "abc"
    short = shorten("a" * 500 + "z" * 500, 100)
    assert len(short) == 100
    assert short.startswith("aaa")
    assert short.count("z") > short.count("a")
