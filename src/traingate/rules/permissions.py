"""TG308: keys a job may use only where the platform lists them."""

from collections.abc import Iterator

from traingate.documents.job import Job
from traingate.documents.located import Path
from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.rule import Broken, rule

#: The keys by the word platform.yml allows them with, and what each of them opens.
_KEYS: dict[str, tuple[Path, str]] = {
    "docker_args": (("resources", "docker_args"), "can mount the node's disk and drop isolation"),
    "resource_properties": (
        ("resources", "properties"),
        "can replace the size and the number of nodes",
    ),
    "services": (("services",), "opens shells and servers on the nodes"),
    "build": (("environment", "build"), "runs an image nobody reviewed"),
    "conda_file": (("environment", "conda_file"), "installs packages the digest does not cover"),
}
_USER = {"user_identity", "user", "useridentity"}


@rule("TG308", "key-not-allowed", Severity.ERROR, binding=True)
def key_not_allowed(request: Request) -> Iterator[Broken]:
    """The keys that open more than a training run needs are allowed by name.

    What it does: refuses `docker_args`, `resources.properties` (as `resource_properties`),
    `services`, `build`, `conda_file` and the user's own identity unless `allowed_keys` of
    platform.yml lists them.

    Why it is bad: each goes round something the review relies on: the container's walls, the
    pinned image, or the job's own narrow identity.

    Example: `resources: {docker_args: "--privileged"}`.

    Fix: do without, or have the platform's owners list the key.

    Source: Azure ML command job reference; this repository's platform.yml.
    """
    job = request.job
    if job is None:
        return
    allowed = request.context.platform.allowed_keys
    for name, (path, opens) in _KEYS.items():
        if path in job.document.keys and name not in allowed:
            yield Broken(
                at=job.document.key(*path),
                message=f"`{name}` {opens}; this platform does not allow it.",
                fix="Do without it, or have it listed in platform.yml under `allowed_keys`.",
            )
    if _is_user(job) and "user_identity" not in allowed:
        yield Broken(
            at=job.document.at("identity", "type"),
            message="The user's own identity can reach everything its owner can; this platform "
            "does not allow it.",
            fix="Write `identity: {type: managed}`.",
        )


def _is_user(job: Job) -> bool:
    return (job.identity or "").lower() in _USER
