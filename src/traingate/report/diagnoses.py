"""The doctor's report: a line each, and what to do about it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from traingate.doctor.diagnosis import Diagnosis, State
from traingate.report.text import printable

_MARKS = {State.WELL: "ok  ", State.WRONG: "MEND", State.SKIPPED: "skip"}
#: The version of the JSON shape.
VERSION = 1


def lines(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    """One line a diagnosis, its mend indented below, and a count at the end."""
    for one in diagnoses:
        # A server's, a service's or a job file's own words stand in these.
        yield f"{_MARKS[one.state]}  {one.area}: {printable(one.subject)}: {printable(one.told)}"
        if one.mend:
            yield f"      {printable(one.mend)}"
    yield summary(diagnoses)


def summary(diagnoses: Sequence[Diagnosis]) -> str:
    """`3 to mend, 7 well, 2 skipped`."""
    count = {state: sum(one.state is state for one in diagnoses) for state in State}
    return f"{count[State.WRONG]} to mend, {count[State.WELL]} well, {count[State.SKIPPED]} skipped"


def as_json(diagnoses: Sequence[Diagnosis]) -> str:
    """`{"version": 1, "diagnoses": [{"area", "subject", "state", "told", "mend"}, ...]}`."""
    entries = [asdict(one) for one in diagnoses]
    return json.dumps({"version": VERSION, "diagnoses": entries}, indent=2)
