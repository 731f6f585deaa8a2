from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import pytest

from train_aml.unwinding import escaping

Blocked = Callable[[threading.Event, threading.Event], None]


def in_finally(here: threading.Event, go: threading.Event) -> None:
    try:
        raise ValueError("planted")
    finally:
        here.set()
        go.wait(30)


def in_finally_below(here: threading.Event, go: threading.Event) -> None:
    try:
        in_with(here, go)
    finally:
        pass


def in_with(here: threading.Event, go: threading.Event) -> None:
    class Blocking:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            here.set()
            go.wait(30)

    with Blocking():
        raise ValueError("planted")


def in_generator(here: threading.Event, go: threading.Event) -> None:
    @contextlib.contextmanager
    def blocking() -> Iterator[None]:
        try:
            yield
        finally:
            here.set()
            go.wait(30)

    with blocking():
        raise ValueError("planted")


def in_except(here: threading.Event, go: threading.Event) -> None:
    try:
        int("planted")
    except ValueError:
        here.set()
        go.wait(30)


def in_finally_without_an_exception(here: threading.Event, go: threading.Event) -> None:
    try:
        pass
    finally:
        here.set()
        go.wait(30)


def seen_while(blocked: Blocked) -> BaseException | None:
    here, go = threading.Event(), threading.Event()

    def run() -> None:
        with contextlib.suppress(ValueError):
            blocked(here, go)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert here.wait(30)
        assert thread.ident is not None
        return escaping(thread.ident)
    finally:
        go.set()
        thread.join()


@pytest.mark.parametrize("blocked", [in_finally, in_finally_below, in_with, in_generator])
def test_sees_an_exception_that_is_held_up(blocked: Blocked):
    error = seen_while(blocked)
    assert isinstance(error, ValueError)
    assert str(error) == "planted"


@pytest.mark.parametrize("blocked", [in_except, in_finally_without_an_exception])
def test_leaves_alone_what_is_handled_or_no_failure(blocked: Blocked):
    assert seen_while(blocked) is None
