"""Write docs/rules.md from the rules' docstrings."""

from pathlib import Path

from traingate.report.pages import markdown, pages

if __name__ == "__main__":
    page = Path(__file__).parents[1] / "docs" / "rules.md"
    page.write_text(markdown(pages()), encoding="utf-8")
    print(f"wrote {page}")
