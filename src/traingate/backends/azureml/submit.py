"""One submission, exactly once: look, compare, count, upload, put; and look again when in doubt."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from azure.ai.ml import MLClient
from azure.ai.ml.entities import Job
from azure.core.exceptions import ResourceExistsError

from traingate.backends.azureml import compute, inputs, payload, quota
from traingate.backends.azureml.export import exported
from traingate.backends.azureml.failures import READER, SUBMITTER, UPLOADER, explained
from traingate.backends.azureml.lookup import existing
from traingate.backends.azureml.spent import refuse_overspending, spent
from traingate.backends.azureml.workspace import Workspace, quiet
from traingate.backends.base import Provenance, Submission
from traingate.errors import Refusal, TraingateError
from traingate.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Submitter:
    """Everything one submission needs to know of the world."""

    workspace: Workspace
    client: MLClient
    repository: Path

    def submit(self, plan: Plan, provenance: Provenance) -> Submission:
        """Make the run exist, once.

        A process that dies anywhere in here leaves nothing that a second attempt trips over.
        """
        refuse_placeholder_image(plan)
        name = plan.run_name(provenance.origin)
        found = existing(self.client, plan, name)
        if found is not None:
            return _submission(plan, found, is_new=False)
        notes = self.refuse_what_differs(plan)
        local = inputs.local_inputs(plan)
        job = self.job(plan, provenance, local)
        with quiet(), exported(self.repository, plan.files) as export:
            with explained("upload the job's inputs", role=UPLOADER):
                inputs.upload(self.workspace, self.client, local, export)
            load = partial(payload.load, job, export / plan.job.file)
            return self._put(plan, name, load, notes)

    def job(
        self, plan: Plan, provenance: Provenance, local: tuple[inputs.LocalInput, ...]
    ) -> dict[str, Any]:
        """The job file as it is sent; `local` inputs point at where they are uploaded to."""
        job = inputs.redirected(payload.body(plan, provenance), local)
        return payload.with_code_id(job, self.workspace.arm_id)

    def refuse_what_differs(self, plan: Plan) -> tuple[str, ...]:
        """All that is read before anything is written; at once, for each answer takes a while.

        Raises:
            Refusal: the compute drifted, or the admission is used up.
        """
        need = _need(plan)
        with quiet(), ThreadPoolExecutor(max_workers=3) as pool:
            used = pool.submit(spent, self.client, plan.admission)
            drift = pool.submit(self._compare_compute, plan)
            region = self.workspace.azure.location
            told = pool.submit(quota.notes, self.client, region, need) if need else None
        with explained("read the compute", role=READER):
            drift.result()
        with explained("list the jobs of the admission", role=READER):
            refuse_overspending(plan, used.result())
        return _notes(told)

    def _compare_compute(self, plan: Plan) -> None:
        if plan.target is not None:
            compute.refuse_drift(self.client, plan.target)

    def _put(
        self, plan: Plan, name: str, load: Callable[[], Job], notes: tuple[str, ...]
    ) -> Submission:
        """Create the job. What went wrong counts only if the job is not there afterwards.

        The service may have taken the job and its answer been lost, or another submission of
        the same run may have been faster; a second PUT is then refused as immutable.
        """
        try:
            with explained("submit the job", role=f"{SUBMITTER} and {UPLOADER}"):
                put = self._create(load)
        except TraingateError:
            found = existing(self.client, plan, name)
            if found is None:
                raise
            put = found
        return _submission(plan, put, is_new=True, notes=notes)

    def _create(self, load: Callable[[], Job]) -> Job:
        try:
            job: Job = self.client.jobs.create_or_update(load())
        except ResourceExistsError:
            # The answer to a file of the code upload was lost, and the SDK's second attempt met
            # the file of its first. Another upload goes to a place of its own.
            job = self.client.jobs.create_or_update(load())
        return job


def refuse_placeholder_image(plan: Plan) -> None:
    """Stop a job whose image is the template's placeholder.

    Raises:
        Refusal: the digest is all zeros.
    """
    digest = plan.job.environment.digest
    if digest is not None and set(digest.removeprefix("sha256:")) == {"0"}:
        raise Refusal(
            f"The image {plan.job.environment.image} is a placeholder: its digest is all zeros.",
            todo="Build the image and write the digest the registry gave it.",
        )


def _need(plan: Plan) -> quota.Need | None:
    if plan.topology.size is None:
        return None
    priority = plan.target.priority if plan.target else (plan.job.job_tier or "")
    return quota.Need(
        size=plan.topology.size,
        nodes=plan.topology.nodes,
        low_priority=priority.lower() in {"low_priority", "lowpriority", "spot"},
    )


def _notes(told: Future[tuple[str, ...]] | None) -> tuple[str, ...]:
    if told is None:
        return ()
    with explained("read the region's quota", role=READER):
        return told.result()


def _submission(plan: Plan, job: Job, *, is_new: bool, notes: tuple[str, ...] = ()) -> Submission:
    return Submission(
        run_name=cast("str", job.name),
        digest=plan.digest,
        is_new=is_new,
        url=job.studio_url,
        notes=notes,
    )
