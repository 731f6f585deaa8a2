"""The live compute beside `platform.yml`: drift is seen before it costs money."""

from collections.abc import Iterator
from typing import Any, cast

from azure.ai.ml import MLClient
from azure.core.exceptions import ResourceNotFoundError

from traingate.documents.platform import Target
from traingate.errors import Refusal


def refuse_drift(client: MLClient, target: Target) -> None:
    """Compare the cluster with what the platform promises.

    Raises:
        Refusal: they differ (both values are named), it does not idle at zero nodes, or it
            does not exist.
    """
    try:
        live = cast("Any", client.compute.get(target.name))
    except ResourceNotFoundError:
        raise Refusal(
            f"The workspace has no compute {target.name!r}.",
            todo="Create it with Terraform, or correct `targets` in platform.yml.",
        ) from None
    if live.type != "amlcompute":
        raise Refusal(
            f"Compute {target.name!r} is of type {live.type}, not a cluster (amlcompute).",
            todo="Name a compute cluster as the target.",
        )
    differences = tuple(_differences(live, target))
    if differences:
        raise Refusal(
            f"Compute {target.name!r} is not what platform.yml says: {'; '.join(differences)}.",
            todo="Apply Terraform, or correct platform.yml in a pull request of its own.",
        )


def _differences(live: Any, target: Target) -> Iterator[str]:
    pairs = (
        ("size", str(live.size).lower(), target.size.lower()),
        ("maximum nodes", live.max_instances, target.max_nodes),
        ("idle seconds", int(live.idle_time_before_scale_down or 0), target.idle_seconds),
        ("priority", _plain(live.tier), _plain(target.priority)),
    )
    for name, is_, says in pairs:
        if is_ != says:
            yield f"{name} is {is_}, platform.yml says {says}"
    if live.min_instances != 0:
        yield (
            f"minimum nodes is {live.min_instances}, platform.yml says {target.min_nodes}, and "
            "only 0 costs nothing while idle"
        )


def _plain(priority: str | None) -> str:
    """`low_priority`, `LowPriority` and `spot` are the same machine under three names."""
    plain = (priority or "dedicated").lower().replace("_", "").replace("-", "")
    return "lowpriority" if plain == "spot" else plain
