"""Two days of a busy repository on virtual time, with GitHub's limits in force.

Everything ends reported, nothing twice, and a finished run costs nothing any more.
"""

import heapq
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from github.fake.backend import MemoryBackend, failure, outcome
from github.fake.requests import request
from github.fake.server import FakeGitHub
from github.fake.stage import Stage
from traingate.github.labels import DONE, FAILED
from traingate.loop.report import report
from traingate.loop.submit import submit_push

PASS_SECONDS = 900.0


@dataclass
class Tally:
    requests: int = 0
    open_runs_seen: int = 0
    most_open: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass
class Simulation:
    """`workloads` merges spread over `hours`, each run open for `open_hours`."""

    stage: Stage
    workloads: int
    hours: float
    open_hours: float
    tally: Tally = field(default_factory=Tally)
    changes: list[tuple[float, str, str]] = field(default_factory=list)

    def play(self) -> None:
        clock = self.stage.fake.clock
        start = clock.now()
        arrivals = [start + self.hours * 3600 * n / self.workloads for n in range(self.workloads)]
        again: list[Any] = []
        following = start
        end = start + (self.hours + self.open_hours + 2) * 3600
        while following < end:
            following = max(following + PASS_SECONDS, clock.now())
            for push in again[:]:
                again.remove(push)
                again += self.submit(push)
            while arrivals and arrivals[0] <= following:
                clock.seconds = max(clock.now(), arrivals.pop(0))
                number = self.workloads - len(arrivals)
                _, push = self.stage.merged(request(f"w{number}"))
                again += self.submit(push)
            clock.seconds = max(clock.now(), following)
            self.advance()
            self.look()

    def submit(self, push: Any) -> list[Any]:
        """Submit; a push that met a limit is re-run later, as its owner would."""
        (decision,) = submit_push(self.stage.world(), push)
        if decision.error is not None:
            self.tally.problems.append(str(decision.error))
            return [push]
        assert decision.record is not None, decision.reasons
        now, run = self.stage.fake.clock.now(), decision.record.run
        heapq.heappush(self.changes, (now + 1_800, run, "Running"))
        heapq.heappush(self.changes, (now + self.open_hours * 3600, run, "over"))
        return []

    def advance(self) -> None:
        while self.changes and self.changes[0][0] <= self.stage.fake.clock.now():
            at, run, state = heapq.heappop(self.changes)
            job = self.stage.backend.jobs[run]
            workload = run.split("-")[0]
            if state == "Running":
                job.state, job.started_at = state, at
            elif int(workload.removeprefix("w")) % 5:
                job.state, job.finished_at = "Completed", at
                job.outcome = outcome(run, workload=workload)
            else:
                job.state, job.finished_at = "Failed", at
                record = failure("RuntimeError: boom")
                job.outcome = outcome(run, workload, status="failed", model=None, failure=record)

    def look(self) -> None:
        backend = self.stage.backend
        open_now = sum(job.finished_at is None for job in backend.jobs.values())
        before = len(self.stage.fake.log)
        for problem in report(self.stage.world(), backend):
            self.tally.problems.append(str(problem))
        self.tally.requests += len(self.stage.fake.log) - before
        self.tally.open_runs_seen += open_now
        self.tally.most_open = max(self.tally.most_open, open_now)

    def verdict(self) -> None:
        repository = self.stage.fake.repository
        assert len(self.stage.backend.jobs) == self.workloads
        for pull in repository.pulls.values():
            bodies = [comment.body.split("\n")[0].split(" ")[1] for comment in pull.comments]
            assert bodies == ["traingate:run", "traingate:outcome"], pull.number
            expected = FAILED if (pull.number - 6) % 5 == 0 else DONE
            assert pull.labels == [expected]
        assert self.stage.fake.violations == []
        self.stage.fake.log.clear()
        assert report(self.stage.world(), self.stage.backend) == ()
        assert len(self.stage.fake.log) == 1


def simulate(path: Path, workloads: int, hours: float, open_hours: float) -> Simulation:
    stage = Stage(path, fake=FakeGitHub(), backend=MemoryBackend())
    simulation = Simulation(stage, workloads, hours, open_hours)
    simulation.play()
    tally, requests = simulation.tally, len(stage.fake.log)
    passes = max(tally.open_runs_seen, 1)
    print(  # noqa: T201 - the figures are what the simulation is for
        f"\n{workloads} runs, {tally.most_open} open at once: {requests} requests in all, "
        f"{requests / workloads:.1f} a run; reporting {tally.requests / workloads:.1f} a finished "
        f"run, {tally.requests / passes:.3f} an open run and pass; "
        f"{len(tally.problems)} postponed by limits"
    )
    simulation.verdict()
    return simulation


@pytest.fixture(autouse=True)
def repository_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/train")


def test_an_afternoon_with_twelve_runs(tmp_path: Path) -> None:
    simulation = simulate(tmp_path / "main", workloads=12, hours=3, open_hours=2)
    assert simulation.tally.most_open >= 6


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_two_days_with_five_hundred_workloads(tmp_path: Path) -> None:
    simulation = simulate(tmp_path / "main", workloads=500, hours=48, open_hours=19.5)
    assert simulation.tally.most_open >= 200
