"""Files on the disk: encodings, sizes, links, and bytes that are about to be written."""

from datetime import date
from pathlib import Path

import pytest

from traingate.documents.files import MAX_BYTES, Files, decode
from traingate.documents.reading import platform_of, read_requests
from traingate.errors import TraingateError

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        ("a: é".encode("utf-16"), "1:1", "UTF-16"),
        (b"\xfe\xff\x00a", "1:1", "UTF-16"),
        (b"a: 1\r\nb: \xe9\n", "2:4", "0xE9"),
        (b"a: 1\rb: \xff", "2:4", "0xFF"),
        ("\ufeffé".encode() + b"\x80", "1:2", "0x80"),
        (b"a: 1\nb\x00: 2", "2:2", "NUL"),
        (b"#" * (MAX_BYTES + 1), "1:1", "larger than 1 MiB"),
    ],
)
def test_what_is_no_text(data: bytes, place: str, words: str):
    text, (finding,) = decode(data, "job.yml")
    assert text is None
    assert str(finding.location) == f"job.yml:{place}"
    assert words in finding.message
    assert finding.fix


def test_the_text_keeps_every_byte():
    data = b"\xef\xbb\xbfa: 1\r\nb: 2\rc: \xf0\x9f\x98\x80\n"
    text, _ = decode(data, "job.yml")
    assert text is not None
    assert text.encode() == data


def test_the_largest_file_is_read():
    text, findings = decode(b"#" * MAX_BYTES, "job.yml")
    assert findings == ()
    assert text is not None


@pytest.mark.parametrize("through", ["file", "folder"])
def test_a_link_is_never_followed(tmp_path: Path, through: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "job.yml").write_text("secret: here\n")
    repository = tmp_path / "repository"
    jobs = repository / "jobs"
    jobs.mkdir(parents=True)
    if through == "file":
        (jobs / "probe").mkdir()
        (jobs / "probe" / "job.yml").symlink_to(outside / "job.yml")
    else:
        (jobs / "probe").symlink_to(outside)
    data, (finding,) = Files(root=repository).read("jobs/probe/job.yml")
    assert data is None
    assert finding.rule == "TG001"
    assert "symbolic link" in finding.message


def test_a_repository_behind_a_link_is_read(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "platform.yml").write_text("backend: local\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert platform_of(tmp_path / "link").backend == "local"


def test_missing_files_are_told(repository):
    reading = read_requests(repository.path, ("nothing",), TODAY)
    assert [(it.rule, it.location.file) for it in reading.findings] == [
        ("TG003", "jobs/nothing/job.yml"),
        ("TG003", "admissions/nothing.md"),
    ]


def test_a_folder_is_no_file(repository):
    (repository.path / "admissions" / "probe.md").mkdir(parents=True)
    reading = read_requests(repository.path, ("probe",), TODAY)
    assert {it.rule for it in reading.findings} == {"TG003"}


def test_bytes_about_to_be_written_take_the_files_place(repository):
    repository.request("", workload="probe")
    file = "admissions/probe.md"
    changed = (repository.path / file).read_bytes().replace(b"vision", b"speech")
    reading = read_requests(repository.path, ("probe",), TODAY, instead={file: changed})
    assert reading.requests[0].admission is not None
    assert reading.requests[0].admission.owner == "@contoso/speech"
    assert reading.requests[0].context.admissions[0].owner == "@contoso/speech"


def test_terraform_that_is_no_text_stops_nothing(repository):
    repository.request("", workload="probe")
    (repository.path / "infra").mkdir()
    (repository.path / "infra" / "main.tf").write_bytes(b"# entra\xeenement\n")
    context = read_requests(repository.path, ("probe",), TODAY).requests[0].context
    assert "entra\ufffdnement" in context.terraform["infra/main.tf"]


@pytest.mark.parametrize("text", [None, "targets: [", "targets: {gpu: {size: 3}}\n"])
def test_without_a_policy_nothing_is_judged(repository, text: str | None):
    policy = repository.path / "platform.yml"
    policy.unlink()
    if text is not None:
        policy.write_text(text)
    with pytest.raises(TraingateError, match=r"platform\.yml"):
        read_requests(repository.path, (), TODAY)
