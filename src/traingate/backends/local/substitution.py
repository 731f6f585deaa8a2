"""`${{inputs.x}}` and `${{outputs.x}}` in a command, replaced as Azure ML replaces them."""

import re
import shlex

from traingate.backends.local.folder import RunFolder
from traingate.documents.job import Job
from traingate.errors import Refusal

_REFERENCE = re.compile(r"\$\{\{\s*(inputs|outputs)\.([A-Za-z0-9_]+)\s*\}\}")


def substitute(job: Job, folder: RunFolder) -> str:
    """The job's command with every reference replaced: a literal's text, or a path.

    Raises:
        Refusal: a reference names nothing that the job declares.
    """

    def replace(match: re.Match[str]) -> str:
        kind, name = match.groups()
        if kind == "outputs" and name in job.outputs:
            return shlex.quote(str(folder.outputs / name))
        if kind == "inputs" and name in job.inputs:
            value = job.inputs[name].value
            return value if value is not None else shlex.quote(str(folder.inputs / name))
        raise Refusal(
            f"The command names {match.group()}, which the job does not declare.",
            todo=f"Declare `{name}` under `{kind}`, or mend the name.",
        )

    return _REFERENCE.sub(replace, job.command)
