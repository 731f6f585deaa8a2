"""What a workload may write to: its own experiment, and its own model or one that it shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from train_aml.problems import ModelOwnedElsewhere, StoreProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from train_aml.environment import Contract

#: On registered models and experiments: the workload that made them.
OWNER_TAG = "traingate.workload"


def refuse_foreign(contract: Contract, tags: Mapping[str, str]) -> None:
    """Refuse a registered model, with its `tags`, that another workload made.

    Raises:
        ModelOwnedElsewhere: and the admission does not say `existing: true`.
    """
    owner = tags.get(OWNER_TAG)
    if contract.model_existing or owner == contract.workload:
        return
    made_by = f"workload {owner!r}" if owner else "something other than traingate"
    raise ModelOwnedElsewhere(
        f"the registered model {contract.model!r} was made by {made_by}, not by "
        f"{contract.workload!r}. Choose another model name, or say "
        "`model: {name: ..., existing: true}` in the admission and have it reviewed."
    )


def refuse_deleted(name: str, experiment_id: object, lifecycle_stage: str | None) -> None:
    """Refuse an experiment that is in MLflow's waste bin.

    Raises:
        StoreProblem: it is; the message says how to restore it.
    """
    if lifecycle_stage == "deleted":
        raise StoreProblem(
            f"the experiment {name!r} was deleted on the tracking server. Restore it with "
            f"`mlflow experiments restore --experiment-id {experiment_id}`, or remove it for good "
            "with `mlflow gc`."
        )
