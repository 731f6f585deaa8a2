"""The process is killed after a request was served, and the command run again."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from azureml_fake import Fake, Fault
from azureml_fake.scene import Scene

DRIVER = Path(__file__).parent / "azureml_fake" / "driver.py"
KILLED = -9

#: One cut in every phase of a submission.
PHASES = (
    "GET github",
    "POST oauth2",
    "GET jobs/",
    "GET jobs$",
    "GET computes",
    "GET datastores",
    "PUT blob/acct1/data1",
    "POST codes",
    "PUT blob/acct1/[0-9a-f-]{36}/src/train",
    "PUT codes",
    "PUT environments",
    "PUT jobs",
)


@dataclass
class Driver:
    stdin: IO[str]
    stdout: IO[str]

    def submit(self, fake: Fake, root: Path, at: int | str | None = None) -> int:
        self._write(str(root))
        pid = int(self.stdout.readline())
        if at is not None:
            fake.faults.append(Fault(at=at, kind="kill", pid=pid))
        self._write("go")
        return int(self.stdout.readline())

    def _write(self, line: str) -> None:
        self.stdin.write(f"{line}\n")
        self.stdin.flush()


@pytest.fixture(scope="module")
def driver(one_fake: Fake) -> Iterator[Driver]:
    source = str(Path(__file__).parents[2] / "src")
    with subprocess.Popen(
        [sys.executable, str(DRIVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | one_fake.environ() | {"PYTHONPATH": source},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Driver(process.stdin, process.stdout)
        process.stdin.close()


def outcome(fake: Fake) -> dict[str, object]:
    """The job, and the content of everything it names; what a random id is called is no matter."""
    (job,) = fake.state.jobs.values()
    properties = dict(job["properties"])
    code_id = properties.pop("codeId")
    name = code_id.split("/codes/")[1].replace("/versions", "")
    uri = fake.state.codes[name]["properties"]["codeUri"].removeprefix(f"{fake.url}/blob/acct1/")
    folder = uri.rpartition("/")[0]
    blobs = {
        re.sub(f"^{re.escape(folder)}/", "code/", path): data
        for path, data in fake.state.blobs.items()
        if path.startswith((folder, "data1/"))
    }
    return {"job": properties, "environments": fake.state.environments, "blobs": blobs}


@pytest.fixture(scope="module")
def undisturbed(
    driver: Driver, one_fake: Fake, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, dict[str, object]]:
    """How many requests a submission makes, and what it leaves, when nothing happens."""
    scene = Scene.make(tmp_path_factory.mktemp("undisturbed") / "repository")
    one_fake.reset()
    assert driver.submit(one_fake, scene.root) == 0
    return len(one_fake.requests), outcome(one_fake)


@pytest.mark.parametrize("phase", PHASES)
def test_a_cut_in_a_phase_leaves_one_job_and_the_same_outcome(
    driver: Driver,
    undisturbed: tuple[int, dict[str, object]],
    fake: Fake,
    scene: Scene,
    phase: str,
) -> None:
    assert driver.submit(fake, scene.root, phase) == KILLED
    assert driver.submit(fake, scene.root) == 0
    assert outcome(fake) == undisturbed[1]


@pytest.mark.exhaustive
def test_a_cut_after_every_request_leaves_one_job_and_the_same_outcome(
    driver: Driver, undisturbed: tuple[int, dict[str, object]], fake: Fake, scene: Scene
) -> None:
    requests, expected = undisturbed
    assert requests > len(PHASES)
    for number in range(1, requests + 1):
        fake.reset()
        assert driver.submit(fake, scene.root, number) == KILLED
        assert driver.submit(fake, scene.root) == 0
        assert outcome(fake) == expected, f"cut after request {number}"
