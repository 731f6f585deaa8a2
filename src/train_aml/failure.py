"""The failure record: what went wrong, on which rank, said at the moment it happened."""

from __future__ import annotations

import json
import os
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from train_aml.files import write_atomically
from train_aml.problems import exit_code_of
from train_aml.secrets import redact

if TYPE_CHECKING:
    from train_aml.ranks import Ranks

#: Set by the launcher, one path a rank.
FAILURE_FILE_VARIABLE = "TRAINGATE_FAILURE_FILE"
MAX_ERROR_CHARACTERS = 2_000
MAX_TRACEBACK_CHARACTERS = 12_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """One rank's failure; its ranks are None where the launcher's variables were the fault."""

    time_unix_seconds: float
    rank: int | None
    local_rank: int | None
    node_rank: int | None
    error: str
    traceback: str
    exit_code: int

    @classmethod
    def of(cls, error: BaseException, ranks: Ranks | None) -> Failure:
        """Describe `error` as raised just now on this process."""
        return cls(
            time_unix_seconds=time.time(),
            rank=ranks.rank if ranks else None,
            local_rank=ranks.local_rank if ranks else None,
            node_rank=ranks.node_rank if ranks else None,
            error=shorten(redact(f"{type(error).__name__}: {error}"), MAX_ERROR_CHARACTERS),
            traceback=shorten(
                redact("".join(traceback.format_exception(error))), MAX_TRACEBACK_CHARACTERS
            ),
            exit_code=exit_code_of(error),
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Failure:
        return cls(**json.loads(text))


def shorten(text: str, limit: int) -> str:
    """Cut the middle out of a long text: the first and the last lines tell the cause."""
    if len(text) <= limit:
        return text
    mark = "\n[...]\n"
    head = (limit - len(mark)) // 3
    return text[:head] + mark + text[len(text) - (limit - len(mark) - head) :]


def record(error: BaseException, ranks: Ranks | None) -> Failure:
    """Write this rank's failure record where the launcher looks for it; the first one stays."""
    failure = Failure.of(error, ranks)
    path = os.environ.get(FAILURE_FILE_VARIABLE)
    if path and not Path(path).exists():
        write_atomically(Path(path), failure.to_json().encode())
    if os.environ.get("TORCHELASTIC_ERROR_FILE"):
        from torch.distributed.elastic.multiprocessing.errors import (  # noqa: PLC0415 - torchrun only
            ErrorHandler,
        )

        # Its parameter is typed Exception, but it only formats what it is given.
        ErrorHandler().record_exception(error)  # type: ignore[arg-type, unused-ignore]
    return failure
