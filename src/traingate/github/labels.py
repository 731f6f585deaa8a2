"""The labels by which a pull request's runs are found: at most one of them at a time."""

from urllib.parse import quote

from traingate.github.api import GitHub
from traingate.github.problems import NotThere

RUNNING = "traingate:running"
DONE = "traingate:done"
FAILED = "traingate:failed"
REFUSED = "traingate:refused"
#: Name, colour and description, as `docs/setup-github.md` creates them.
ALL = {
    RUNNING: ("1f6feb", "A training run of this pull request is open"),
    DONE: ("2da44e", "Every training run of this pull request succeeded"),
    FAILED: ("cf222e", "A training run of this pull request did not succeed"),
    REFUSED: ("bf8700", "The merge of this pull request submitted nothing"),
}


def put_label(github: GitHub, number: int, label: str) -> None:
    """Give the pull request `label` and take the others of ours away.

    The new one is added first: cut off in between, the pull request is found by either.
    """
    added = github.post(f"issues/{number}/labels", {"labels": [label]})
    for other in sorted({one["name"] for one in added} & (ALL.keys() - {label})):
        try:
            github.delete(f"issues/{number}/labels/{quote(other, safe='')}")
        except NotThere:
            continue  # Somebody else took it away.
