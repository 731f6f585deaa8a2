"""TG301 and TG302: what runs is what was reviewed."""

import re
from collections.abc import Iterator

from traingate.documents.job import Job
from traingate.documents.located import Path
from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.places import within
from traingate.rules.rule import Broken, rule

_PINNED = re.compile(r"[\w.-]+(?::\d+)?(?:/[\w.-]+)*(?::[\w.-]+)?@sha256:[0-9a-f]{64}", re.ASCII)
_PLACEHOLDER = "sha256:" + "0" * 64
_LATEST = re.compile(r"(?:@latest|labels/latest)\b", re.IGNORECASE)
#: A registered asset by a label, which somebody can move, or by its name alone.
_LABEL = re.compile(r"azureml:[^:@/]+(@.+)|azureml://registries/.+/(labels/[^/]+)")
_NAME_ALONE = re.compile(r"azureml:[^:@/]+")


@rule("TG301", "image-not-pinned", Severity.ERROR, binding=True)
def image_not_pinned(request: Request) -> Iterator[Broken]:
    """The image is named by its digest.

    What it does: asks for `environment: {image: <name>@sha256:<64 hex digits>}`. A tag, a label
    and a registered environment are refused: none shows which image would run. The all-zero
    digest stands for "not built yet": a note, and an error with the backend azureml.

    Why it is bad: a tag moves. The same commit would run other code tomorrow, and the model's
    `code.image` could not be traced.

    Example: `image: pytorch/pytorch:2.1`, `environment: azureml:pt-env@latest`.

    Fix: `docker buildx imagetools inspect <image>` prints the digest.

    Source: OCI image specification, "Digests"; Azure ML resolves labels when the job is sent.
    """
    job = request.job
    if job is None:
        return
    environment, document = job.environment, job.document
    if environment.image is None:
        if environment.build_path is None:  # Then key-not-allowed judges it.
            yield Broken(
                at=document.at("environment"),
                message="This environment does not say which image would run.",
                fix="Write `environment: {image: <name>@sha256:<digest>}`.",
            )
    elif not _PINNED.fullmatch(environment.image):
        yield Broken(
            at=document.at("environment", "image"),
            message=f"`{environment.image}` is not pinned by a digest of 64 hex digits.",
            fix="Write `<name>@sha256:<digest>`; `docker buildx imagetools inspect` prints it.",
        )
    elif environment.digest == _PLACEHOLDER:
        azure = request.context.platform.backend == "azureml"
        yield Broken(
            at=document.at("environment", "image"),
            message="The digest is a placeholder: no image has been built yet.",
            fix="Put in the digest the image workflow prints.",
            severity=None if azure else Severity.NOTE,
        )


@rule("TG302", "latest-label", Severity.ERROR)
def latest_label(request: Request) -> Iterator[Broken]:
    """Nothing in the job is `@latest`.

    What it does: finds `@latest` and `labels/latest` in the command, inputs, outputs and
    variables, and inputs that name an asset by any label or without a version. The environment
    is image-not-pinned's, the code path-outside-request's.

    Why it is bad: the data or model asset changes between the review and the run, and between a
    run and its repetition; the digest is the same for other work.

    Example: `path: azureml:cifar@latest`.

    Fix: `path: azureml:cifar:4`.

    Source: Azure ML, "Manage assets": labels move.
    """
    job = request.job
    if job is None:
        return
    for path, value in _values(job):
        is_asset = path[0] == "inputs"
        label = _LATEST.search(value) or (_LABEL.fullmatch(value) if is_asset else None)
        if label:
            written = next(filter(None, label.groups()), label[0])
            yield Broken(
                at=within(job.document, path, written),
                message=f"`{written}` names something else tomorrow.",
                fix="Write the version.",
            )
        elif is_asset and _NAME_ALONE.fullmatch(value):
            yield Broken(
                at=job.document.at(*path),
                message=f"`{value}` names no version.",
                fix=f"Write `{value}:<version>`.",
            )


def _values(job: Job) -> Iterator[tuple[Path, str]]:
    """The values that can name an asset and have no rule of their own."""
    yield ("command",), job.command
    for name, given in job.inputs.items():
        for key, text in (("path", given.path), ("value", given.value)):
            if text is not None:
                written = ("inputs", name, key) in job.document.values
                yield (("inputs", name, key) if written else ("inputs", name)), text
    for name, output in job.outputs.items():
        if output.path is not None:
            yield ("outputs", name, "path"), output.path
    for name, text in job.environment_variables.items():
        yield ("environment_variables", name), text
