"""The terraform binary, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def terraform(
    *arguments: str, folder: Path, timeout_seconds: int = 60
) -> subprocess.CompletedProcess[str]:
    """Run it with no configuration of this machine's. Without it, see `missing`."""
    binary = shutil.which("terraform")
    if binary is None:
        missing("terraform is not installed")
    return subprocess.run(
        [str(binary), *arguments],
        cwd=folder,
        env={"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull},
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
    )


def missing(what: str) -> NoReturn:
    """Skip, saying why; fail where ci.yml has promised that nothing is missing."""
    if os.environ.get("TRAINGATE_REQUIRE_TERRAFORM"):
        pytest.fail(f"{what}, and TRAINGATE_REQUIRE_TERRAFORM is set")
    pytest.skip(f"{what}; ci.yml runs this with TRAINGATE_REQUIRE_TERRAFORM")
