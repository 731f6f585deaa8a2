"""The rules, in the order they are told. One file a family, one function a rule."""

from traingate.rules.order import REQUEST_RULES
from traingate.rules.platform import CONTEXT_RULES
from traingate.rules.rule import AnyRule, ContextRule, Rule
from traingate.rules.verdict import judge, judge_context
from traingate.rules.waivers import WAIVER_RULES

__all__ = [
    "CONTEXT_RULES",
    "RULES",
    "AnyRule",
    "ContextRule",
    "Rule",
    "judge",
    "judge_context",
    "rule_named",
]

#: Every rule: what `explain` and the rules page show.
RULES: tuple[AnyRule, ...] = (*REQUEST_RULES, *WAIVER_RULES, *CONTEXT_RULES)


def rule_named(name: str) -> AnyRule | None:
    """The rule of that id (any case) or name."""
    wanted = name.lower()
    return next((one for one in RULES if wanted in {one.id.lower(), one.name}), None)
