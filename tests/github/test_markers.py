from hypothesis import given
from hypothesis import strategies as st

from traingate.github.markers import Marker, marker_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.from_regex(r"[a-z]+", fullmatch=True),
    st.from_regex(r"[a-z0-9][a-z0-9-]{0,20}", fullmatch=True),
    st.none() | st.dictionaries(st.text(), JSON, max_size=4),
)
def test_a_marker_comes_back_whatever_it_remembers(kind: str, key: str, data: object) -> None:
    marker = Marker(kind=kind, key=key, data=data)  # type: ignore[arg-type]
    line = str(marker)
    assert "\n" not in line
    assert line.count("-->") == 1
    assert marker_of(f"{line}\nand the text") == marker


def test_only_the_first_line_counts() -> None:
    marker = str(Marker(kind="run", key="x"))
    assert marker_of(f"text\n{marker}") is None
    assert marker_of(f"text {marker}") is None


def test_damaged_data_is_no_marker() -> None:
    assert marker_of("<!-- traingate:run x {broken} -->") is None
