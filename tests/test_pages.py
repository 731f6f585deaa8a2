"""docs/rules.md is what the rules say of themselves."""

import re
from pathlib import Path

from traingate.report.pages import markdown, pages

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rules.md"


def test_the_rules_page_is_fresh():
    fresh = PAGE.read_text(encoding="utf-8") == markdown(pages())
    assert fresh, "docs/rules.md is stale: run `python scripts/rules_page.py`"


def test_explain_finds_a_rule_by_id_and_by_name(traingate):
    by_id, by_name = traingate("explain", "tg106"), traingate("explain", "launcher-in-command")
    assert by_id.exit_code == 0
    assert by_id.output == by_name.output
    assert "torchrun" in by_id.output


def test_an_unknown_rule_is_a_usage_error(traingate):
    result = traingate("explain", "TG999")
    assert result.exit_code == 2
    assert "docs/rules.md" in result.output


def test_every_id_that_can_be_printed_has_a_page():
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py")]
    written = {one for text in texts for one in re.findall(r'"(TG\d{3})"', text)}
    assert written == {page.id for page in pages()}
