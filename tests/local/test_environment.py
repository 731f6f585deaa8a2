"""What a request's code finds in its environment of ours."""

import pytest

from traingate.backends.local.ranks import inherited


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_ENV",
        "GITHUB_PATH",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_URL",
        "ACTIONS_RUNTIME_TOKEN",
        "AZURE_CLIENT_SECRET",
        "TRAINGATE_TEAMS_TOKEN",
        "RANK",
    ],
)
def test_nothing_that_lends_it_our_rights_or_contradicts_the_run(name: str) -> None:
    assert inherited({name: "x", "HOME": "/home/ada"}) == {"HOME": "/home/ada"}
