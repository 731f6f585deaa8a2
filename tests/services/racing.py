"""Many processes that do one thing at the same moment.

Run as a script, this imports what all need and forks, so that they start within milliseconds of
each other; the test's own process has threads, and must not be forked.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIMIT_SECONDS = 250.0
#: What a function needs, imported before the fork.
MODULES = {
    "open_run": ("mlflow", "mlflow.store.tracking.rest_store", "train_aml.tracking"),
    "register_upload": ("mlflow", "mlflow.store.tracking.rest_store", "train_aml.registry"),
    "record_result": ("train_aml.results", "psycopg"),
}
_barrier: Any = None


def race(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call a function of this module in as many processes as there are arguments, all at once."""
    racers = subprocess.Popen(
        [sys.executable, __file__],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        given = pickle.dumps((function.__name__, list(arguments)))
        told, errors = racers.communicate(given, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        # All of them: the forked ones would wait for each other for ever.
        os.killpg(racers.pid, signal.SIGKILL)
        racers.communicate()
        raise
    assert racers.returncode == 0, errors.decode()
    results: list[Any] = pickle.loads(told)  # noqa: S301 - our own child's
    return results


def _main() -> None:
    name, arguments = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - our parent's

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(
        len(arguments),
        mp_context=context,
        initializer=_start,
        initargs=(context.Barrier(len(arguments)),),
    ) as pool:
        calls = [pool.submit(_at_once, globals()[name], given) for given in arguments]
        results = [call.result() for call in calls]
    sys.stdout.buffer.write(pickle.dumps(results))


def _start(barrier: Any) -> None:
    global _barrier  # noqa: PLW0603 - what an initializer is for
    _barrier = barrier


def _at_once(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    _barrier.wait(200)
    return function(*given)


def open_run(uri: str, contract: Any) -> tuple[str, str]:
    """Open a run; its experiment and its id."""
    from train_aml.tracking import Tracking

    tracking = Tracking(contract, uri, tags={"traingate.run": contract.run})
    return tracking.experiment_id, tracking.run_id


def register_upload(uri: str, contract: Any, upload: tuple[str, str]) -> str:
    """Register what was uploaded, as a start does that found no version yet."""
    from train_aml.registry import Registry
    from train_aml.tracking import Tracking

    registry = Registry(contract, Tracking(contract, uri, tags={"traingate.run": contract.run}))
    registry._find_upload = lambda: upload  # type: ignore[method-assign]
    find, asked = registry._find_version, iter([True])
    registry._find_version = lambda: "" if next(asked, False) else find()  # type: ignore[method-assign]
    return registry.register(None, None, {"traingate.run": contract.run}).version  # type: ignore[arg-type]


def record_result(url: str, result: Any) -> int:
    """Create the table if need be and write a row; how many rows the run has then."""
    from train_aml.results import Results

    results = Results(url)
    results.prepare()
    results.record(result)
    rows = len(results.rows(result.run_name))
    results.close()
    return rows


if __name__ == "__main__":
    _main()
