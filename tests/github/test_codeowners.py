"""CODEOWNERS as GitHub reads it, where the package alone would not."""

import pytest

from traingate.github.codeowners import LARGEST_BYTES, CodeOwners


def owners(text: str) -> CodeOwners:
    return CodeOwners(file="CODEOWNERS", text=text)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("* @a\n/jobs/ @b", "jobs/x/job.yml", ("@b",)),
        ("/jobs/ @b\n* @a", "jobs/x/job.yml", ("@a",)),
        ("* @a\n/jobs/", "jobs/x/job.yml", ()),
        ("/jobs/* @b", "jobs/x/job.yml", ()),
        ("jobs/ @b", "deep/jobs/x.yml", ("@b",)),
        ("**/job.yml @b", "jobs/x/job.yml", ("@b",)),
        ("/Jobs/ @b", "jobs/x/job.yml", ()),
        ("/jobs/ @b @acme/gpu c@d.example", "jobs/x", ("@b", "@acme/gpu", "c@d.example")),
        ("/jobs/ @b # not @mallory", "jobs/x/job.yml", ("@b",)),
        ("# /jobs/ @mallory", "jobs/x/job.yml", ()),
        ("* @a\n/jobs/ @b not-an-owner", "jobs/x/job.yml", ("@a",)),
        ("* @a\n!/jobs/ @b", "jobs/x/job.yml", ("@a",)),
        ("* @a\n/jobs/[xy]/ @b", "jobs/x/job.yml", ("@a",)),
        ("* @a\n/jobs/[ @b", "jobs/x/job.yml", ("@a",)),
        (r"* @a" + "\n" + r"/jobs/\#x @b", "jobs/#x", ("@a",)),
        (r"/my\ jobs/ @b", "my jobs/x", ("@b",)),
        ("", "jobs/x", ()),
    ],
)
def test_owners(text: str, path: str, expected: tuple[str, ...]) -> None:
    assert owners(text).of(path) == expected


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("!/jobs/ @b", "no `!`"),
        ("/jobs/[xy] @b", "`[ ]` ranges"),
        ("[Section]", "`[ ]` ranges"),
        (r"/jobs/\#x @b", "escaped `#`"),
        ("/jobs/ gpu-team", "`gpu-team` is no owner"),
        ("/jobs/ @", "is no owner"),
        ("/jobs/ @a/b/c", "is no owner"),
        ("/jobs/ @-a", "is no owner"),
    ],
)
def test_lines_github_skips(line: str, why: str) -> None:
    (skipped,) = owners(f"* @a\n\n{line}\n").skipped()
    assert skipped.line == 3
    assert why in skipped.problem


def test_good_lines_are_not_blamed() -> None:
    text = "# head\n* @a\n/jobs/ @acme/gpu-team # why\n\n/docs/\n*.md a.b@c.example\n"
    assert owners(text).skipped() == ()


def test_a_file_github_does_not_load_protects_nothing() -> None:
    text = "* @a\n" + "#" * LARGEST_BYTES
    assert owners(text).of("jobs/x") == ()
    assert "3 MB" in owners(text).skipped()[0].problem


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_comment_ends_only_where_github_ends_it(end: str) -> None:
    """Python knows more ends of a line; an owner must not be read out of a comment."""
    owners = CodeOwners(file="CODEOWNERS", text=f"/jobs/ @olga\n# see{end}/jobs/ @eve\n")
    assert owners.of("jobs/seg/job.yml") == ("@olga",)
    hidden = CodeOwners(file="CODEOWNERS", text=f"/jobs/ @olga{end}/jobs/ @eve\n")
    assert hidden.of("jobs/seg/job.yml") == ()
    assert [one.line for one in hidden.skipped()] == [1]


def test_a_managed_users_login_has_an_underscore() -> None:
    owners = CodeOwners(file="CODEOWNERS", text="/jobs/ @olga_contoso\r\n")
    assert owners.of("jobs/seg/job.yml") == ("@olga_contoso",)
    assert owners.skipped() == ()
