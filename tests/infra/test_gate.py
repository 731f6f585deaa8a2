"""The gate and the root configuration: nothing is deployed for a demonstration."""

import shutil

from tests.conftest import Repository, Traingate
from tests.infra.module import ROOT


def test_the_committed_root_passes(repository: Repository, traingate: Traingate):
    repository.request("")
    shutil.copytree(ROOT / "infra", repository.path / "infra")
    done = traingate("check")
    assert (done.exit_code, "module-before-admission" in done.output) == (0, False), done.output


def test_a_root_that_calls_the_module_for_a_demonstration_is_refused(
    repository: Repository, traingate: Traingate
):
    repository.request("")
    text = (ROOT / "docs" / "setup-azure.md").read_text(encoding="utf-8")
    call = text.partition("```hcl\n")[2].partition("```")[0]
    repository.write("infra/main.tf", "# module\n" + call)
    done = traingate("check")
    assert done.exit_code == 1
    assert "infra/main.tf:2:1: `module.aml` deploys the platform" in done.output
