"""How a run ended, from what its backend and its outcome file say; the latter is untrusted."""

from dataclasses import dataclass

from traingate.backends.base import Observation
from traingate.github.text import scrub
from traingate.outcome import Outcome, UnusableOutcome, read_outcome
from traingate.report.card import ADVICE

#: A reason stands in a comment and in its marker, which must fit GitHub's limit together.
_LONGEST_REASON = 2_000
#: `train_aml`'s exit codes.
_KINDS = {1: "code", 65: "data", 69: "platform", 75: "preempted"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """The last state, why, and the outcome when it could be used.

    `kind` is whose turn it is after a failure: code, data, platform, preempted or timeout.
    """

    state: str
    reason: str | None
    outcome: Outcome | None
    kind: str | None


def ending_of(observation: Observation, run_name: str, model: str) -> Ending:
    """The end of a run that is over; completed without a usable outcome counts as failed.

    Args:
        observation: what the backend says of the run.
        run_name: the run it must be about.
        model: the registered model its plan named.
    """
    outcome, problem = _outcome(observation.outcome, run_name, model)
    if observation.state == "Completed":
        if outcome is not None and outcome.status == "succeeded" and outcome.model is not None:
            return Ending(state="Completed", reason=None, outcome=outcome, kind=None)
        reason = problem or _failure(outcome) or "it completed without registering a model"
        return Ending(state="Failed", reason=reason, outcome=outcome, kind=_kind(outcome, reason))
    unusable = problem if observation.outcome else None
    reason = _failure(outcome) or observation.reason or unusable or "the backend gave no reason"
    said = observation.properties.get("kind")
    # A job may write properties of its own, so only the kinds that have advice count.
    kind = said if said in ADVICE else _kind(outcome, observation.reason or "")
    return Ending(
        state=observation.state, reason=reason[:_LONGEST_REASON], outcome=outcome, kind=kind
    )


def _outcome(text: str | None, run_name: str, model: str) -> tuple[Outcome | None, str | None]:
    if text is None:
        return None, "it completed without an outcome file"
    try:
        outcome = read_outcome(text)
    except UnusableOutcome as unusable:
        # What follows the colon may quote the file, and a public page is no place for that.
        return None, str(unusable).partition(":")[0]
    if outcome.run_name != run_name:
        return None, f"its outcome file is of another run, {outcome.run_name}"
    if outcome.model is not None and outcome.model.name != model:
        return None, f"its outcome file names the model {outcome.model.name}"
    return outcome, None


def _failure(outcome: Outcome | None) -> str | None:
    failure = outcome.failure if outcome else None
    if failure is None:
        return None
    rank = f"rank {failure.rank} failed first: " if failure.rank is not None else ""
    return scrub(f"{rank}{failure.error}")


def _kind(outcome: Outcome | None, reason: str) -> str:
    if outcome is not None and outcome.status == "preempted":
        return "preempted"
    if outcome is not None and outcome.failure and outcome.failure.exit_code in _KINDS:
        return _KINDS[outcome.failure.exit_code]
    return "timeout" if "timeout" in reason or "timed out" in reason else "code"
