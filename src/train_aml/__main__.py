"""`python -m train_aml SCRIPT ARGS`: run a script, unedited, in a clean environment.

The script sees no MLflow variable of Azure ML's. When it fails, this rank's failure record is
written and the exit code says whose fault it was; rank zero writes the failed outcome. A script
that registers a model opens `train_aml.session()` itself.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from train_aml import environment
from train_aml.exits import end
from train_aml.failure import record
from train_aml.problems import EnvironmentProblem
from train_aml.rank_zero import write_early_failure
from train_aml.ranks import Ranks, detect

USAGE = "usage: python -m train_aml SCRIPT [ARGUMENTS...]"
BAD_USAGE = 2


def main(arguments: list[str]) -> None:
    """Run the script that `arguments` name and end the process."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE if arguments else f"{USAGE}; give the script to run.", file=sys.stderr)  # noqa: T201 - a command
        end(0 if arguments else BAD_USAGE)
    environment.clean(os.environ)
    ranks: Ranks | None = None
    try:
        ranks = detect(os.environ)
        _run(arguments)
    except SystemExit as left:
        if left.code in (None, 0):
            end(0)
        _fail(left, ranks)
    except BaseException as error:  # noqa: BLE001 - every way to fail ends in a record
        _fail(error, ranks)
    end(0)


def _run(arguments: list[str]) -> None:
    script = Path(arguments[0])
    if not script.is_file():
        raise EnvironmentProblem(
            f"{script} is no file in {Path.cwd()}. Give its path from the job's code folder."
        )
    # As `python SCRIPT` would set them.
    sys.argv = arguments
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")


def _fail(error: BaseException, ranks: Ranks | None) -> None:
    failure = record(error, ranks)
    print(failure.traceback, file=sys.stderr, flush=True)  # noqa: T201 - the job's log
    if ranks is None or ranks.is_zero:
        write_early_failure(failure, ranks.world_size if ranks else 1)
    end(failure.exit_code)


if __name__ == "__main__":
    main(sys.argv[1:])
