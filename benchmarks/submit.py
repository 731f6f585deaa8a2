"""Requests and wall time of one submission, beside the SDK used on its own for the same job.

Both talk to the tests' fake service over TLS, in this process, with 50 ms added to every answer.
The SDK alone neither looks whether the run exists, nor compares the compute, nor counts what was
spent; that is what the difference buys.

    python benchmarks/submit.py [--repeats 5] [--delay-ms 50]
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path

warnings.simplefilter("ignore")
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "azureml")]

from azure.ai.ml import MLClient, load_job  # noqa: E402 - found, and silent, by the lines above
from azureml_fake import Fake, running  # noqa: E402 - as above
from azureml_fake.scene import JOB, PLATFORM, PROVENANCE, Scene, StaticCredential  # noqa: E402

from traingate.documents.platform import Azure  # noqa: E402 - as above


def ours(fake: Fake, scene: Scene, number: int) -> None:
    provenance = replace(PROVENANCE, origin=f"p{number}")
    scene.backend(fake).submit(scene.plan(), provenance)


def naive(_: Fake, scene: Scene, number: int) -> None:
    azure = Azure(**PLATFORM["azure"])
    client = MLClient(
        StaticCredential(), azure.subscription_id, azure.resource_group, azure.workspace
    )
    job = load_job(scene.root / "jobs/seg/job.yml", params_override=[{"name": f"naive-{number}"}])
    with redirect_stderr(StringIO()):
        client.jobs.create_or_update(job)


def measured(
    submit: Callable[[Fake, Scene, int], None], fake: Fake, scene: Scene, delay_seconds: float
) -> tuple[int, float]:
    """Requests and seconds of one submission into an empty workspace."""
    fake.reset()
    fake.delay_seconds = delay_seconds
    start = time.perf_counter()
    submit(fake, scene, 1)
    return len(fake.requests), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--delay-ms", type=float, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as fake:
        os.environ.update(fake.environ())
        job = {key: value for key, value in JOB.items() if key != "inputs"}
        scene = Scene.make(Path(name) / "repository", job | {"command": "python train.py"})
        results = {"traingate submit": [], "MLClient.jobs.create_or_update": []}
        for _ in range(options.repeats + 1):
            for label, submit in zip(results, (ours, naive), strict=True):
                results[label].append(measured(submit, fake, scene, options.delay_ms / 1000))
    report(results, options.delay_ms)


def report(results: dict[str, list[tuple[int, float]]], delay_ms: float) -> None:
    """Medians, without the first round, in which the SDK builds its schemas."""
    medians = {}
    print(
        f"{delay_ms:g} ms added to each answer, median of {len(next(iter(results.values()))) - 1}"
    )
    for label, runs in results.items():
        medians[label] = statistics.median(seconds for _, seconds in runs[1:])
        print(f"{label:32} {runs[-1][0]:3} requests {medians[label] * 1000:7.0f} ms")
    mine, other = medians.values()
    print(f"ratio {mine / other:.2f}")


if __name__ == "__main__":
    main()
