"""Play the whole pull-request loop on this machine and print the thread as it would look.

The real workflow files run under act, against a fake GitHub on the loopback; the training is
real, with the local backend. Usage: python scripts/demo_pr.py
"""

import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from github.fake.acting import Outcome, Runner, runner  # noqa: E402 - after the path is set
from github.fake.server import FakeGitHub  # noqa: E402 - as above
from github.fake.state import Pull  # noqa: E402 - as above

WORKLOAD = "digits-ddp"
OWNERS = "* @olga\n"


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="traingate-demo-"))
    try:
        with runner(folder, FakeGitHub()) as ci:
            pull, ended = play(ci)
            thread(pull)
            artifacts = [path.name for path in (folder / "artifacts").iterdir()]
            print(f"\nThe model is in the artifact {', '.join(artifacts)} of the workflow run.")
    finally:
        shutil.rmtree(folder)
    return 0 if ended and pull.labels == ["traingate:done"] else 1


def play(ci: Runner) -> tuple[Pull, bool]:
    """Open, gate, approve, merge, submit and train, report."""
    request = files(f"admissions/{WORKLOAD}.md") | files(f"jobs/{WORKLOAD}")
    ci.stage.merged({".github/CODEOWNERS": OWNERS} | files("platform.yml"))
    say("ada opens a pull request with two files, and their data")
    pull = ci.stage.open(request)
    gate = told("gate.yml", lambda: ci.pull_request(pull))
    say("olga, a code owner, approves its last commit; ada merges it by squash")
    ci.stage.approve(pull)
    push = ci.stage.merge(pull)
    submit = told("submit.yml", lambda: ci.push(push.before, push.after))
    report = told("report.yml", ci.report)
    return pull, gate.returncode == submit.returncode == report.returncode == 0


def told(workflow: str, run) -> Outcome:  # noqa: ANN001 - a call without arguments
    """Run one workflow, its steps a line each."""
    start = time.monotonic()
    print(f"  {workflow} runs under act ...", flush=True)
    outcome: Outcome = run()
    for (job, step), result in outcome.steps().items():
        print(f"    {'ok' if result == 'success' else result:<8} {job}: {step}")
    print(f"    {time.monotonic() - start:.0f} s")
    if outcome.returncode:
        print(outcome.log(), outcome.stderr)
    return outcome


def thread(pull: Pull) -> None:
    """The pull request's thread, without its hidden markers."""
    say(f"The pull request's thread (labels: {', '.join(pull.labels)})")
    for comment in pull.comments:
        print(f"\n--- {comment.author} " + "-" * 60)
        print(re.sub(r"<!--.*?-->\n", "", comment.body, flags=re.DOTALL).rstrip())


def files(place: str) -> dict[str, str | bytes | None]:
    """This repository's own files at a path."""
    path = ROOT / place
    found = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return {str(one.relative_to(ROOT)): one.read_bytes() for one in found}


def say(text: str) -> None:
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR")
    print(f"\n{text}" if plain else f"\n\033[1m{text}\033[0m", flush=True)


if __name__ == "__main__":
    sys.exit(main())
