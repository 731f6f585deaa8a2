"""Seeing an exception that has been raised but is stuck in a `finally` or `with` on its way out.

Such a rank looks alive while every other one waits for it in a collective; its own handler, at
the end of the way out, is not reached.
"""

from __future__ import annotations

import ast
import linecache
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


def escaping(thread_id: int) -> BaseException | None:
    """The exception that is on its way out of the thread and held up, if there is one.

    An exception in an `except` clause is being handled, and is nobody else's business.
    """
    # 3.11 gives (type, exception, traceback), later versions the exception.
    active = sys._current_exceptions().get(thread_id)  # noqa: SLF001 - documented, for this use
    error = active[1] if isinstance(active, tuple) else active
    if error is None or error.__traceback__ is None:
        return None
    frame = error.__traceback__.tb_frame
    held_up = _is_held_up(frame, error.__traceback__.tb_lineno, frame.f_lineno)
    return error if held_up else None


def _is_held_up(frame: FrameType, raised_line: int, current_line: int | None) -> bool:
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    if not source or current_line is None:
        return False
    try:
        tree = ast.parse(source)
    except SyntaxError:  # The file was edited after it was imported.
        return False
    return any(_leaves(node, raised_line, current_line) for node in ast.walk(tree))


def _leaves(node: ast.AST, raised_line: int, current_line: int) -> bool:
    if isinstance(node, ast.Try):
        guarded = [*node.body, *node.handlers, *node.orelse]
        return _within(guarded, raised_line) and _within(node.finalbody, current_line)
    if isinstance(node, ast.With):
        # While __exit__ runs, the frame stands on the line of the `with`.
        return _within(node.body, raised_line) and _within(
            [item.context_expr for item in node.items], current_line
        )
    return False


def _within(nodes: list[ast.stmt] | list[ast.expr] | list[ast.AST], line: int) -> bool:
    return any(
        node.lineno <= line <= (node.end_lineno or node.lineno)
        for node in nodes
        if isinstance(node, ast.stmt | ast.expr | ast.ExceptHandler)
    )
