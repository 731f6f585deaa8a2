"""traingate.image and `traingate image set`: one reference changes, every other byte stays."""

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Repository

from traingate.commands.image import command
from traingate.image import ImageError, check_reference, find_image, set_image

OLD = "contoso.azurecr.io/traingate/train@sha256:" + "0" * 64
NEW = "contoso.azurecr.io/traingate/train:v2@sha256:" + "ab" * 32
OTHER = "contoso.azurecr.io/speech/train:v1@sha256:" + "12" * 32

LAYOUTS = {
    "block": "# why\nenvironment:\n  image: {}  # pinned\ncommand: x\n",
    "flow": "command: x\nenvironment: {{image: {}}}\n",
    "flow with more": 'environment: {{ "image" : {} , os_type: linux }}\n',
    "double quotes": 'environment:\n  image: "{}"\n',
    "single quotes": "environment:\n  image: '{}'\n",
    "CRLF": "a: 1\r\nenvironment:\r\n  image: {}\r\nb: 2\r\n",
    "byte order mark": "\ufeffenvironment:\n  image: {}\n",
    "wide characters before it": "description: 'é 漢 😀'\nenvironment:\n  image: {}\n",
    "on a line of its own": "environment:\n  image:\n    # the training image\n    {}\n",
    "no newline at the end": "environment:\n  image: {}",
    "anchored environment": "environment: &env\n  image: {}\n",
    "another image key": "inputs: {{image: {{path: image}}}}\nenvironment:\n  image: {}\n",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_only_the_reference_changes(layout: str):
    assert set_image(layout.format(OLD), NEW) == layout.format(NEW)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_setting_it_twice_is_setting_it_once(layout: str):
    assert set_image(layout.format(NEW), NEW) == layout.format(NEW)


REFUSED = {
    "no environment": ("command: x\n", 1, 1, "there is no `environment`"),
    "a name": ("environment: azureml:train@latest\n", 1, 14, "the environment is no image"),
    "a list": ("environment: [a]\n", 1, 14, "the environment is no image"),
    "a build": (
        "environment:\n  build: {path: .}\n",
        2,
        3,
        "with `build` Azure ML builds an image of its own",
    ),
    "conda": (
        f"environment:\n  image: {OLD}\n  conda_file: c.yml\n",
        3,
        3,
        "with `conda_file` Azure ML builds an image of its own",
    ),
    "no image": ("environment:\n  os_type: linux\n", 1, 1, "there is no `image`"),
    "two images": ("environment:\n  image: a\n  image: b\n", 3, 3, "a second `image`"),
    "two environments": ("environment: {}\nenvironment: {}\n", 2, 1, "a second `environment`"),
    "an alias": ("x: &i a/b\nenvironment:\n  image: *i\n", 3, 3, "YAML alias"),
    "an aliased environment": ("x: &e {image: a/b}\nenvironment: *e\n", 2, 1, "YAML alias"),
    "an anchor": ("environment:\n  image: &i a/b\n", 2, 10, "no plain or quoted text"),
    "a tag": ("environment:\n  image: !!str a/b\n", 2, 10, "no plain or quoted text"),
    "a block scalar": ("environment:\n  image: |\n    a/b\n", 2, 10, "no plain or quoted text"),
    "a mapping": ("environment:\n  image: {a: b}\n", 2, 10, "no plain or quoted text"),
    "an empty image": ("environment:\n  image:\n", 2, 9, "no plain or quoted text"),
    "a list as file": ("- environment\n", 1, 1, "a job file is a mapping"),
    "an empty file": ("", 1, 1, "a job file is a mapping"),
    "no YAML": ("environment: {\n", 2, 1, "not YAML"),
    "a control character": ("environment: \x07\n", 1, 1, "not YAML"),
    "deep nesting": ("[" * 100_000, 1, 1, "not YAML"),
    "two documents": ("a: 1\n---\nb: 2\n", 2, 1, "not YAML"),
}


@pytest.mark.parametrize(("text", "line", "column", "message"), REFUSED.values(), ids=REFUSED)
def test_other_forms_are_refused_at_their_place(text: str, line: int, column: int, message: str):
    with pytest.raises(ImageError, match=message) as caught:
        set_image(text, NEW)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "reference",
    [
        "contoso.azurecr.io/train",
        "contoso.azurecr.io/train:latest",
        "contoso.azurecr.io/train@sha256:abc",
        "contoso.azurecr.io/train@md5:" + "a" * 64,
        "contoso.azurecr.io/Train@sha256:" + "a" * 64,
        "contoso.azurecr.io/train@sha256:" + "A" * 64,
        "train@sha256:" + "a" * 64,
        "a/b@sha256:" + "a" * 64 + "\n",
        "a/b # @sha256:" + "a" * 64,
        OLD,
    ],
)
def test_only_a_real_digest_is_accepted(reference: str):
    with pytest.raises(ValueError, match=r"image\.yml"):
        check_reference(reference)


