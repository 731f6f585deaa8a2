"""The control plane starts without azure; only using the backend brings it in."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"


@pytest.mark.parametrize(
    "module", ["traingate.cli", "traingate.commands.submit", "traingate.backends.azureml"]
)
def test_importing_brings_in_nothing_of_azure(module: str) -> None:
    code = f"import sys, {module}; print([m for m in sys.modules if m.split('.')[0] == 'azure'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SOURCE)},
    )
    assert done.stdout == "[]\n"
