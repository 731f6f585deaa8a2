"""Metrics on their way: never in the way, never lost without a word."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from train_aml import pump as module
from train_aml import spool as spool_module
from train_aml.problems import StoreProblem, StoreRefusal
from train_aml.pump import Pump
from train_aml.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from train_aml.spool import Point


class Server:
    """Stands for the stores: takes points, fails, refuses or hangs as it is told."""

    def __init__(self) -> None:
        self.taken: list[Point] = []
        self.calls = 0
        self.answer: Callable[[int], str] = lambda _call: "take"
        self.bad_names: set[str] = set()
        self.hold = threading.Event()
        self.hold.set()
        self.entered = threading.Event()

    def log(self, points: list[Point]) -> None:
        self.calls += 1
        answer = self.answer(self.calls)
        self.entered.set()
        self.hold.wait(30)
        if answer == "fail":
            raise StoreProblem("tracking server: no answer. Look at it.")
        if bad := [name for name, *_ in points if name in self.bad_names]:
            raise StoreRefusal(f"bad name {bad[0]}. Mend it.")
        self.taken.extend(points)

    @property
    def stores(self) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self)
        return future


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(module, "SEND_EVERY_SECONDS", 0.005)
    monkeypatch.setattr(module, "FIRST_PAUSE_SECONDS", 0.005)
    monkeypatch.setattr(module, "LONGEST_PAUSE_SECONDS", 0.02)
    made = Server()
    yield made
    made.hold.set()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def steps(points: list[Point]) -> list[int]:
    return [step for _, _, step, _ in points]


def put(pump: Pump, numbers: range) -> None:
    for step in numbers:
        pump.put({"loss": 1.0 / (step + 1)}, step)


def wait_for(condition: Callable[[], bool], limit_seconds: float = 20) -> None:
    until = time.monotonic() + limit_seconds
    while not condition():
        assert time.monotonic() < until, "the condition did not come true"
        time.sleep(0.002)


def test_every_point_arrives_in_order_and_in_batches(server: Server, path: Path):
    pump = Pump(server.stores, path)
    put(pump, range(2_500))
    assert pump.close() == ()
    assert steps(server.taken) == list(range(2_500))
    assert server.calls < 50
    assert not path.exists()


def test_it_does_not_chase_the_training_with_small_requests(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "SEND_EVERY_SECONDS", 30.0)
    pump = Pump(server.stores, path)

    def take_while_the_training_goes_on(call: int) -> str:
        if call == 1:
            put(pump, range(10, 11))
        return "take"

    server.answer = take_while_the_training_goes_on
    put(pump, range(10))
    pump.flush()
    assert (server.calls, len(server.taken)) == (1, 10)
    assert pump.close() == ()
    assert steps(server.taken) == list(range(11))


def test_a_checkpoint_in_the_middle_of_a_request_brings_what_came_since_too(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch
):
    pump = Pump(server.stores, path)
    server.hold.clear()
    put(pump, range(10))
    wait_for(server.entered.is_set)
    monkeypatch.setattr(module, "SEND_EVERY_SECONDS", 30.0)
    put(pump, range(10, 20))
    flush = threading.Thread(target=pump.flush)
    flush.start()
    wait_for(pump._wake.is_set)
    server.hold.set()
    flush.join()
    assert {*steps(server.taken), *steps(Spool(path).peek(99))} == set(range(20))
    assert pump.close() == ()


def test_a_put_never_waits_for_a_server_that_does_not_answer(server: Server, path: Path):
    server.hold.clear()
    pump = Pump(server.stores, path)
    put(pump, range(1))
    assert server.entered.wait(20)
    put(pump, range(1, 5_000))  # would not return if it waited: the server holds its only call
    assert server.taken == []
    server.hold.set()
    assert pump.close() == ()
    assert steps(server.taken) == list(range(5_000))


def test_points_wait_for_stores_that_are_still_being_opened(server: Server, path: Path):
    opening: Future[Any] = Future()
    pump = Pump(opening, path)
    put(pump, range(10))
    opening.set_result(server)
    assert pump.close() == ()
    assert steps(server.taken) == list(range(10))


def test_what_a_failing_server_did_not_take_is_sent_again_in_order(server: Server, path: Path):
    server.answer = lambda call: "fail" if call <= 3 else "take"
    pump = Pump(server.stores, path)
    put(pump, range(10))
    wait_for(lambda: server.calls >= 2)
    put(pump, range(10, 20))
    wait_for(lambda: len(server.taken) == 20)
    assert pump.close() == ()
    assert steps(server.taken) == list(range(20))
    assert not path.exists()


def test_a_server_that_stays_away_is_asked_ever_less_often(server: Server, path: Path):
    pauses: list[float] = []

    def fail(_call: int) -> str:
        pauses.append(pump._pause_seconds)
        return "fail"

    server.answer = fail
    pump = Pump(server.stores, path)
    put(pump, range(1))
    wait_for(lambda: server.calls >= 5)
    assert pauses[:5] == [0.0, 0.005, 0.01, 0.02, 0.02]
    pump.close()


def test_what_never_arrived_is_in_the_file_and_in_the_warnings(server: Server, path: Path):
    server.answer = lambda _call: "fail"
    pump = Pump(server.stores, path)
    put(pump, range(1_234))
    (warning,) = pump.close()
    assert warning == (
        "1,234 of 1,234 metric points did not reach the tracking server; they are in "
        f"{path}. tracking server: no answer. Look at it."
    )
    assert steps(Spool(path).peek(9_999)) == list(range(1_234))


def test_the_end_does_not_wait_for_a_server_that_does_not_answer(server: Server, path: Path):
    server.hold.clear()
    pump = Pump(server.stores, path)
    put(pump, range(5))
    assert server.entered.wait(20)
    put(pump, range(5, 8))
    (warning,) = pump.close(limit_seconds=0.05)
    assert warning.startswith("8 of 8 metric points did not reach the tracking server")
    assert "did not take them in time" in warning
    assert sorted(steps(Spool(path).peek(99))) == list(range(8))


def test_a_later_start_sends_what_an_earlier_one_left(server: Server, path: Path):
    Spool(path).add([("loss", 0.5, step, 1_000) for step in range(3)])
    with path.open("a") as file:
        file.write('["loss", 0.')  # cut off by a kill
    pump = Pump(server.stores, path)
    put(pump, range(3, 5))
    assert pump.close() == ()
    assert steps(server.taken) == list(range(5))
    assert not path.exists()


def test_steps_that_a_resumed_run_does_again_are_not_sent_twice(server: Server, path: Path):
    Spool(path).add([("loss", 0.5, step, 1_000) for step in range(5)])
    pump = Pump(server.stores, path)
    put(pump, range(3, 8))
    assert pump.close() == ()
    assert steps(server.taken) == list(range(8))


def test_a_line_cut_off_by_a_kill_does_not_spoil_the_next(path: Path):
    path.write_text('["loss", 0.')
    spool = Spool(path)
    spool.add([("loss", 0.5, 1, 1_000)])
    assert steps(spool.peek(9)) == [1]


def test_one_bad_point_does_not_take_its_batch_along(server: Server, path: Path):
    server.bad_names = {"bad name?"}
    pump = Pump(server.stores, path)
    pump.put({"loss": 1.0, "bad name?": 2.0, "accuracy": 3.0}, 7)
    (warning,) = pump.close()
    assert [name for name, *_ in server.taken] == ["loss", "accuracy"]
    assert warning == (
        "1 metric points were refused by the tracking server, first 'bad name?': bad name bad "
        "name?. Mend it."
    )


def test_a_run_that_is_refused_as_a_whole_costs_few_calls(server: Server, path: Path):
    server.bad_names = {"loss"}
    pump = Pump(server.stores, path)
    put(pump, range(5_000))
    (warning,) = pump.close()
    assert warning.startswith("5,000 metric points were refused")
    assert server.calls < 300


def test_a_full_queue_goes_to_the_disk(server: Server, path: Path, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING_POINTS", 100)
    server.hold.clear()
    pump = Pump(server.stores, path)
    put(pump, range(1))
    assert server.entered.wait(20)
    put(pump, range(1, 1_000))
    assert len(pump._waiting) <= 100
    server.hold.set()
    assert pump.close() == ()
    assert sorted(steps(server.taken)) == list(range(1_000))


def test_what_the_disk_does_not_hold_is_said_to_be_lost(server: Server, path: Path, monkeypatch):
    monkeypatch.setattr(spool_module, "MAX_SPOOL_BYTES", 0)
    server.answer = lambda _call: "fail"
    pump = Pump(server.stores, path)
    put(pump, range(10))
    wait_for(lambda: len(pump._spool) + pump._spool.lost == 10)
    put(pump, range(10, 15))
    warnings = pump.close()
    assert any("metric points are lost" in warning for warning in warnings), warnings
    assert len(pump._spool) + pump._spool.lost == 15


def test_a_checkpoint_finds_everything_on_the_server_or_on_the_disk(server: Server, path: Path):
    pump = Pump(server.stores, path)
    put(pump, range(10))
    assert pump.flush()
    assert steps(server.taken) == list(range(10))
    server.answer = lambda _call: "fail"
    put(pump, range(10, 20))
    assert not pump.flush()
    assert steps(Spool(path).peek(99)) == list(range(10, 20))
    pump.close()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    actions=st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(1, 30)),
            st.tuples(st.just("flush"), st.just(0)),
        ),
        max_size=12,
    ),
    failures=st.lists(st.booleans(), max_size=12),
    batch=st.integers(1, 7),
)
def test_whatever_happens_every_point_is_accounted_for(
    tmp_path_factory, monkeypatch, actions, failures, batch
):
    for name in ("SEND_EVERY_SECONDS", "FIRST_PAUSE_SECONDS", "LONGEST_PAUSE_SECONDS"):
        monkeypatch.setattr(module, name, 0.001)
    monkeypatch.setattr(module, "BATCH_POINTS", batch)
    monkeypatch.setattr(module, "MAX_WAITING_POINTS", 20)
    path = tmp_path_factory.mktemp("spool") / "metrics.jsonl"
    server, number = Server(), itertools.count()
    server.bad_names = {"bad"}
    server.answer = lambda call: (
        "fail" if failures[call % (len(failures) + 1) :][:1] == [True] else ""
    )
    pump = Pump(server.stores, path)
    good, bad = set(), 0
    for action, count in actions:
        if action == "put":
            for step in itertools.islice(number, count):
                pump.put({"loss": 0.0} if step % 5 else {"bad": 0.0}, step)
                good |= {step} if step % 5 else set()
                bad += step % 5 == 0
        else:
            pump.flush()
    pump.close()
    kept = Spool(path).peek(10_000)
    arrived = steps(server.taken)
    assert len(arrived) == len(set(arrived))
    assert {step for name, _, step, _ in kept if name == "loss"} | set(arrived) == good
    assert pump._refused + sum(name == "bad" for name, *_ in kept) == bad
