"""The card of a run: what became of it, as it stands on the pull request."""

from collections.abc import Iterator
from dataclasses import dataclass

from traingate.backends.base import Observation
from traingate.outcome import Outcome
from traingate.plan import CostCeiling, Topology
from traingate.report import words
from traingate.report.markdown import block, code, loss_chart, table

#: What the reader does next, by the kind of failure (`train_aml`'s exit codes).
ADVICE = {
    "code": "Mend the code and merge the change: a new digest is a new run.",
    "data": "Look at the data the job was given: trying again changes nothing.",
    "platform": "The platform failed, not the code: rerun it.",
    "preempted": "The node was taken away: rerun it, and it resumes from its checkpoint.",
    "timeout": "Raise `limits.timeout` within the envelope, or do less in one run.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What is known of a run whatever became of it. `where` and `logs` are for people."""

    workload: str
    observation: Observation
    topology: Topology | None = None
    cost: CostCeiling | None = None
    where: str
    logs: str
    kind: str | None = None
    traceback: str | None = None


def card(run: Run, outcome: Outcome | None) -> str:
    """Markdown with verdict, facts, metrics and loss curve; ends with a line break."""
    return "\n\n".join(part for part in _parts(run, outcome) if part) + "\n"


def _parts(run: Run, outcome: Outcome | None) -> Iterator[str]:
    yield f"### {_verdict(run, outcome)}"
    yield table(_facts(run, outcome))
    if state_of(run.observation, outcome) == "Failed":
        yield ADVICE[run.kind or "code"]
        if run.traceback:
            yield block(run.traceback)
    if outcome is not None:
        yield loss_chart(outcome.curve)
        yield "\n".join(f"- {code(warning)}" for warning in outcome.warnings)


def state_of(seen: Observation, outcome: Outcome | None) -> str:
    """The state for people: a run that completed without a usable outcome has failed."""
    if seen.state == "Completed" and (outcome is None or outcome.model is None):
        return "Failed"
    return seen.state


def _verdict(run: Run, outcome: Outcome | None) -> str:
    seen, state = run.observation, state_of(run.observation, outcome)
    if state == "Completed" and outcome is not None and outcome.model is not None:
        return f"✅ {run.workload} is trained: {code(outcome.model.uri)}"
    if state == "Failed":
        reason = seen.reason or "no reason was given"
        return f"❌ {run.workload} failed: {code(reason)}"
    if state == "Canceled":
        return f"⏹️ {run.workload} was stopped before it was trained"
    return f"⏳ {run.workload} is {code(seen.state)}"


def _facts(run: Run, outcome: Outcome | None) -> Iterator[tuple[str, str]]:
    seen = run.observation
    yield "Run", code(seen.run_name)
    if run.topology is not None:
        yield "Topology", f"{words.topology(run.topology)}, {run.where}"
        yield "Cost ceiling", words.cost(run.cost)
    elif outcome is not None:
        yield "World size", f"{outcome.world_size}, {run.where}"
    if seen.started_at and seen.finished_at:
        yield "Duration", words.duration(seen.finished_at - seen.started_at)
    if outcome is not None and seen.state == "Completed":
        yield from _result(outcome)
    yield "Logs", run.logs


def _result(outcome: Outcome) -> Iterator[tuple[str, str]]:
    if outcome.model is not None:
        yield "Model", code(outcome.model.uri)
    for name, value in sorted(outcome.metrics.items()):
        yield code(name), f"{value:.4g}"
    yield "Trained as", code(outcome.training_backend)
    yield "Dataset", code(outcome.dataset_digest)
