"""The fake is a package of its own, shared by tests and by `scripts/demo_pr.py`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from github.fake.stage import Stage


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A repository on the disk and on the fake, which must have kept GitHub's contract."""
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/train")
    made = Stage(tmp_path / "main")
    yield made
    assert made.fake.violations == []
