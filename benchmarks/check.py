"""`traingate check`: cold against the SDK's own offline check, and 1,000 requests in one process.

    python benchmarks/check.py [ROUNDS]

Both sides of a comparison run in turn, in the same minutes, so that a busy machine slows both;
the least of the rounds is what the code costs. Processor time counts every child process.
Nothing here is asserted; the aims stand beside the figures.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
BASE = ROOT / "tests" / "cases" / "_base"

CHECK = "from traingate.cli import main; main(['check', 'w0000'])"
LOAD = "from azure.ai.ml import load_job; load_job('jobs/w0000/job.yml')"

#: Read and judge every request in one process; what it costs after the imports.
MANY = """
import json, resource, time
from datetime import date
from pathlib import Path
from traingate import pipeline
from traingate.documents.reading import workloads
here = Path.cwd()
pipeline.check_each(pipeline.read_each(here, workloads(here)[:1], date(2026, 11, 30)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
findings = pipeline.check_each(pipeline.read_each(here, workloads(here), date(2026, 11, 30)))
took = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": took, "before_mib": before / 1024, "peak_mib": peak / 1024,
                  "findings": len(findings)}))
"""


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        environment = surroundings(Path(temporary) / "bytecode")
        with repository(Path(temporary), 1) as one:
            cold(one, environment, rounds)
        figures = {}
        for count in (100, 1000):
            with repository(Path(temporary), count) as many:
                figures[count] = least(many, environment, rounds)
    report(figures)


def surroundings(bytecode: Path) -> dict[str, str]:
    """The environment of an installed package: on the path, and compiled after the first call."""
    kept = {key: it for key, it in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONPYCACHEPREFIX": str(bytecode),
        "TRAINGATE_TODAY": "2026-11-30",
    }


@contextmanager
def repository(parent: Path, count: int) -> Iterator[Path]:
    """A repository of `count` clean requests, committed."""
    top = parent / f"of-{count}"
    (top / "admissions").mkdir(parents=True)
    shutil.copy(BASE / "platform.yml", top)
    admission = (BASE / "admission.md").read_text(encoding="utf-8")
    job = (BASE / "job.yml").read_text(encoding="utf-8")
    for number in range(count):
        name = f"w{number:04d}"
        shutil.copytree(BASE / "src", top / "jobs" / name / "src")
        (top / "jobs" / name / "job.yml").write_text(job.replace("segmentation-ddp", name))
        (top / "admissions" / f"{name}.md").write_text(admission.replace("segmentation-ddp", name))
    git = ["git", "-C", str(top), "-c", "user.name=b", "-c", "user.email=b@example.com"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "All"], check=True)
    yield top
    shutil.rmtree(top)


def cold(top: Path, environment: dict[str, str], rounds: int) -> None:
    wall: dict[str, list[float]] = {CHECK: [], LOAD: []}
    processor: dict[str, list[float]] = {CHECK: [], LOAD: []}
    for code in (CHECK, LOAD):  # the first call compiles
        timed(top, environment, code)
    for _ in range(rounds):
        for code in (CHECK, LOAD):
            seconds, busy = timed(top, environment, code)
            wall[code].append(seconds)
            processor[code].append(busy)
    print(f"cold, one request, least of {rounds} rounds in turn")
    for name, figures in (("wall", wall), ("processor", processor)):
        ours, theirs = min(figures[CHECK]), min(figures[LOAD])
        print(
            f"  {name:9} traingate check {ours * 1000:6.0f} ms, azure.ai.ml load_job "
            f"{theirs * 1000:6.0f} ms: {theirs / ours:4.1f} times faster (aim: 12)"
        )


def timed(top: Path, environment: dict[str, str], code: str) -> tuple[float, float]:
    """Wall and processor seconds of one fresh interpreter, its children included."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], cwd=top, env=environment, check=True, capture_output=True
    )
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return end - start, busy


def least(top: Path, environment: dict[str, str], rounds: int) -> dict[str, float]:
    """The round that took the fewest processor seconds."""
    command = [sys.executable, "-c", MANY]
    results: list[dict[str, float]] = [
        json.loads(subprocess.check_output(command, cwd=top, env=environment))
        for _ in range(min(rounds, 5))
    ]
    return min(results, key=lambda it: it["seconds"])


def report(figures: dict[int, dict[str, float]]) -> None:
    print("many requests in one process, after the imports")
    for count, it in figures.items():
        print(
            f"  {count:5} requests: {it['seconds']:6.2f} s of processor time, peak "
            f"{it['peak_mib']:4.0f} MiB ({it['before_mib']:.0f} before), "
            f"{it['findings']:.0f} findings"
        )
    few, many = figures[100], figures[1000]
    growth = many["seconds"] / (10 * few["seconds"])
    each = (many["peak_mib"] - few["peak_mib"]) / 900 * 1024
    print(f"  1,000 requests take {many['seconds']:.2f} s (aim: 2)")
    print(f"  {growth:.2f} times linear from 100 to 1,000 (aim: 1.3)")
    print(f"  {each:.0f} KiB of memory a request (aim: flat)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
