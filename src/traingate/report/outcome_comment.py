"""The end of a run as a new comment: edits notify nobody, and this is what people wait for."""

from dataclasses import replace

from traingate.backends.base import Observation
from traingate.github.body import Section, compose
from traingate.github.markers import Marker
from traingate.github.text import code, link, plain, scrub
from traingate.loop.ending import Ending
from traingate.loop.record import Record
from traingate.outcome import Outcome
from traingate.report.card import Run, card
from traingate.report.run_comment import cost_so_far, place, where

_LONGEST_TRACEBACK = 8_000


def outcome_marker(run: str) -> Marker:
    return Marker(kind="outcome", key=run)


def outcome_body(record: Record, ending: Ending, *, is_private: bool, pointer: str) -> str:
    """The card of the run that ended, with what it cost and who approved it.

    Args:
        record: the run, in its last state.
        ending: what became of it.
        is_private: log lines appear only in private repositories.
        pointer: said when something had to be left out.
    """
    assert record.finished_at is not None
    outcome = _harmless(ending.outcome) if ending.outcome else None
    text = card(_run(record, ending, is_private=is_private), outcome)
    closing = (
        f"Cost: {cost_so_far(record, record.finished_at)}. Approved by {plain(record.approver)}."
    )
    if record.backend == "local" and record.url:
        page = link(record.url, "the workflow run")
        closing += (
            f" The model and its registry are in the artifact {code(record.run)} of {page}: "
            "unpack it as `.traingate/` and use `sqlite:///.traingate/mlflow.db`."
        )
    sections = [Section(head=part) for part in (text.rstrip(), closing)]
    return compose(str(outcome_marker(record.run)), sections, pointer=pointer)


def _run(record: Record, ending: Ending, *, is_private: bool) -> Run:
    failure = ending.outcome.failure if ending.outcome else None
    traceback = failure.traceback if failure and is_private else None
    return Run(
        workload=record.workload,
        observation=Observation(
            run_name=record.run,
            state=record.state,
            reason=scrub(record.reason) if record.reason else None,
            started_at=record.started_at,
            finished_at=record.finished_at,
            properties={},
        ),
        topology=record.topology,
        cost=record.cost,
        where=f"on {where(record)}",
        logs=link(record.url, place(record)) if record.url else "-",
        kind=ending.kind,
        traceback=_tail(scrub(traceback)) if traceback else None,
    )


def _harmless(outcome: Outcome) -> Outcome:
    """The outcome with no token in its sentences; its schema bounds how many there are."""
    return replace(outcome, warnings=tuple(map(scrub, outcome.warnings)))


def _tail(traceback: str) -> str:
    """The end of a traceback says what happened."""
    return traceback if len(traceback) <= _LONGEST_TRACEBACK else traceback[-_LONGEST_TRACEBACK:]
