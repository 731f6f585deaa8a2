"""What git knows of a work tree, compared with git itself."""

import subprocess

import pytest

from traingate.documents import git
from traingate.errors import TraingateError


def run(path, *arguments):
    return subprocess.run(
        ["git", "-C", str(path), *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_the_work_tree_is_what_git_add_would_stage(repository):
    top = repository.path
    repository.write(".gitignore", "ignored.txt\n")
    for name in ("kept", "changed", "deleted", "ignored"):
        repository.write(f"jobs/a/{name}.txt", f"{name}\n")
    run(top, "add", "--all")
    repository.write("jobs/a/changed.txt", "after\n")
    (top / "jobs/a/deleted.txt").unlink()
    repository.write("jobs/a/new file.txt", "new\n")
    repository.write('jobs/a/"quoted\nname".txt', "odd\n")
    (top / "jobs/a/link").symlink_to("kept.txt")
    (top / "jobs/a/new file.txt").chmod(0o755)

    found = git.work_tree(top, "jobs").blobs

    run(top, "add", "--all")
    staged = [line.split("\t") for line in run(top, "ls-files", "-s", "-z", "jobs").split("\0")]
    expected = {path: about.split(" ")[:2] for about, *rest in staged if rest for path in rest}
    assert {path: [blob.mode, blob.object_id] for path, blob in found.items()} == expected
    assert found["jobs/a/link"].is_symlink
    assert "jobs/a/ignored.txt" not in found


def test_a_commit_has_the_same_blobs_as_its_clean_work_tree(repository):
    repository.write("jobs/a/x.txt", "x\n")
    run(repository.path, "add", "--all")
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    run(repository.path, *author, "commit", "--quiet", "--message", "x")

    at_head = git.tree_at(repository.path, "HEAD", "jobs")

    assert at_head == git.work_tree(repository.path, "jobs")
    assert git.commit(repository.path) == run(repository.path, "rev-parse", "HEAD").strip()


def test_outside_a_repository_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(TraingateError, match="inside a git checkout"):
        git.root(tmp_path)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@github.com:contoso/training.git", "contoso/training"),
        ("https://github.com/contoso/training", "contoso/training"),
        ("https://example.com/contoso/training", "local/repository"),
    ],
)
def test_the_repository_is_named_by_its_remote(repository, url, name):
    run(repository.path, "remote", "add", "origin", url)
    assert git.repository_name(repository.path) == name


def test_a_submodule_stays_one_entry_whatever_lies_in_it(repository):
    top = repository.path
    (top / "jobs/a/lib").mkdir(parents=True)
    (top / "jobs/a/lib/x.py").write_text("x = 1\n")
    entry = f"160000,{'a' * 40},jobs/a/lib"
    run(top, "update-index", "--add", "--cacheinfo", entry)
    assert {path: it.is_submodule for path, it in git.work_tree(top, "jobs").blobs.items()} == {
        "jobs/a/lib": True
    }
