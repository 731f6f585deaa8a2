"""`python -m train_aml SCRIPT`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launching import Launch

if TYPE_CHECKING:
    from pathlib import Path


def launch(folder: Path, script: str, *arguments: str, name: str = "script.py") -> Launch:
    (folder / "src").mkdir()
    (folder / "src" / "helper.py").write_text("VALUE = 42\n")
    (folder / "src" / "script.py").write_text(script)
    return Launch(
        folder=folder,
        run="script-l1",
        arguments=("-m", "train_aml", f"src/{name}", *arguments),
        processes=1,
        variables={"MLFLOW_TRACKING_TOKEN": "planted", "MLFLOW_RUN_ID": "x"},
    )


def test_an_unedited_script_sees_a_clean_environment(tmp_path: Path):
    run = launch(
        tmp_path,
        "import os, sys, helper\n"
        "print(sys.argv, __name__, helper.VALUE)\n"
        "print([n for n in os.environ if n in ('MLFLOW_TRACKING_TOKEN', 'MLFLOW_RUN_ID')])\n",
        "--epochs",
        "3",
    )
    assert run.run_to_end() == [0], run.logs()
    assert run.log(0) == "['src/script.py', '--epochs', '3'] __main__ 42\n[]\n"
    assert not run.outcome_path.exists()


def test_a_failing_script_leaves_record_and_outcome(tmp_path: Path):
    run = launch(tmp_path, "raise ValueError('planted')\n")
    assert run.run_to_end() == [1]
    assert run.failure(0)["error"] == "ValueError: planted"
    assert 'script.py", line 1' in run.failure(0)["traceback"]
    assert run.outcome()["status"] == "failed"
    assert run.outcome()["run_name"] == "script-l1"


def test_the_scripts_own_exit_code_stands(tmp_path: Path):
    run = launch(tmp_path, "import sys\nsys.exit(7)\n")
    assert run.run_to_end() == [7]


def test_leaving_with_zero_is_a_success_here(tmp_path: Path):
    assert launch(tmp_path, "import sys\nsys.exit()\n").run_to_end() == [0]


def test_no_such_script(tmp_path: Path):
    run = launch(tmp_path, "", name="missing.py")
    assert run.run_to_end() == [69]
    assert "src/missing.py is no file in" in run.log(0)


def test_a_contradictory_environment_is_told_before_the_script_starts(tmp_path: Path):
    run = launch(tmp_path, "print('started')\n")
    run.variables["RANK"] = "3"
    assert run.run_to_end() == [69]
    assert "rank 3 lies outside the world of 1" in run.log(0)
    assert "started" not in run.log(0)
