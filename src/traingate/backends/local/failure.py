"""Why a run failed: the first cause among ranks that fell one after the other."""

import json
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

from traingate.backends.local.processes import Ended

#: What a training process says by its exit status; anything else is the code's own failure.
KINDS = {65: "data", 69: "platform", 75: "preempted"}
_TRACEBACK_LINES = 60
_LONGEST_LINE = 300
#: How much of a log's end is searched for a traceback.
_TAIL_BYTES = 1 << 18
#: Signals that end a rank from outside or from below: causes, hardly ever consequences (SIGABRT
#: is left out, because a runtime aborts when its peers are gone).
_CAUSES = frozenset({-Signals.SIGKILL, -Signals.SIGSEGV, -Signals.SIGBUS, -Signals.SIGILL})
#: Its peers may notice a killed rank, and write that down, before we are told of its end.
_NOTICED_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """The first rank that fell: what it said, how it ended, and where to read on."""

    rank: int
    node_rank: int
    local_rank: int
    ending: str
    kind: str
    error: str | None
    traceback: str | None
    log: str

    def __str__(self) -> str:
        said = f": {self.error}" if self.error else ""
        place = f"rank {self.rank} (node {self.node_rank}, local rank {self.local_rank})"
        return f"{place} {self.ending}{said}"


def first_failure(ended: tuple[Ended, ...], failures: Path, logs: Path) -> Failure | None:
    """The rank that failed first, or None when every rank that ended by itself ended well.

    A rank that raises writes `failures/<rank>.json` at that moment, even if it takes long to
    end. A rank that was killed writes nothing, so the moment of its end stands for it.
    """
    fallen = [(one, _told(failures / f"{one.rank.rank}.json")) for one in ended]
    causes = [(one, told) for one, told in fallen if one.failed_by_itself or told]
    if not causes:
        return None
    one, told = min(causes, key=lambda cause: _moment(*cause))
    log = logs / f"std_log_process_{one.rank.rank}.txt"
    return Failure(
        rank=one.rank.rank,
        node_rank=one.rank.node_rank,
        local_rank=one.rank.local_rank,
        ending=_ending(one.status),
        kind=KINDS.get(told.get("exit_code", one.status), "code"),
        error=told.get("error") or _last_error(log) or _last_words(log, one.status),
        traceback=told.get("traceback") or _last_traceback(log),
        log=str(log),
    )


def _moment(ended: Ended, told: dict[str, Any]) -> float:
    if not told and ended.status in _CAUSES:
        return ended.at - _NOTICED_SECONDS
    moment: float = told.get("time_unix_seconds", ended.at)
    return moment


def _told(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # ValueError: cut off while it was being written
        return {}
    return told if isinstance(told, dict) else {}


def _ending(status: int) -> str:
    if status < 0:
        return f"was killed by {Signals(-status).name}"
    return f"exited with status {status}"


def _last_traceback(log: Path) -> str | None:
    lines = _tail(log)
    starts = [n for n, line in enumerate(lines) if line.startswith("Traceback (most recent")]
    if not starts:
        return None
    return "\n".join(lines[starts[-1] :][:_TRACEBACK_LINES])


def _last_words(log: Path, status: int) -> str | None:
    """The log's last line: a script that is no Python, or whose options are wrong, ends with it.

    A rank that a signal ended said its last line about something else.
    """
    lines = [line.strip() for line in _tail(log) if line.strip()]
    return lines[-1][:_LONGEST_LINE] if lines and status > 0 else None


def _tail(log: Path) -> list[str]:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        return file.read().decode(errors="replace").splitlines()


def _last_error(log: Path) -> str | None:
    traceback = _last_traceback(log)
    if traceback is None:
        return None
    told = [line for line in traceback.splitlines()[1:] if line and not line.startswith(" ")]
    return told[0] if told else None
