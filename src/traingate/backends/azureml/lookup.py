"""The job under a run's name: there or not, and whether it is the planned one."""

import re

from azure.ai.ml import MLClient
from azure.ai.ml.entities import Job
from azure.core.exceptions import ResourceNotFoundError

from traingate.backends.azureml.failures import READER, explained
from traingate.backends.azureml.payload import DIGEST
from traingate.backends.azureml.workspace import quiet
from traingate.errors import Refusal, TraingateError
from traingate.plan import Plan

#: How Azure Resource Manager says that what should hold the job is missing.
_NO_WORKSPACE = re.compile(
    r"workspaces/[^/']+' under resource group|[Rr]esource group '[^']+' could"
)


def existing(client: MLClient, plan: Plan, name: str) -> Job | None:
    """The job under the run's name, None when there is none.

    Raises:
        Refusal: it is another job.
    """
    found = get(client, name)
    if found is None:
        return None
    digest = found.properties.get(DIGEST)
    if digest != plan.digest:
        raise Refusal(
            f"A job named {name} exists with digest {digest or 'none'}; this plan's digest is "
            f"{plan.digest}.",
            todo="Find out who made it; a job of Azure ML cannot be replaced under its name.",
        )
    return found


def get(client: MLClient, name: str) -> Job | None:
    """The job called `name`, None when the workspace has none.

    Raises:
        TraingateError: there is no such workspace, or Azure did not answer.
    """
    with quiet(), explained("read the job", role=READER):
        try:
            job: Job = client.jobs.get(name)
        except ResourceNotFoundError as error:
            # Answered with 404 as well, and must not read as "submit it".
            if _NO_WORKSPACE.search(str(error)):
                raise TraingateError(
                    "The Azure ML workspace of platform.yml does not exist.",
                    todo="Compare subscription_id, resource_group and workspace with the portal.",
                ) from error
            return None
        return job
