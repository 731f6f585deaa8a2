"""TG020 to TG029: the parts of a request agree with each other and stay inside it."""

import re
from collections.abc import Iterator

from traingate.documents.located import Document
from traingate.documents.request import Request
from traingate.findings import Location, Severity
from traingate.rules.command import read_command
from traingate.rules.rule import Broken, rule

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{1,62}")
_REGISTERED_CODE = re.compile(
    r"azureml:[\w.-]+:[\w.-]+|azureml://registries/[\w.-]+/codes/[\w.-]+/versions/[\w.-]+"
)


@rule("TG020", "workload-mismatch", Severity.ERROR, binding=True)
def workload_mismatch(request: Request) -> Iterator[Broken]:
    """The admission, its file name and the job folder carry one workload name.

    What it does: compares `workload:` of the admission with its file name, which is also the
    job folder's, and checks that the name is a slug: `[a-z0-9][a-z0-9-]{1,62}`.

    Why it is bad: the run name, the comments and the model all derive from the name; a second
    spelling would admit one workload and run another.

    Example: `workload: segmentation` in `admissions/segmentation-ddp.md`.

    Fix: write the file's own name.

    Source: this repository's definition of a request; Azure ML run names are at most 255
    characters of `[a-zA-Z0-9_-]`.
    """
    admission = request.admission
    if not _SLUG.fullmatch(request.workload):
        files = [it.file for it in (admission, request.job) if it is not None]
        if files:
            yield Broken(
                at=Location(file=files[0]),
                message=f"`{request.workload}` is no workload name.",
                fix="Use 2 to 63 lower-case letters, digits and hyphens, no hyphen first.",
            )
    elif admission is not None and admission.workload != request.workload:
        yield Broken(
            at=admission.document.at("workload"),
            message=f"The admission says `workload: {admission.workload}`, but its file and job "
            f"folder are named {request.workload}.",
            fix=f"Write `workload: {request.workload}`.",
        )


@rule("TG021", "symlink-in-request", Severity.ERROR, binding=True)
def symlink_in_request(request: Request) -> Iterator[Broken]:
    """A request holds no symbolic link and no submodule.

    What it does: looks at the mode git has for every file of the job's folder.

    Why it is bad: Azure ML's upload follows a link out of the folder, so a job could carry away
    files nobody reviewed; the diff shows only the link's name. Of a submodule it shows only a
    commit of another repository.

    Example: `jobs/segmentation-ddp/src/data -> /etc`.

    Fix: replace the link by the file, or name the data under `inputs`.

    Source: azure-ai-ml 1.35.2 uploads the target of a link outside the code folder (tried).
    """
    for path, blob in request.context.tree.under(request.folder).items():
        if blob.is_symlink and path != request.job_file:  # Of that file, the reading has told.
            yield Broken(
                at=Location(file=path),
                message="A request holds no symbolic link: the upload would follow it.",
                fix="Put the file itself here, or name the data under `inputs`.",
            )
        elif blob.is_submodule:
            yield Broken(
                at=Location(file=path),
                message="This is a submodule: its files are reviewed nowhere in this repository.",
                fix="Put the files themselves here.",
            )


@rule("TG022", "path-outside-request", Severity.ERROR, binding=True)
def path_outside_request(request: Request) -> Iterator[Broken]:
    """Every local path of the job, and its code, stays in the job's own folder.

    What it does: resolves `code`, local input paths, `conda_file` and the build context against
    the job file, without looking through links. A path with `file:` before it is refused, and so
    is code at an address or under a label; registered code of one version is not.

    Why it is bad: `code: ../..` uploads the whole repository, with whatever lies in it; files
    outside the folder are not in the digest and not under this request's review.

    Example: `code: ../../`, `path: /home/me/data`, `code: git+https://github.com/me/mine`.

    Fix: move the files into `jobs/<workload>/`, or register them as a data asset.

    Source: azure-ai-ml 1.35.2 accepts `code: ../..` and absolute paths (tried).
    """
    for document, path, written in _local_paths(request):
        has_scheme = written[:5].lower() == "file:"
        place = request.path(written[5:] if has_scheme else written)
        if place is not None and request.owns(place) and has_scheme:
            yield Broken(
                at=document.at(*path),
                message=f"`{written}` begins with `file:`, which the digest does not follow.",
                fix=f"Write `{written[5:]}`.",
            )
        elif place is None or not request.owns(place):
            yield Broken(
                at=document.at(*path),
                message=f"`{written}` leaves {request.folder}/, the folder this request is.",
                fix="Move the files into that folder, or name a registered asset.",
            )
    job = request.job
    code = job.code if job else None
    if job and code and not _is_local(code) and not _REGISTERED_CODE.fullmatch(code):
        yield Broken(
            at=job.document.at("code"),
            message=f"`{code}` is code that nobody reviewed here.",
            fix=f"Put it into {request.folder}/ and write `code: ./src`.",
        )


