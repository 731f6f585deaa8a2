"""TG304 to TG307, TG309: where results go, and who may open those places."""

import fnmatch
import re
from collections.abc import Iterator
from urllib.parse import unquote

from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.rule import Broken, rule
from traingate.rules.subject import subject

_VARIABLES = "environment_variables"
_LOCATION = re.compile(r"keyvault://[A-Za-z0-9-]{3,24}/[A-Za-z0-9-]{1,127}(?:/[0-9a-f]{32})?")
_STORES = ("TRAINGATE_TRACKING_URI", "TRAINGATE_RESULTS_URL")
_INSTEAD = {
    "MLFLOW_TRACKING_URI": "Set `TRAINGATE_TRACKING_URI`.",
    "MLFLOW_EXPERIMENT_NAME": "Set `experiment_name`.",
}
_RESERVED = {
    f"TRAINGATE_{name}"
    for name in (
        *("RUN", "WORKLOAD", "MODEL", "MODEL_EXISTING", "DIGEST", "ATTEMPT", "IMAGE", "COMMIT"),
        *("PULL_REQUEST", "REPOSITORY"),
    )
}
_DATASTORE = re.compile(r"azureml://datastores/[\w.-]+/paths/")
_MANAGED = {"managed", "managed_identity"}


@rule("TG304", "mlflow-variable", Severity.ERROR)
def mlflow_variable(request: Request) -> Iterator[Broken]:
    """The job sets no `MLFLOW_*` variable.

    What it does: refuses every environment variable of that prefix.

    Why it is bad: Azure ML overwrites them inside the job with its own tracking server, run id
    and token. The run ends in the wrong place, or the token is sent to the team's server.

    Example: `MLFLOW_TRACKING_URI: https://mlflow.contoso.com`.

    Fix: `TRAINGATE_TRACKING_URI`; the training process clears `MLFLOW_*` and sets them anew.

    Source: Azure/azure-sdk-for-python#38813, zenml-io/zenml#4407.
    """
    job = request.job
    if job is None:
        return
    for name in job.environment_variables:
        if name.upper().startswith("MLFLOW_"):
            yield Broken(
                at=job.document.key(_VARIABLES, name),
                message=f"Azure ML overwrites {name} inside the job.",
                fix=_INSTEAD.get(name.upper(), "Delete it, or set it in the training script."),
            )


@rule("TG305", "keyvault-without-identity", Severity.ERROR, binding=True)
def keyvault_without_identity(request: Request) -> Iterator[Broken]:
    """A job that reads a secret has an identity that may.

    What it does: asks for `identity: {type: managed}` where a variable is a `keyvault://`
    location, and checks the location's form.

    Why it is bad: the secret is read inside the job. Without a managed identity the request to
    Key Vault has no name to be granted anything, and the run fails after its nodes started.

    Example: `TRAINGATE_RESULTS_URL: keyvault://kv/results-url` without `identity`.

    Fix: `identity: {type: managed}`.

    Source: Azure ML, "Use authentication credential secrets in jobs".
    """
    job = request.job
    if job is None:
        return
    for name, value in _secrets(request):
        place = job.document.at(_VARIABLES, name)
        if not _LOCATION.fullmatch(value):
            yield Broken(
                at=place,
                message=f"`{value}` is no Key Vault location.",
                fix="Write `keyvault://<vault>/<secret>` or `keyvault://<vault>/<secret>/<version>`.",
            )
        elif (job.identity or "").lower() not in _MANAGED:
            yield Broken(
                at=place,
                message=f"{name} is read from Key Vault, and the job has no managed identity.",
                fix="Add `identity: {type: managed}`.",
            )


@rule("TG306", "secret-not-granted", Severity.ERROR, binding=True)
def secret_not_granted(request: Request) -> Iterator[Broken]:
    """The target's identity may read the secret.

    What it does: matches each `keyvault://` location with the `secrets` of the target.

    Why it is bad: Key Vault answers 403 to rank zero, after the nodes started; or somebody else's
    secret is read because the vault's rights are wider than the platform meant.

    Example: `keyvault://other-vault/db` on a target that lists `keyvault://contoso-training/*`.

    Fix: a secret the target lists, or a platform change first.

    Source: this repository's platform.yml, `targets.<name>.secrets`.
    """
    it = subject(request)
    if it is None or it.target is None:
        return
    for name, value in _secrets(request):
        granted = any(fnmatch.fnmatchcase(value, pattern) for pattern in it.target.secrets)
        if _LOCATION.fullmatch(value) and not granted:
            yield Broken(
                at=it.job.document.at(_VARIABLES, name),
                message=f"Target {it.target.name} may not read {value}.",
                fix="Use a secret platform.yml lists for the target, or have it listed first.",
            )


