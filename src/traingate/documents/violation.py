"""One broken schema keyword, as the validator found it."""

from dataclasses import dataclass
from typing import Any

from traingate.documents.located import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """`keyword` of `schema`, with its value `limit`, is broken by `value` at `path`.

    `is_name` when it is the name of a key that is wrong: then `value` is the name, and `path`
    that of the mapping.
    """

    keyword: str
    limit: Any
    value: Any
    schema: dict[str, Any]
    path: Path
    is_name: bool
