"""docs/rules.md is what the rules say of themselves."""

from pathlib import Path

from traingate.report.pages import markdown, pages

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rules.md"


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
