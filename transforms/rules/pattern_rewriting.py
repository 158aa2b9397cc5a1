"""
Rewriting by tables of rules `(name, pattern, build)`.

    x = wildcard()
    RULES = [PatternRule("double", x + x, lambda found, emit: emit(MultiplyOp(found[x], two)))]
    rewrite_patterns(module, RULES)

Source: Relay's DFPatternCallback and `rewrite`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.patterns.language import Pattern
from xrelay.analysis.patterns.matching import Match, match
from xrelay.transforms.rules.rewriting import Emitter, apply_rule

MOST_ROUNDS = 100
"""Rounds after which rules that still change something are taken to go on for ever."""


@dataclass(frozen=True)
class PatternRule:
    """One line of a table."""

    name: str
    pattern: Pattern
    build: Callable[[Match, Emitter], SSAValue | None]
    """The value that takes the place of a match, of the same type, or None to keep it."""
    once: bool = False
    """Whether the rule is used in the first round only."""


@dataclass(frozen=True)
class RewriteMatches(RewritePattern):
    """Replaces the values that a pattern describes."""

    rule: PatternRule

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if len(op.results) != 1:
            return
        found = match(self.rule.pattern, op.results[0])
        if found is not None:
            apply_rule(lambda _, emit: self.rule.build(found, emit), op, rewriter)


def rewrite_patterns(op: ModuleOp, rules: Sequence[PatternRule]) -> None:
    """
    Uses the rules in their order, each from the outputs of the program to the inputs, and begins anew
    until nothing changes.

    Raises DiagnosticException when that takes more than MOST_ROUNDS rounds.
    """
    active = list(rules)
    for _ in range(MOST_ROUNDS):
        changed = [
            rule
            for rule in active
            if PatternWalker(
                Outside(keeps_body, RewriteMatches(rule)),
                apply_recursively=False,
                walk_reverse=True,
            ).rewrite_module(op)
        ]
        active = [rule for rule in active if not rule.once]
        if not any(rule in active for rule in changed):
            return
    names = ", ".join(rule.name for rule in active)
    raise DiagnosticException(f"rules still apply after {MOST_ROUNDS} rounds: {names}")