@rule("TG025", "code-not-found", Severity.ERROR)
def code_not_found(request: Request) -> Iterator[Broken]:
    """The job sends the code its command runs.

    What it does: checks that `code` names files of the repository, and that a job whose command
    runs a script file has a `code` at all. A module of the image (`python -m train_aml...`)
    needs none.

    Why it is bad: the job starts, waits for its nodes, pulls the image and then ends with "can't
    open file", on every rank.

    Example: `command: python train.py` without `code`.

    Fix: `code: ./src`.

    Source: Azure ML command job reference, `code`.
    """
    job = request.job
    if job is None:
        return
    scripts = read_command(job.command).scripts
    if job.code is None and scripts:
        yield Broken(
            at=job.document.at("command"),
            message=f"The command runs `{scripts[0]}`, but the job sends no code.",
            fix="Write `code: ./src` (the folder that holds it).",
        )
    place = _own_place(request, job.code)
    if place is not None and not request.context.tree.under(place):
        yield Broken(
            at=job.document.at("code"),
            message=f"`{job.code}` holds no file that git knows.",
            fix="Add the files to git, or correct the path.",
        )


@rule("TG026", "script-not-in-code", Severity.ERROR)
def script_not_in_code(request: Request) -> Iterator[Broken]:
    """The script the command names is in the code it sends.

    What it does: finds the script files the command runs, follows `cd`, and looks for each in
    `code`. It stays silent where the command makes or fetches files first, and for paths with
    variables in them.

    Why it is bad: the job pays for its nodes and then finds no file.

    Example: `command: python train.py` where the file is `src/training.py`.

    Fix: name the file as it lies in `code`.

    Source: Azure ML starts the command in the root of the uploaded code.
    """
    job = request.job
    place = _own_place(request, job.code if job else None)
    if job is None or place is None:
        return
    files = request.context.tree.under(place)
    if not files:
        return
    for script in read_command(job.command).scripts:
        if f"{place}/{script}" not in files and not place.endswith(f"/{script}"):
            yield Broken(
                at=job.document.at("command"),
                message=f"The command runs `{script}`, which is not in `{job.code}`.",
                fix="Name the script as it lies in the code folder, or add it to git.",
            )


@rule("TG027", "fixed-name", Severity.ERROR)
def fixed_name(request: Request) -> Iterator[Broken]:
    """The job file gives the run no name.

    What it does: refuses `name:`.

    Why it is bad: a name is taken once and for all. The second run of the same file is refused
    by the service ("A job with this name already exists"), and the run name here carries the
    digest that makes submitting the same work twice harmless.

    Example: `name: my-training`.

    Fix: delete the line; use `display_name` for a name people read.

    Source: Azure/azure-sdk-for-python#47389, MicrosoftDocs/azure-docs#122250.
    """
    if request.job is not None and request.job.name is not None:
        yield Broken(
            at=request.job.document.key("name"),
            message="A fixed `name` can be submitted once; the run name is made from the digest.",
            fix="Delete it; `display_name` is the name people read.",
        )


@rule("TG028", "input-not-in-repository", Severity.NOTE)
def input_not_in_repository(request: Request) -> Iterator[Broken]:
    """A local input is in git, so that the digest covers it.

    What it does: notes a local input path under which git knows no file.

    Why it is bad: the data exists on one laptop only. The digest says nothing about it, and in
    CI the run finds no input.

    Example: `path: ./data` where `data/` is ignored.

    Fix: add the files, make them in the command, or register a data asset.

    Source: this repository's digest: git blob ids of code and local inputs.
    """
    job = request.job
    if job is None:
        return
    for name, given in job.inputs.items():
        place = _own_place(request, given.path) if given.is_local else None
        if place is not None and not request.context.tree.under(place):
            yield Broken(
                at=job.document.at("inputs", name, "path"),
                message=f"Git knows no file under `{given.path}`: the digest cannot cover it.",
                fix="Add the files to git, or name a registered data asset.",
            )


def _own_place(request: Request, written: str | None) -> str | None:
    """The repository path of a local path inside the request; None for anything else."""
    if written is None or ":" in written:
        return None
    place = request.path(written)
    return place if place is not None and request.owns(place) else None


def _local_paths(request: Request) -> Iterator[tuple[Document, tuple[str, ...], str]]:
    job = request.job
    if job is None:
        return
    written = {
        ("code",): job.code,
        ("environment", "conda_file"): job.environment.conda_file,
        ("environment", "build", "path"): job.environment.build_path,
    }
    reference = job.environment.reference
    if reference is not None and reference.startswith("file:"):
        written["environment",] = reference.removeprefix("file:")
    for name, given in job.inputs.items():
        written["inputs", name, "path"] = given.path
    for path, text in written.items():
        if text and _is_local(text):
            yield job.document, path, text


def _is_local(text: str) -> bool:
    """Whether Azure ML would read `text` from the disk: no scheme, no reference, no drive."""
    scheme = text.partition(":")[0].lower() if ":" in text else ""
    return scheme in {"", "file"} or len(scheme) == 1
