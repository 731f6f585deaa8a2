"""What the SDK gets to see: the digest's files, and nothing else."""

import stat
from pathlib import Path

import pytest
from azureml_fake import Fake
from azureml_fake.scene import FILES, PROVENANCE, Scene

from traingate.backends.azureml.backend import AzureMLBackend
from traingate.backends.azureml.export import exported
from traingate.errors import Refusal, TraingateError


def uploaded(fake: Fake) -> set[str]:
    """Names of the code files, below the container that is made for one upload."""
    return {name.split("/", 1)[1] for name in fake.state.blobs if not name.startswith("data1/")}


def test_the_files_of_the_digest_are_copied_and_gone_afterwards(scene: Scene) -> None:
    plan = scene.plan()
    with exported(scene.root, plan.files) as folder:
        files = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
        assert files == set(FILES)
        assert (folder / "jobs/seg/data/a.csv").read_text() == "1,2\n"
    assert not folder.exists()


def test_a_symbolic_link_out_of_the_folder_is_refused(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    (scene.root / "jobs/seg/src/secret").symlink_to("/etc/hostname")
    scene.git("add", "-A")
    with pytest.raises(Refusal, match="jobs/seg/src/secret is a symbolic link"):
        backend.submit(scene.plan(), PROVENANCE)
    assert fake.writes == []


def test_git_and_ignored_files_are_not_uploaded(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(code=".", inputs=None, command="python src/train.py")
    scene.write(".gitignore", "*.secret\n")
    scene.write("jobs/seg/.git/config", "token = planted\n")
    scene.write("jobs/seg/src/key.secret", "planted")

    backend.submit(scene.plan(), PROVENANCE)

    assert uploaded(fake) == {path.removeprefix("jobs/") for path in FILES}


def test_a_file_that_git_tracks_is_uploaded_whatever_gitignore_says(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene.write("jobs/seg/src/weights.bin", "0")
    scene.git("add", "-f", "jobs/seg/src/weights.bin")
    scene.write("jobs/seg/src/.gitignore", "*.bin\n")

    backend.submit(scene.plan(), PROVENANCE)

    assert uploaded(fake) == {"src/train.py", "src/lib/model.py", "src/weights.bin"}


def test_amlignore_leaves_files_out(backend: AzureMLBackend, fake: Fake, scene: Scene) -> None:
    scene.write("jobs/seg/src/.amlignore", "lib/\n")
    backend.submit(scene.plan(), PROVENANCE)
    assert uploaded(fake) == {"src/train.py", "src/.amlignore"}


def test_a_file_that_changed_after_the_plan_is_not_sent(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    plan = scene.plan()
    scene.write("jobs/seg/src/train.py", "print('other')\n")
    with pytest.raises(TraingateError, match=r"train.py changed while it was being submitted"):
        backend.submit(plan, PROVENANCE)
    assert fake.writes == []


def test_a_file_that_went_after_the_plan_is_not_sent(scene: Scene) -> None:
    plan = scene.plan()
    (scene.root / "jobs/seg/src/train.py").unlink()
    with pytest.raises(TraingateError, match="cannot be read"), exported(scene.root, plan.files):
        pass


def test_line_ends_that_git_converts_are_hashed_as_git_does(scene: Scene) -> None:
    scene.write(".gitattributes", "*.csv text\n")
    (scene.root / "jobs/seg/data/a.csv").write_bytes(b"1,2\r\n")
    scene.git("add", "-A")
    plan = scene.plan()
    with exported(scene.root, plan.files) as folder:
        assert (folder / "jobs/seg/data/a.csv").read_bytes() == b"1,2\r\n"


def test_an_input_that_git_does_not_know_is_refused(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(inputs={"data": {"type": "uri_file", "path": "./gone.csv"}, "lr": 1})
    with pytest.raises(Refusal, match=r"Input 'data' names jobs/seg/gone.csv"):
        backend.submit(scene.plan(), PROVENANCE)


def test_a_single_file_can_be_an_input_and_the_code(
    backend: AzureMLBackend, fake: Fake, scene: Scene
) -> None:
    scene = scene.with_job(
        code="./src/train.py",
        inputs={"data": {"type": "uri_file", "path": "../seg/data/a.csv"}, "lr": 1},
    )
    backend.submit(scene.plan(), PROVENANCE)

    sent = fake.seen("PUT jobs")[0].json["properties"]
    uri = sent["inputs"]["data"]["uri"].removeprefix(
        "azureml://datastores/workspaceblobstore/paths/"
    )
    assert fake.state.blobs[f"data1/{uri}"] == b"1,2\n"
    assert uploaded(fake) == {"train.py"}


def test_the_work_tree_is_left_as_it_was(backend: AzureMLBackend, scene: Scene) -> None:
    def look() -> dict[str, tuple[int, bytes]]:
        return {
            str(file): (stat.S_IMODE(file.stat().st_mode), file.read_bytes())
            for file in Path(scene.root).rglob("*")
            if file.is_file() and ".git" not in file.parts
        }

    before = look()
    backend.submit(scene.plan(), PROVENANCE)
    assert look() == before