@given(st.text(alphabet=st.sampled_from("environmt:image \n{}[]&*!|>'\"#-a/@é\r"), max_size=40))
def test_any_text_is_set_or_refused(text: str):
    try:
        changed = set_image(text, NEW)
    except ImageError:
        return
    assert yaml.safe_load(changed)["environment"]["image"] == NEW
    assert find_image(changed).reference == NEW


LATER = NEW.replace("ab", "cd")


@pytest.fixture
def jobs(repository: Repository) -> Repository:
    for workload, reference in {"digits": OLD, "speech": OTHER, "vision": NEW}.items():
        text = f"environment:\r\n  image: {reference}  # kept\r\n"
        path = repository.path / "jobs" / workload / "job.yml"
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
    return repository


def images(repository: Repository) -> dict[str, str]:
    return {
        path.parent.name: find_image(path.read_bytes().decode()).reference
        for path in repository.path.glob("jobs/*/job.yml")
    }


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_command_sets_builds_of_the_same_image_and_placeholders(jobs: Repository):
    done = invoke("set", LATER)
    assert done.exit_code == 0, done.output
    assert images(jobs) == {"digits": LATER, "speech": OTHER, "vision": LATER}
    assert done.stdout.splitlines() == [
        f"jobs/speech/job.yml: left as it is, another image: {OTHER}",
        f"jobs/digits/job.yml: {LATER}",
        f"jobs/vision/job.yml: {LATER}",
    ]
    assert (jobs.path / "jobs/digits/job.yml").read_bytes().endswith(b"  # kept\r\n")


def test_command_sets_any_image_of_a_named_workload(jobs: Repository):
    assert invoke("set", LATER, "speech").exit_code == 0
    assert images(jobs) == {"digits": OLD, "speech": LATER, "vision": NEW}


def test_command_works_from_a_folder_below(jobs: Repository, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(jobs.path / "jobs" / "speech")
    assert invoke("set", LATER, "digits").exit_code == 0
    assert images(jobs)["digits"] == LATER


def test_command_writes_nothing_when_one_file_is_wrong(jobs: Repository):
    jobs.write("jobs/vision/job.yml", "environment: azureml:x@latest\n")
    (jobs.path / "jobs/speech/job.yml").write_bytes(b"environment: \xff\n")
    done = invoke("set", LATER)
    assert done.exit_code == 1
    assert "jobs/vision/job.yml:1:14: the environment is no image" in done.stderr
    assert "jobs/speech/job.yml:1:1: not UTF-8" in done.stderr
    assert find_image((jobs.path / "jobs/digits/job.yml").read_text()).reference == OLD


def test_command_says_when_no_file_names_the_image(repository: Repository):
    done = invoke("set", LATER)
    assert (done.exit_code, done.stderr) == (
        1,
        "No job file names this image: give the workload to change.\n",
    )


@pytest.mark.parametrize("arguments", [["set", OLD], ["set", LATER, "unknown"], ["set"]])
def test_command_refuses_wrong_arguments(arguments: list[str], jobs: Repository):
    assert invoke(*arguments).exit_code == 2
