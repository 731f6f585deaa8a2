"""A request as a commit has it, and the scripts of one in the work tree."""

import subprocess
from datetime import date
from pathlib import Path

import pytest

from traingate.documents import git
from traingate.documents.history import read_request_at
from traingate.documents.sources import read_sources
from traingate.errors import UsageProblem

TODAY = date(2026, 11, 30)


@pytest.fixture
def committed(repository):
    repository.request("print(1)\n", nodes=2)
    _git(repository.path, "add", ".")
    _git(repository.path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    return repository.path


def _git(path: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(path), *arguments], check=True, capture_output=True)


def test_a_commits_request_is_read_whatever_the_work_tree_holds(committed):
    (committed / "jobs/probe/job.yml").unlink()
    (committed / "jobs/probe/src/train.py").write_text("print(2)\n", encoding="utf-8")

    request = read_request_at(committed, "HEAD", "probe", TODAY)

    assert request is not None
    assert request.job is not None
    assert request.job.instance_count == 2
    assert "jobs/probe/src/train.py" in request.context.tree.blobs


def test_a_commit_without_the_request_has_none(committed):
    assert read_request_at(committed, "HEAD", "other", TODAY) is None


def test_an_unknown_revision_is_an_error_that_says_so(committed):
    with pytest.raises(UsageProblem, match=r"`nowhere` here.*Name a commit, branch or tag"):
        read_request_at(committed, "nowhere", "probe", TODAY)


def test_a_link_of_a_commit_is_no_file(committed):
    (committed / "link").symlink_to("platform.yml")
    _git(committed, "add", ".")
    _git(committed, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "two")

    assert git.file_at(committed, "HEAD", "link") is None
    assert git.file_at(committed, "HEAD", "platform.yml")


def test_plan_shows_what_changed_since_a_commit(committed, traingate):
    job = committed / "jobs/probe/job.yml"
    job.write_text(job.read_text().replace("instance_count: 2", "instance_count: 1"))

    result = traingate("plan", "probe", "--base", "HEAD")

    assert result.exit_code == 0, result.output
    assert "nodes         2 -> 1" in result.output


def test_scripts_are_read_within_bounds(repository):
    source = repository.path / "jobs/probe/src"
    repository.request("print(1)\n")
    (source / "long.py").write_text("#" * 300_000, encoding="utf-8")
    (source / "latin.py").write_bytes(b"# \xe9")
    (source / "link.py").symlink_to("train.py")
    (source / "data.csv").write_text("1", encoding="utf-8")

    tree = git.work_tree(repository.path, "jobs")

    assert read_sources(repository.path, tree, "jobs/probe") == {
        "jobs/probe/src/train.py": "print(1)\n"
    }
