"""Probes that wait for hosts, at the same time and not for ever."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, wait

from traingate.doctor.diagnosis import Area, Diagnosis, Probe, examined

#: A probe makes several requests, each with a timeout of its own.
LIMIT_SECONDS = 45.0


def side_by_side(
    area: Area, probes: Mapping[str, Probe], limit_seconds: float = LIMIT_SECONDS
) -> Iterator[Diagnosis]:
    """What the probes find, in their order; one that has not ended by the limit is a wrong line.

    The threads are daemons, unlike those of an executor: a host that trickles its answer must not
    keep the command from ending.
    """
    found = {subject: _started(area, subject, probe) for subject, probe in probes.items()}
    ended = wait(found.values(), timeout=limit_seconds).done
    for subject, future in found.items():
        if future in ended:
            yield from future.result()
        else:
            told = f"No answer within {limit_seconds:g} seconds."
            yield area.wrong(subject, told, "Look at the host it names, and run the command again.")


def _started(area: Area, subject: str, probe: Probe) -> Future[tuple[Diagnosis, ...]]:
    future: Future[tuple[Diagnosis, ...]] = Future()

    def run() -> None:
        try:
            future.set_result(tuple(examined(area, subject, probe)))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            # An answer of another shape, from one host, must not hide the other lines.
            told = f"Its answer was not understood ({type(error).__name__}: {error})."
            todo = "Look at it by hand, and report this: the doctor should know such an answer."
            future.set_result((area.wrong(subject, told, todo),))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, name=f"look {subject}", daemon=True).start()
    return future
