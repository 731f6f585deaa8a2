"""The rules, in the order they are told. One file a family, one function a rule."""

from traingate.rules.rule import Rule

RULES: tuple[Rule, ...] = ()
