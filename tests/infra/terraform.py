"""The terraform binary, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def terraform(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run it offline. Skips where it is missing, unless TRAINGATE_REQUIRE_TERRAFORM is set."""
    binary = shutil.which("terraform")
    if binary is None:
        message = (
            "terraform is not installed; ci.yml installs it and sets TRAINGATE_REQUIRE_TERRAFORM"
        )
        if os.environ.get("TRAINGATE_REQUIRE_TERRAFORM"):
            pytest.fail(message)
        pytest.skip(message)
    return subprocess.run(
        [binary, *arguments],
        cwd=folder,
        env={"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
