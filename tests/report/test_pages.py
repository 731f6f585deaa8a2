"""Every finding has a page, and every page can be found."""

from traingate.documents.kinds import KINDS
from traingate.report.pages import explained, markdown, named, pages
from traingate.rules import RULES


def test_ids_and_names_are_unique():
    every = pages()
    assert len(every) == len(KINDS) + len(RULES)
    assert len({page.id for page in every}) == len({page.name for page in every}) == len(every)


def test_every_page_says_why_shows_an_example_and_names_its_source():
    for page in pages():
        for part in ("Why it ", "Example: ", "Fix: ", "Source: "):
            assert part in page.page, f"{page.id} {page.name} lacks `{part}`"


def test_a_page_is_found_by_id_in_any_case_and_by_name():
    assert named("tg005") is named("yaml-surprise") is named(" TG005 ")
    assert named("TG999") is None


def test_the_page_of_pages_holds_each_under_its_anchor():
    text = markdown(pages())
    for page in pages():
        heading = f"### {page.id} {page.name}"
        assert text.count(f"{heading}\n") == 1
        assert f"(#{heading[4:].lower().replace(' ', '-')})" in text
        assert page.page in text


def test_an_explanation_is_its_page():
    page = named("duplicate-key")
    assert page is not None
    assert explained(page).startswith("TG004 duplicate-key (error)\n\nA mapping has the same key")
