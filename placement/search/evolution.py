"""
Collage's refinement of a plan: a genetic algorithm whose fitness is the time of the whole network.

A gene is the engine of a group of the plan. There are 50 individuals, with the plan, its neighbours and those that
give everything to one engine among the first; two-point crossover at a probability of 0.5, mutation at 0.2, each gene
at 0.05, tournaments of five. What was measured once is not measured again.

Source: B. Jeon et al., "Collage" (2022), section 2.2.3, where genes are 0 and 1.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from random import Random
from typing import TypeAlias

Genes: TypeAlias = tuple[int, ...]
"""For each group, which of its engines runs it."""
Fitness: TypeAlias = Callable[[Genes], float]
"""The seconds of the whole network; infinite when it cannot run."""

POPULATION = 50
CROSSOVER = 0.5
MUTATION = 0.2
GENE_MUTATION = 0.05
TOURNAMENT = 5


@dataclass
class Evolution:
    """One run of the algorithm."""

    counts: Sequence[int]
    """How many engines each group may be on."""
    fitness: Fitness
    seed: int = 0
    known: dict[Genes, float] = field(default_factory=dict[Genes, float])

    def time_of(self, genes: Genes) -> float:
        """The seconds of an individual, measured once."""
        if genes not in self.known:
            self.known[genes] = self.fitness(genes)
        return self.known[genes]

    def first(self, start: Genes, random: Random) -> list[Genes]:
        """The first individuals."""
        found = [start]
        for engine in range(max(self.counts, default=0)):
            found.append(tuple(min(engine, count - 1) for count in self.counts))
        for place, count in enumerate(self.counts):
            for engine in range(count):
                found.append((*start[:place], engine, *start[place + 1 :]))
        found = list(dict.fromkeys(found))[:POPULATION]
        while len(found) < POPULATION:
            found.append(tuple(random.randrange(count) for count in self.counts))
        return found

    def run(self, start: Genes, generations: int, seconds: float = inf) -> tuple[Genes, float]:
        """The best individual that was met, and its seconds: `start` unless one is faster."""
        end = time.monotonic() + seconds
        self.time_of(start)
        for genes in self.individuals(start, generations):
            if time.monotonic() > end or len(self.known) == prod(self.counts):
                break
            self.time_of(genes)
        best = min(self.known, key=lambda genes: (self.known[genes], genes != start, genes))
        return best, self.known[best]

    def individuals(self, start: Genes, generations: int) -> Iterator[Genes]:
        """Those of all generations. Each is made when all that came before are measured."""
        random = Random(self.seed)
        population = self.first(start, random)
        for _ in range(generations):
            yield from population
            population = [self.child(population, random) for _ in range(POPULATION)]

    def child(self, population: Sequence[Genes], random: Random) -> Genes:
        """An individual of the next generation."""
        genes = list(self.winner(population, random))
        if random.random() < CROSSOVER and len(genes) > 1:
            other = self.winner(population, random)
            first, last = sorted(random.sample(range(len(genes) + 1), 2))
            genes[first:last] = other[first:last]
        if random.random() < MUTATION:
            for place, count in enumerate(self.counts):
                if random.random() < GENE_MUTATION:
                    genes[place] = random.randrange(count)
        return tuple(genes)

    def winner(self, population: Sequence[Genes], random: Random) -> Genes:
        """The best of a few."""
        drawn = [population[random.randrange(len(population))] for _ in range(TOURNAMENT)]
        return min(drawn, key=lambda genes: (self.known[genes], genes))
