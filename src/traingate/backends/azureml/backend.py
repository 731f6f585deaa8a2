"""The `Backend` on Azure ML."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from azure.ai.ml import MLClient

from traingate.backends.azureml import compute, inputs, observe, payload, what_if
from traingate.backends.azureml.credential import Role, credential
from traingate.backends.azureml.export import exported
from traingate.backends.azureml.failures import READER, SUBMITTER, explained
from traingate.backends.azureml.lookup import existing, get
from traingate.backends.azureml.spent import Spent, names, spent
from traingate.backends.azureml.submit import Submitter, refuse_placeholder_image
from traingate.backends.azureml.workspace import Workspace, quiet
from traingate.backends.base import TERMINAL_STATES, Observation, Provenance, Submission
from traingate.documents.platform import Platform, Target
from traingate.errors import TraingateError, UsageProblem
from traingate.plan import Plan

#: Stands for the code asset's id in a what-if: the service's answer to the upload decides it.
UNKNOWN_CODE = "given-when-uploaded"


class AzureMLBackend:
    """Submits, observes and cancels jobs of one workspace. See `traingate.backends.base`."""

    def __init__(self, workspace: Workspace, repository: Path) -> None:
        """Args: the workspace, and the top of the work tree that requests are exported from."""
        self._workspace = workspace
        self._repository = repository
        self._client = workspace.client()

    def submit(self, plan: Plan, provenance: Provenance) -> Submission:
        """Make the run exist, exactly once under its name.

        Raises:
            Refusal: another digest lies under the name, the compute drifted, the admission is
                used up, or the image is a placeholder.
            TraingateError: Azure did not answer, or refused; repeating is safe.
        """
        return self._submitter(self._client).submit(plan, provenance)

    def what_if(self, plan: Plan, provenance: Provenance) -> what_if.WhatIf:
        """Do all of `submit`'s reading, and none of its writing.

        Raises:
            Refusal, TraingateError: as `submit` would.
        """
        kept = what_if.KeptWrites()
        client = self._workspace.client(what_if.transport(kept))
        refuse_placeholder_image(plan)
        name = plan.run_name(provenance.origin)
        if existing(client, plan, name) is not None:
            return what_if.WhatIf(run_name=name, is_new=False, writes=(), uploads=(), notes=())
        notes = self._submitter(client).refuse_what_differs(plan)
        uploads = self._keep_writes(client, plan, provenance)
        return what_if.WhatIf(
            run_name=name, is_new=True, writes=tuple(kept.writes), uploads=uploads, notes=notes
        )

    def observe(self, run_name: str) -> Observation:
        """The run's state and, once it is over, its outcome.

        Raises:
            UsageProblem: no run has that name.
            TraingateError: Azure did not answer, or refused.
        """
        return observe.observation(self._workspace, self._client, self._job(run_name))

    def cancel(self, run_name: str) -> None:
        """Ask for the run's end; a run that is over stays as it ended.

        Raises:
            UsageProblem: no run has that name.
            TraingateError: Azure did not answer, or refused.
        """
        if observe.state_of(self._job(run_name)) in TERMINAL_STATES:
            return
        with quiet(), explained("cancel the run", role=SUBMITTER):
            self._client.jobs.begin_cancel(run_name, polling=False)

    def run_names(self, workload: str | None) -> tuple[str, ...]:
        """The workspace's runs of ours, oldest first.

        Raises:
            TraingateError: Azure did not answer, or refused.
        """
        with quiet(), explained("list the jobs", role=READER):
            return names(self._client, workload)

    def spent(self, admission: str) -> Spent:
        """Runs and dollars used under an admission (`Plan.admission`)."""
        with explained("list the jobs of the admission", role=READER):
            return spent(self._client, admission)

    def location(self) -> str:
        """The region of the workspace.

        Raises:
            TraingateError: there is no such workspace, or this identity may not see it.
        """
        with quiet(), explained("read the workspace", role=READER):
            workspace = self._client.workspaces.get(self._workspace.azure.workspace)
        return str(workspace.location)

    def token(self, scope: str) -> str:
        """A bearer token of this identity for `scope`, such as Key Vault's.

        Raises:
            TraingateError: nobody is signed in, or the sign-in was refused.
        """
        with quiet(), explained("sign in", role=READER):
            return str(self._workspace.credential.get_token(scope).token)

    def refuse_drift(self, target: Target) -> None:
        """Compare the live cluster with what platform.yml says of it.

        Raises:
            Refusal: they differ, or there is no such cluster.
        """
        with quiet(), explained("read the compute", role=READER):
            compute.refuse_drift(self._client, target)

    def _job(self, run_name: str) -> Any:
        job = get(self._client, run_name)
        if job is None:
            raise UsageProblem(
                f"The workspace has no run named {run_name!r}.",
                todo="Look the name up with `traingate status`.",
            )
        return job

    def _submitter(self, client: MLClient) -> Submitter:
        return Submitter(workspace=self._workspace, client=client, repository=self._repository)

    def _keep_writes(self, client: MLClient, plan: Plan, provenance: Provenance) -> tuple[str, ...]:
        """Run the SDK's own submission over the transport that sends nothing."""
        local = inputs.local_inputs(plan)
        job = self._submitter(client).job(plan, provenance, local)
        uploads = [path for one in local for path, _ in one.blobs()]
        if plan.job.code is not None and ":" not in plan.job.code:
            uploads.append(f"{plan.job.code} as code asset {UNKNOWN_CODE}")
            job["code"] = f"azureml:{self._workspace.arm_id}/codes/{UNKNOWN_CODE}/versions/1"
        with quiet(), exported(self._repository, plan.files) as export:
            loaded = payload.load(job, export / plan.job.file)
            with explained("plan the submission", role=SUBMITTER):
                client.jobs.create_or_update(loaded)
        return tuple(uploads)


def connect(
    platform: Platform,
    repository: Path,
    environ: Mapping[str, str],
    *,
    role: Role = "submitter",
) -> AzureMLBackend:
    """The backend of the workspace that platform.yml names.

    Args:
        platform: the policy, with its `azure` section.
        repository: the top of the work tree.
        environ: the environment variables, which say where the command runs.
        role: `submitter`, or `reader` for an identity that can only read.

    Raises:
        TraingateError: platform.yml has no workspace, or there is no identity for the role.
    """
    if platform.azure is None:
        raise TraingateError(
            "platform.yml names no Azure ML workspace.",
            todo="Write its coordinates under `azure:` (docs/setup-azure.md).",
        )
    identity = credential(platform.azure, role, environ)
    return AzureMLBackend(Workspace(azure=platform.azure, credential=identity), repository)
