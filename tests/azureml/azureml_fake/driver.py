"""Submits in a process of its own, which may be killed at any request.

azure takes a second to import, so this process does that once and forks for every attempt.
Protocol, a line each way: a repository's path comes in; the child's pid goes out; `go` comes
in; the child's exit status goes out (0 submitted, 3 refused by the world, -9 killed).
"""

import os
import signal
import sys
import threading
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).parents[1]))

from azureml_fake.scene import PLATFORM, PROVENANCE, Scene  # noqa: E402 - found by the line above
from traingate.backends.azureml.backend import AzureMLBackend  # noqa: E402 - warnings come first
from traingate.backends.azureml.credential import credential  # noqa: E402 - as above
from traingate.backends.azureml.workspace import Workspace  # noqa: E402 - as above
from traingate.documents.platform import Azure  # noqa: E402 - as above
from traingate.errors import TraingateError  # noqa: E402 - as above


def submit(root: str) -> int:
    azure = Azure(**PLATFORM["azure"])
    workspace = Workspace(
        azure=azure,
        credential=credential(azure, "submitter", os.environ),
        backoff_seconds=0.001,
        blob_url=os.environ["AZUREML_DEV_URL_MFE"] + "/blob/{account}",
    )
    try:
        AzureMLBackend(workspace, Path(root)).submit(Scene(Path(root)).plan(), PROVENANCE)
    except TraingateError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


def say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def attempt(root: str) -> int:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(reading, 1)
        code = 1
        try:
            code = submit(root)
        finally:
            os._exit(code)
    say(pid)
    sys.stdin.readline()
    os.write(writing, b"g")
    _, status = os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert threading.active_count() == 1, "a fork would lose the other threads"
    for line in sys.stdin:
        say(attempt(line.strip()))
