"""`make demo-pr`: the whole loop with a real training, as a person sees it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_the_demo_ends_with_a_model_on_the_pull_request() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "demo_pr.py")],
        capture_output=True,
        text=True,
        timeout=570,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "labels: traingate:done" in done.stdout
    assert "digits-ddp is trained: `models:/digits-ddp/1`" in done.stdout
    assert "Rehearsal" not in done.stdout
    assert "/tmp/" not in done.stdout  # noqa: S108 - no path of this machine is told
