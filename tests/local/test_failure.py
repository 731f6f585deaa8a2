"""Which rank is to blame, from how the ranks ended and what they wrote."""

import json
import signal

import pytest

from traingate.backends.local.failure import first_failure
from traingate.backends.local.processes import Ended
from traingate.backends.local.ranks import Rank


@pytest.fixture
def blamed(tmp_path):
    """Who is blamed when ranks end as given: (status, at, time of its record or None)."""
    for folder in ("failures", "logs"):
        (tmp_path / folder).mkdir()

    def blame(*endings, log=""):
        ended = []
        for number, (status, at, told_at) in enumerate(endings):
            rank = Rank(rank=number, node_rank=0, local_rank=number, variables={})
            ended.append(Ended(rank=rank, status=status, at=at, was_stopped=status is None))
            (tmp_path / "logs" / f"std_log_process_{number}.txt").write_text(log)
            if told_at is not None:
                told = {"time_unix_seconds": told_at, "error": f"E{number}", "exit_code": status}
                (tmp_path / "failures" / f"{number}.json").write_text(json.dumps(told))
        return first_failure(tuple(ended), tmp_path / "failures", tmp_path / "logs")

    return blame


def test_nobody_when_all_ended_well(blamed):
    assert blamed((0, 10, None), (0, 11, None)) is None


def test_the_earliest_record_even_if_its_rank_ended_last(blamed):
    assert blamed((1, 10.6, 10.5), (1, 45.0, 10.0)).rank == 1


def test_a_killed_rank_before_the_peers_that_noticed(blamed):
    failure = blamed((1, 10.2, 10.0), (-signal.SIGKILL, 10.1, None))
    assert failure.rank == 1
    assert failure.ending == "was killed by SIGKILL"


def test_an_abort_is_the_consequence_of_an_earlier_raise(blamed):
    assert blamed((1, 10.3, 10.0), (-signal.SIGABRT, 10.2, None)).rank == 0


def test_without_records_the_first_to_end(blamed):
    assert blamed((1, 10.6, None), (1, 10.5, None)).rank == 1


def test_a_record_that_was_cut_off_is_no_record(blamed, tmp_path):
    (tmp_path / "failures" / "0.json").write_text('{"time_unix')
    assert blamed((1, 10.6, None), (1, 10.7, None)).rank == 0


@pytest.mark.parametrize(
    ("status", "log", "told"),
    [
        (1, "  File 'train.py', line 3\nSyntaxError: '(' was never closed\n", "SyntaxError: '("),
        (2, "usage: train.py\ntrain.py: error: unrecognized arguments: --x\n\n", "train.py: error"),
        (1, "step 1\nTraceback (most recent call last):\n  x\nKeyError: 'a'\nbye\n", "KeyError"),
        (-signal.SIGKILL, "epoch 3 of 5\n", ""),
        (1, "", ""),
    ],
)
def test_a_log_without_a_traceback_ends_with_what_was_wrong(blamed, status, log, told):
    assert (blamed((status, 10, None), log=log).error or "").startswith(told)
    assert bool(blamed((status, 10, None), log=log).error) == bool(told)


@pytest.mark.parametrize(
    ("status", "kind"), [(1, "code"), (65, "data"), (69, "platform"), (75, "preempted")]
)
def test_the_exit_status_says_the_kind(blamed, status, kind):
    assert blamed((status, 10, None)).kind == kind
