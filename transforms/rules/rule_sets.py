"""The option `rules` of passes that know more than the original."""

from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.suggestions import unknown_choice

RULE_SETS = ("relay", "cpu")
"""Relay's rules, and those that suit programs that run on a CPU."""


def require_rules(rules: str) -> None:
    """Raises PassFailedException for others than RULE_SETS."""
    if rules not in RULE_SETS:
        raise PassFailedException(unknown_choice("rules", rules, RULE_SETS))
