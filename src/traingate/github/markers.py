"""The hidden first line by which a comment of ours is found again, and what it remembers.

A marker counts only as a comment's first line and only in a comment written by our own
identity; anybody can write the same characters.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SHAPE = re.compile(
    r"<!-- traingate:(?P<kind>[a-z]+) (?P<key>[a-z0-9-]+)(?: (?P<data>\{.*\}))? -->"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """What kind of comment this is and about what: `gate digits-ddp`, `run digits-ddp-…-p7`.

    `data` is remembered for the next reader; it takes no part in finding the comment.
    """

    kind: str
    key: str
    data: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        data = ""
        if self.data is not None:
            # "-->" would end the HTML comment; JSON can spell the sign otherwise.
            data = " " + json.dumps(self.data, sort_keys=True).replace(">", "\\u003e")
        return f"<!-- traingate:{self.kind} {self.key}{data} -->"

    def matches(self, other: "Marker") -> bool:
        return (self.kind, self.key) == (other.kind, other.key)


def marker_of(body: str) -> Marker | None:
    """The marker in the first line of a comment's body, or None."""
    found = _SHAPE.fullmatch(body.split("\n", 1)[0].strip())
    if found is None:
        return None
    try:
        data = json.loads(found["data"]) if found["data"] else None
    except ValueError:
        return None
    return Marker(kind=found["kind"], key=found["key"], data=data)
