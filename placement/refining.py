"""
Collage's second level: the groups of the best plan change engines, one network after the other is run whole, and the
fastest stays.

    best plan         [conv, relu] own | [dense] numpy | [exp] own
    groups            each with the candidates of exactly its nodes, and own code
    genes (0, 1, 0)   who runs each group: what `search.evolution` changes

Source: B. Jeon et al., "Collage" (2022), section 2.2.3; there it begins with the plan of the operator level.
"""

from __future__ import annotations

from dataclasses import dataclass

from xrelay.placement.placing import Placement, with_regions
from xrelay.placement.rules.candidate import HOST, OWN, Candidate
from xrelay.placement.search.evolution import Genes


@dataclass(frozen=True)
class Groups:
    """The groups of a placement's best plan, and who can run each."""

    placement: Placement
    choices: tuple[tuple[Candidate | None, ...], ...]
    """For each group own code, which is None, and the cheapest candidate of each engine for exactly its nodes."""
    start: Genes
    """The best plan."""

    @staticmethod
    def of(placement: Placement) -> Groups:
        """Those of the best plan."""
        costs = dict(zip(placement.candidates, placement.costs, strict=True))
        others: dict[int, dict[str, Candidate]] = {}
        least: dict[Candidate, float] = {}
        for each, cost in costs.items():
            if each.engine in (HOST, OWN) or cost.seconds is None or not cost.is_valid:
                continue
            if cost.is_guess:
                continue
            engines = others.setdefault(each.inside, {})
            known = engines.get(each.engine)
            if known is None or cost.seconds < least[known]:
                engines[each.engine], least[each] = each, cost.seconds
        choices: list[tuple[Candidate | None, ...]] = []
        start: list[int] = []
        for region in placement.regions():
            if region.engine == HOST:
                continue
            engines = others.get(region.inside, {})
            if region.engine != OWN:
                engines = {**engines, region.engine: region}
            found = (None, *engines.values())
            if len(found) > 1:
                choices.append(found)
                start.append(0 if region.engine == OWN else found.index(region))
        return Groups(placement, tuple(choices), tuple(start))

    @property
    def counts(self) -> list[int]:
        """How many can run each group."""
        return [len(each) for each in self.choices]

    def at(self, genes: Genes) -> Placement | None:
        """The placement with the groups on the engines of some genes; None when there is none, or none so small."""
        regions = [
            each
            for gene, choices in zip(genes, self.choices, strict=True)
            if (each := choices[gene]) is not None
        ]
        costs = [self.placement.cost_of(each) for each in regions]
        return with_regions(self.placement, regions, costs)
