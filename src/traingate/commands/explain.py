"""`traingate explain RULE`."""

from difflib import get_close_matches

import click

from traingate.errors import UsageProblem
from traingate.report import pages


@click.command("explain")
@click.argument("rule", metavar="RULE|NAME")
def command(rule: str) -> None:
    """Print a rule's page: what it does, why, an example, the fix and its source."""
    page = pages.named(rule)
    if page is None:
        near = get_close_matches(rule.lower(), [page.name for page in pages.pages()], n=1)
        raise UsageProblem(
            f"There is no rule `{rule}`.",
            todo=f"Did you mean `{near[0]}`?"
            if near
            else "docs/rules.md lists them by id and name.",
        )
    click.echo(pages.explained(page), nl=False)
