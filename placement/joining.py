"""
Regions of a plan that touch and are on one engine, as candidates for one region.

They are candidates like others: whether they are worth it, and whether all regions can run then, the next search says.
Of a→c, a→d, b→c, b→d with a and d on one engine, b and c on another, both pairs are candidates, and no plan has both.
"""

from collections.abc import Sequence

from xrelay.placement.graph.sub_graph import ANY_RESULTS, are_touching
from xrelay.placement.rules.candidate import HOST, OWN, Candidate, united


def joins(regions: Sequence[Candidate]) -> list[Candidate]:
    """The unions of two regions each, which may become functions."""
    ours = [each for each in regions if each.engine not in (HOST, OWN)]
    found: dict[Candidate, None] = {}
    for up in ours:
        for down in ours:
            if up.engine == down.engine and are_touching(up.part, down.part):
                made = united(f"{up.rule}+{down.rule}", (up, down))
                if made.part.problem(ANY_RESULTS) is None:
                    found[made] = None
    return list(found)