@rule("TG307", "store-missing", Severity.ERROR)
def store_missing(request: Request) -> Iterator[Broken]:
    """The job names its tracking server and its results database.

    What it does: asks for `TRAINGATE_TRACKING_URI` and `TRAINGATE_RESULTS_URL`.

    Why it is bad: rank zero would have nowhere to register the model, and a trained model that
    cannot be found was trained for nothing. On a laptop platform.yml's local stores stand in.

    Example: a job without `environment_variables`.

    Fix: `TRAINGATE_TRACKING_URI: keyvault://<vault>/<secret>`, and likewise the other.

    Source: this repository's contract between a job and its results.
    """
    job = request.job
    if job is None:
        return
    missing = [name for name in _STORES if not job.environment_variables.get(name, "").strip()]
    if missing:
        yield Broken(
            at=job.document.at(_VARIABLES),
            message=f"The job does not say where its results go: {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing.",
            fix=f"Set `{missing[0]}: keyvault://<vault>/<secret>`.",
        )


@rule("TG309", "output-outside-prefix", Severity.ERROR)
def output_outside_prefix(request: Request) -> Iterator[Broken]:
    """A job writes under its own name.

    What it does: checks that an output with a `path` lies on a datastore of the workspace and
    has the workload's name as one of the path's folders, or the run's (`${{name}}`), which begins
    with it.

    Why it is bad: two workloads that share a folder overwrite each other's checkpoints, and a
    preempted run would resume from a stranger's.

    Example: `path: azureml://datastores/blob/paths/checkpoints/`.

    Fix: `path: azureml://datastores/blob/paths/<workload>/checkpoints/`, or no path: Azure ML
    then makes one for the run.

    Source: this repository's agreement; Azure ML checks nothing here.
    """
    job = request.job
    if job is None:
        return
    for name, output in job.outputs.items():
        if output.path is None:
            continue
        place = job.document.at("outputs", name, "path")
        datastore = _DATASTORE.match(output.path)
        if datastore is None:
            yield Broken(
                at=place,
                message=f"`{output.path}` is not a datastore of the workspace.",
                fix="Write `azureml://datastores/<name>/paths/"
                f"{request.workload}/...`, or leave the path out.",
            )
            continue
        folders = unquote(output.path[datastore.end() :]).split("/")
        if not {request.workload, "${{name}}"} & set(folders) or ".." in folders:
            yield Broken(
                at=place,
                message=f"`{output.path}` is not under {request.workload}/.",
                fix="Write `azureml://datastores/<name>/paths/"
                f"{request.workload}/...`, or leave the path out.",
            )


@rule("TG310", "reserved-variable", Severity.ERROR)
def reserved_variable(request: Request) -> Iterator[Broken]:
    """The job leaves to traingate what traingate says of it.

    What it does: refuses `TRAINGATE_*` variables, except the two stores and settings of the
    training process that no run is known by.

    Why it is bad: a run's name, commit, pull request and model reach the registered version by
    these variables. One written in the job file is replaced at best; where a run has no pull
    request of its own, it would name a wrong one.

    Example: `TRAINGATE_PULL_REQUEST: "7"`.

    Fix: delete it; the model's name is the admission's `model`.

    Source: this repository's contract between the two packages.
    """
    job = request.job
    if job is None:
        return
    for name in job.environment_variables:
        if name.upper() in _RESERVED:
            yield Broken(
                at=job.document.key(_VARIABLES, name),
                message=f"{name} is what traingate says itself of each run.",
                fix="Delete it.",
            )


def _secrets(request: Request) -> Iterator[tuple[str, str]]:
    if request.job is not None:
        for name, value in request.job.environment_variables.items():
            # In any case, so that what the job would not resolve is told instead of passed on.
            if value.strip().lower().startswith("keyvault:"):
                yield name, value
