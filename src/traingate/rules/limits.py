"""TG212, TG214, TG215: how long a run may last, and what it needs to survive."""

import re
from collections.abc import Iterator

from traingate.cost import is_preemptible
from traingate.documents.request import Request
from traingate.findings import Location, Severity
from traingate.rules.rule import Broken, rule
from traingate.rules.subject import Subject, subject

_DAY = 24 * 3600
_LONGEST_DAYS = 21
_LONGEST_PREEMPTIBLE_DAYS = 7
_SHM_SIZE = re.compile(r"[1-9]\d*[bkmg]", re.IGNORECASE)
#: What was surely meant: Kubernetes' and people's spellings of the same.
_SHM_MEANT = re.compile(r"(?P<number>[1-9]\d*) ?(?P<unit>[kmg])(?:i?b|i)", re.IGNORECASE)
_MOUNTS = {None, "mount", "rw_mount"}


@rule("TG212", "spot-without-checkpoint", Severity.WARNING)
def spot_without_checkpoint(request: Request) -> Iterator[Broken]:
    """A run that can be preempted keeps its checkpoints outside the node.

    What it does: on Spot or low priority looks for an output that is mounted read-write.

    Why it is bad: a preempted job starts from zero. `./outputs` of the first try is not given
    back to the second, and `mode: upload` writes only when the job ends.

    Example: `job_tier: spot` with no `outputs`.

    Fix: `outputs: {checkpoints: {type: uri_folder, mode: rw_mount}}`, and save there.

    Source: Azure/MachineLearningNotebooks#1242 and #1575.
    """
    it = subject(request)
    if it is None or not is_preemptible(it.job, it.target):
        return
    if not any(output.mode in _MOUNTS for output in it.job.outputs.values()):
        yield Broken(
            at=_tier(it),
            message="A preempted run starts from zero: no output is mounted for checkpoints.",
            fix="Add `outputs: {checkpoints: {type: uri_folder, mode: rw_mount}}`.",
        )


@rule("TG214", "timeout", Severity.ERROR, binding=True)
def timeout(request: Request) -> Iterator[Broken]:
    """The run ends by itself.

    What it does: asks for `limits.timeout`, in seconds, above zero and within what the service
    allows: 21 days, 7 on low priority. A missing limit is a warning in a job file read without
    its admission, which admits nothing anyway.

    Why it is bad: without a limit a hanging collective bills until somebody looks, and there is
    no cost ceiling to admit. The SDK drops `timeout: 0` silently.

    Example: no `limits`, or `timeout: 0`.

    Fix: `limits: {timeout: 43200}`.

    Source: Azure ML, "Manage and increase quotas": job lifetime; azure-ai-ml 1.35.2 (tried).
    """
    it = subject(request)
    if it is None:
        return
    seconds = it.job.timeout_seconds
    place = it.job.document.at("limits", "timeout")
    days = _LONGEST_PREEMPTIBLE_DAYS if is_preemptible(it.job, it.target) else _LONGEST_DAYS
    if seconds is None:
        yield Broken(
            at=place,
            message="The run has no time limit, so its cost has none.",
            fix="Write `limits: {timeout: <seconds>}`.",
            severity=Severity.WARNING if request.admission is None else None,
        )
    elif seconds <= 0:
        yield Broken(
            at=place,
            message=f"`timeout: {seconds}` is no limit: the SDK drops it.",
            fix="Write the seconds the run may last.",
        )
    elif seconds > days * _DAY:
        yield Broken(
            at=place,
            message=f"{seconds} seconds are {seconds / _DAY:.1f} days; the service ends "
            f"{'a preemptible' if days == _LONGEST_PREEMPTIBLE_DAYS else 'any'} job after {days}.",
            fix=f"Write at most `timeout: {days * _DAY}`.",
        )


@rule("TG215", "shm-size", Severity.ERROR)
def shm_size(request: Request) -> Iterator[Broken]:
    """Several processes on a node have shared memory to work with.

    What it does: checks the form of `resources.shm_size` (`<number><b|k|m|g>`) and, where a node
    runs several processes, that it is set. Missing is a warning, a note on the local backend.

    Why it is bad: the default is 2 GiB for all processes of a node. Data loaders then die with
    "bus error". A malformed value is accepted by the SDK and refused by the container.

    Example: `shm_size: 16GB`.

    Fix: `shm_size: 16g`.

    Source: Azure/azureml-examples#1459; azure-ai-ml 1.35.2 accepts `banana` (tried).
    """
    it = subject(request)
    if it is None:
        return
    place = it.job.document.at("resources", "shm_size")
    if it.job.shm_size is not None and not _SHM_SIZE.fullmatch(it.job.shm_size):
        meant = _SHM_MEANT.fullmatch(it.job.shm_size)
        right = f"{meant['number']}{meant['unit'].lower()}" if meant else None
        yield Broken(
            at=place,
            message=f"`shm_size: {it.job.shm_size}` is not a number and one of b, k, m, g.",
            fix=f"Write `shm_size: {right or '16g'}`.",
            edits=it.job.document.replace(("resources", "shm_size"), right) if right else (),
        )
    elif it.job.shm_size is None and it.topology.processes_per_node > 1:
        local = request.context.platform.backend == "local"
        yield Broken(
            at=place,
            message=f"{it.topology.processes_per_node} processes share the default 2 GiB of "
            "shared memory.",
            fix="Write `resources: {shm_size: 16g}`.",
            severity=Severity.NOTE if local else Severity.WARNING,
        )


def _tier(it: Subject) -> Location:
    if it.job.job_tier:
        return it.job.document.at("queue_settings", "job_tier")
    return it.job.document.at("compute")
