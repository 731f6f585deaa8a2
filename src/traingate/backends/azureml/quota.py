"""Whether the region's quota can hold the job: a warning, never a refusal.

Quota moves while a job waits in the queue, so a job that does not fit now may fit later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from azure.ai.ml import MLClient
from azure.core.exceptions import HttpResponseError

from traingate.backends.azureml.failures import is_forbidden


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """What the job takes: nodes of a size, at dedicated or low priority."""

    size: str
    nodes: int
    low_priority: bool


def notes(client: MLClient, location: str, need: Need) -> tuple[str, ...]:
    """What to say about quota: nothing when the job fits."""
    try:
        sizes = {str(one.name).lower(): one for one in client.compute.list_sizes(location=location)}
        usages = [cast("Any", one) for one in client.compute.list_usage(location=location)]
    except HttpResponseError as error:
        # Only advice is lost; whatever is really wrong stops the steps that follow.
        why = (
            "this identity may not read it"
            if is_forbidden(error)
            else f"Azure answered HTTP {error.status_code}"
        )
        return (f"Quota of {location}: not checked, {why}.",)
    size = cast("Any", sizes.get(need.size.lower()))
    if size is None:
        return (f"Quota of {location}: not checked, the region does not list {need.size}.",)
    return tuple(_notes(usages, size, location, need))


def _notes(usages: list[Any], size: Any, location: str, need: Need) -> Iterator[str]:
    cores = need.nodes * int(_either(size, "vCPUs", "v_cp_us"))
    kind = "lowpriority" if need.low_priority else "dedicated"
    wanted = (f"{size.family}cluster{kind}vcpus".lower(), f"totalcluster{kind}regionalvcpus")
    for usage in usages:
        name = _name(usage)
        if name.replace(" ", "").lower() not in wanted or "/workspaces/" in str(usage.id):
            continue
        taken = int(_either(usage, "currentValue", "current_value"))
        # -1: the family has no limit of its own.
        if usage.limit is not None and 0 <= usage.limit < taken + cores:
            yield (
                f"Quota of {location} may be too small: the job needs {cores} vCPUs of {name!r}, "
                f"{taken} of {usage.limit} are taken. It would wait in the queue; "
                "ask for more quota, or wait for other jobs."
            )


def _either(entity: Any, wire: str, python: str) -> Any:
    """A number of a size or a usage.

    azure-ai-ml 1.35.2 leaves it under the wire's name, and its own attribute empty.
    """
    return vars(entity).get(wire, getattr(entity, python, None)) or 0


def _name(usage: Any) -> str:
    name = usage.name
    return str(name["value"] if isinstance(name, dict) else name.value)
