"""One comment a marker, whatever others do to the thread."""

import pytest

from github.fake.server import FakeGitHub
from github.fake.state import BOT, Account, Pull
from traingate.github.api import Endpoint, GitHub
from traingate.github.comments import Thread, put, read_thread
from traingate.github.labels import DONE, FAILED, RUNNING, put_label
from traingate.github.markers import Marker

GATE = Marker(kind="gate", key="seg")


@pytest.fixture
def fake() -> FakeGitHub:
    made = FakeGitHub()
    made.repository.pulls[7] = Pull(7, Account("ada"), "a" * 40)
    return made


@pytest.fixture
def github(fake: FakeGitHub) -> GitHub:
    endpoint = Endpoint(
        api_url=fake.base_url,
        graphql_url=f"{fake.base_url}/graphql",
        token="ghs_fake0001",
        repository="acme/train",
    )
    return GitHub(endpoint, transport=fake.transport(), clock=fake.clock)


def bodies(fake: FakeGitHub) -> list[str]:
    return [comment.body for comment in fake.repository.pulls[7].comments]


def writes(fake: FakeGitHub) -> list[str]:
    return [line.split(" ")[0] for line in fake.log if "/graphql" not in line]


def test_created_once_edited_after_and_left_alone_when_equal(
    fake: FakeGitHub, github: GitHub
) -> None:
    for text in ("one", "two", "two"):
        put(github, read_thread(github, 7), GATE, f"{GATE}\n{text}")
    assert bodies(fake) == [f"{GATE}\ntwo"]
    assert writes(fake) == ["POST", "PATCH"]


def test_found_on_the_fifth_page_of_130_comments(fake: FakeGitHub, github: GitHub) -> None:
    fake.page_size = 30
    for number in range(130):
        author, body = (BOT, f"{GATE}\nold") if number == 125 else ("eve", f"{number}")
        fake.repository.comment(7, author, body, 0)
    put(github, read_thread(github, 7), GATE, f"{GATE}\nnew")
    assert bodies(fake)[125] == f"{GATE}\nnew"
    assert len(bodies(fake)) == 130
    assert fake.log.count("POST /graphql") == 5


def test_a_strangers_copy_of_the_marker_is_no_comment_of_ours(
    fake: FakeGitHub, github: GitHub
) -> None:
    fake.repository.comment(7, "eve", f"{GATE}\nforged", 0)
    put(github, read_thread(github, 7), GATE, f"{GATE}\nours")
    assert bodies(fake) == [f"{GATE}\nforged", f"{GATE}\nours"]
    put(github, read_thread(github, 7), GATE, f"{GATE}\nours again")
    assert bodies(fake) == [f"{GATE}\nforged", f"{GATE}\nours again"]


def test_a_marker_below_the_first_line_is_text(fake: FakeGitHub, github: GitHub) -> None:
    fake.repository.comment(7, BOT, f"somebody wrote\n{GATE}", 0)
    assert read_thread(github, 7).comments == ()


def test_deleted_between_reading_and_editing(fake: FakeGitHub, github: GitHub) -> None:
    put(github, read_thread(github, 7), GATE, f"{GATE}\nold")
    stale = read_thread(github, 7)
    fake.repository.pulls[7].comments.clear()
    put(github, stale, GATE, f"{GATE}\nnew")
    assert bodies(fake) == [f"{GATE}\nnew"]


def test_duplicates_are_removed_and_the_oldest_stays(fake: FakeGitHub, github: GitHub) -> None:
    first = fake.repository.comment(7, BOT, f"{GATE}\none", 0)
    for text in ("two", "three"):
        fake.repository.comment(7, BOT, f"{GATE}\n{text}", 0)
    thread = put(github, read_thread(github, 7), GATE, f"{GATE}\nnew")
    assert bodies(fake) == [f"{GATE}\nnew"]
    assert [comment.id for comment in thread.comments] == [first.id]


def test_two_writers_at_once_end_with_one_comment(fake: FakeGitHub, github: GitHub) -> None:
    before = read_thread(github, 7)
    # The second writer works with what it read before the first one wrote.
    put(github, before, GATE, f"{GATE}\nfirst")
    put(github, before, GATE, f"{GATE}\nsecond")
    assert bodies(fake) == [f"{GATE}\nfirst"]


def test_a_duplicate_the_other_writer_removed_first_is_no_error(
    fake: FakeGitHub, github: GitHub
) -> None:
    for text in ("one", "two"):
        fake.repository.comment(7, BOT, f"{GATE}\n{text}", 0)
    stale = read_thread(github, 7)
    put(github, stale, GATE, f"{GATE}\nx")
    put(github, stale, GATE, f"{GATE}\ny")
    assert bodies(fake) == [f"{GATE}\ny"]


def test_other_markers_are_not_touched(fake: FakeGitHub, github: GitHub) -> None:
    other = Marker(kind="gate", key="other")
    for marker in (GATE, other, GATE):
        put(github, read_thread(github, 7), marker, f"{marker}\nx")
    assert bodies(fake) == [f"{GATE}\nx", f"{other}\nx"]


def test_kinds_are_told_apart() -> None:
    assert Thread(number=7, comments=()).kind("gate") == ()


def test_a_pull_request_carries_one_of_our_labels(fake: FakeGitHub, github: GitHub) -> None:
    fake.repository.pulls[7].labels = ["bug"]
    for label in (RUNNING, RUNNING, FAILED, DONE):
        put_label(github, 7, label)
        assert fake.repository.pulls[7].labels == ["bug", label]


def test_a_label_somebody_took_away_meanwhile_is_no_error(fake: FakeGitHub, github: GitHub) -> None:
    fake.repository.pulls[7].labels = [RUNNING]

    def take_away(method: str, _path: str) -> None:
        if method == "DELETE":
            fake.repository.pulls[7].labels.remove(RUNNING)

    fake.interference = take_away
    put_label(github, 7, DONE)
    assert fake.repository.pulls[7].labels == [DONE]
