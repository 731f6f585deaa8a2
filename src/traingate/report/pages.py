"""The pages of all rules: what `traingate explain` prints and docs/rules.md is made of."""

from collections.abc import Sequence
from typing import Protocol

from traingate.documents.kinds import KINDS
from traingate.findings import Severity
from traingate.rules import RULES

_FAMILIES = (
    "Documents",
    "Distribution",
    "Compute and network",
    "Supply chain, identity and secrets",
    "Admission and envelope",
    "Platform and infrastructure",
)

_INTRODUCTION = """\
<!-- Generated from the rules' docstrings by `python scripts/rules_page.py`; do not edit. -->

# Rules

A finding is printed `file:line:col: message [id name]`. An error stops a request; a warning does
so under `--strict`; a note never does. `platform.yml` may change a rule's weight, and an
admission may ask for a waiver, except where a page says otherwise.
"""


class Page(Protocol):
    """Anything with an id, a name, a usual severity and a page: a rule, or a kind of finding."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def severity(self) -> Severity: ...

    @property
    def page(self) -> str: ...


def pages() -> tuple[Page, ...]:
    """Every page, by id."""
    every: list[Page] = [*KINDS, *RULES]
    return tuple(sorted(every, key=lambda page: page.id))


def named(name: str) -> Page | None:
    """The page of that id (any case) or name."""
    wanted = name.strip().lower()
    return next((page for page in pages() if wanted in {page.id.lower(), page.name}), None)


def explained(page: Page) -> str:
    """One page as text."""
    return f"{page.id} {page.name} ({page.severity})\n\n{page.page}\n"


def markdown(every: Sequence[Page]) -> str:
    """docs/rules.md: a table of all rules, then their pages by family."""
    table = ["| rule | name | weight |", "|---|---|---|"]
    table += [f"| [{it.id}](#{_anchor(it)}) | {it.name} | {it.severity} |" for it in every]
    parts = [_INTRODUCTION, "\n".join(table) + "\n"]
    for number, family in enumerate(_FAMILIES):
        parts.append(f"## {family}\n")
        parts += [
            f"### {page.id} {page.name}\n\n*{page.severity}*\n\n{page.page}\n"
            for page in every
            if page.id[2] == str(number)
        ]
    return "\n".join(parts)


def _anchor(page: Page) -> str:
    """GitHub's anchor of the heading."""
    return f"{page.id} {page.name}".lower().replace(" ", "-")
