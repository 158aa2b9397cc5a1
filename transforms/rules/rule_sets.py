"""The option `rules` of passes that know more than the original."""

from xrelay.analysis.facts.suggestions import PassOptionError, unknown_choice

RULE_SETS = ("relay", "cpu")
"""Relay's rules, and those that suit programs that run on a CPU."""


def require_rules(rules: str) -> None:
    """Raises PassOptionError for others than RULE_SETS."""
    if rules not in RULE_SETS:
        raise PassOptionError(unknown_choice("rules", rules, RULE_SETS))
