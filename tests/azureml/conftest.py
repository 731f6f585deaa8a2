"""One fake service a session, reset before each test; a request in a git repository a test."""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

with warnings.catch_warnings():
    # azure-ai-ml 1.35.2 defines its schemas the way marshmallow 3 deprecates.
    warnings.simplefilter("ignore")
    import azure.ai.ml  # noqa: F401 - imported here so that the warning comes here

from azureml_fake import Fake, running
from azureml_fake.scene import Scene

if TYPE_CHECKING:
    from traingate.backends.azureml.backend import AzureMLBackend


@pytest.fixture(scope="session")
def one_fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fake]:
    with running(tmp_path_factory.mktemp("tls")) as fake:
        yield fake


@pytest.fixture
def fake(one_fake: Fake, monkeypatch: pytest.MonkeyPatch) -> Fake:
    one_fake.reset()
    for name, value in one_fake.environ().items():
        monkeypatch.setenv(name, value)
    return one_fake


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A repository with one request, in which code and an input are local."""
    return Scene.make(tmp_path / "repository")


@pytest.fixture
def backend(fake: Fake, scene: Scene) -> "AzureMLBackend":
    return scene.backend(fake)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """azure-ai-ml 1.35.2 uses marshmallow's deprecated ways; ours to bear, not to mend."""
    mark = pytest.mark.filterwarnings("ignore::marshmallow.warnings.RemovedInMarshmallow4Warning")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(mark)


@pytest.fixture(autouse=True)
def _impatient_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's own storage client would wait fifteen seconds before a second attempt."""
    from azure.storage.blob import ExponentialRetry

    monkeypatch.setattr(ExponentialRetry, "get_backoff_time", lambda *_: 0.001)
