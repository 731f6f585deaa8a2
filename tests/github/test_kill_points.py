"""Submit and report cut off after every request, and run again: everything exactly once."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from github.fake.backend import MemoryBackend, outcome
from github.fake.requests import request
from github.fake.stage import Stage
from traingate.github.labels import DONE, RUNNING
from traingate.loop.report import report
from traingate.loop.submit import submit_push


class Killed(BaseException):
    """The runner is gone; nothing may catch this."""


class Guillotine:
    """Counts what goes over the network and kills after the chosen one was answered."""

    def __init__(self, after: int) -> None:
        self.after, self.seen = after, 0

    def count(self) -> None:
        self.seen += 1
        if self.seen == self.after:
            raise Killed

    def transport(self, stage: Stage) -> httpx.MockTransport:
        inner = stage.fake.transport()

        def answer(reply: httpx.Request) -> httpx.Response:
            response = inner.handle_request(reply)
            self.count()
            return response

        return httpx.MockTransport(answer)


class Mortal(MemoryBackend):
    """A backend whose calls count too; the job exists before the caller dies."""

    guillotine: Guillotine | None = None

    def submit(self, *given: Any) -> Any:
        made = super().submit(*given)
        if self.guillotine:
            self.guillotine.count()
        return made

    def observe(self, run_name: str) -> Any:
        seen = super().observe(run_name)
        if self.guillotine:
            self.guillotine.count()
        return seen


def play(path: Path, cut: Any) -> tuple[Stage, dict[str, int]]:
    """The loop for one merge; `cut(phase)` says after which request that phase dies first."""
    backend = Mortal()
    stage = Stage(path, backend=backend)
    _, push = stage.merged(request())
    used = {}
    phases = {
        "submit": lambda: submit_push(stage.world(), push),
        "running": lambda: report(stage.world(), backend),
        "end": lambda: report(stage.world(), backend),
    }
    for phase, act in phases.items():
        _advance(stage, phase)
        used[phase] = _cut_off(stage, backend, act, cut(phase))
        act()
    return stage, used


def _advance(stage: Stage, phase: str) -> None:
    for run, job in stage.backend.jobs.items():
        if phase == "running":
            job.state, job.started_at = "Running", stage.fake.clock.now()
        if phase == "end":
            job.state, job.outcome = "Completed", outcome(run)
            job.finished_at = stage.fake.clock.now() + 60


def _cut_off(stage: Stage, backend: Mortal, act: Any, after: int) -> int:
    guillotine = Guillotine(after)
    stage.transport, backend.guillotine = guillotine.transport(stage), guillotine
    try:
        act()
    except Killed:
        assert guillotine.seen == after
    finally:
        stage.transport = backend.guillotine = None
    return guillotine.seen


def exactly_once(stage: Stage) -> None:
    assert len(stage.backend.jobs) == 1
    told, card = stage.bodies(7)
    assert "is `Completed`" in told
    assert "is trained" in card
    assert stage.fake.repository.pulls[7].labels == [DONE]
    assert stage.fake.violations == []


@pytest.fixture(autouse=True)
def repository_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/train")


@pytest.fixture(scope="module")
def lengths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How many requests each phase makes when nobody dies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_REPOSITORY", "acme/train")
        stage, used = play(tmp_path_factory.mktemp("whole") / "main", lambda _phase: 10**9)
    exactly_once(stage)
    return used


@pytest.mark.parametrize("phase", ["submit", "running", "end"])
def test_one_cut_a_phase(tmp_path: Path, lengths: dict[str, int], phase: str) -> None:
    """The cut right after the write that cannot be repeated, or the last one without such."""
    middle = lengths[phase] // 2 + 1
    stage, _ = play(tmp_path / "main", lambda here: middle if here == phase else 10**9)
    exactly_once(stage)


@pytest.mark.exhaustive
def test_every_cut(tmp_path: Path, lengths: dict[str, int]) -> None:
    for phase, length in lengths.items():
        for after in range(1, length + 1):
            stage, _ = play(
                tmp_path / f"{phase}-{after}",
                lambda here, phase=phase, after=after: after if here == phase else 10**9,
            )
            exactly_once(stage)


@pytest.mark.exhaustive
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 16), min_size=3, max_size=3))
def test_a_cut_in_every_phase(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    chosen = dict(zip(("submit", "running", "end"), cuts, strict=True))
    stage, _ = play(tmp_path_factory.mktemp("cuts") / "main", chosen.__getitem__)
    exactly_once(stage)


def test_cut_off_between_comment_and_job_a_reporter_does_no_harm(tmp_path: Path) -> None:
    backend = Mortal()
    stage = Stage(tmp_path / "main", backend=backend)
    _, push = stage.merged(request())
    real = backend.submit

    def die(*_: Any) -> Any:
        raise Killed

    backend.submit = die  # type: ignore[method-assign]
    with pytest.raises(Killed):
        submit_push(stage.world(), push)
    assert report(stage.world(), backend) == ()
    assert stage.fake.repository.pulls[7].labels == [RUNNING]
    backend.submit = real  # type: ignore[method-assign]
    submit_push(stage.world(), push)
    assert len(backend.jobs) == len(stage.bodies(7)) == 1
