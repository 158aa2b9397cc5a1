"""
A placement from start to end: candidates by the rules of all engines, their costs, the search.

Costs may be many and slow to measure. So the search begins with what is known, and models for the rest; what
the best plan takes is measured then, and the search repeated, until the best plan is measured. Regions of it that touch
are tried as one. The next best plans are of what has run by then.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xrelay.dialects.shapes import is_dynamic, leaf_types
from xrelay.interpreters.arrays import type_bytes
from xrelay.placement.costs.borders import AT_HOST, IMAGES, Borders, NoBorders, Place
from xrelay.placement.costs.cost import FREE, UNKNOWN, Cost, Estimator
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import index_set, members, union_of
from xrelay.placement.joining import joins
from xrelay.placement.methods import METHODS, WITH_LIMIT
from xrelay.placement.pins import keeping_pins, keeps_pins, pinned
from xrelay.placement.rules.base import Host
from xrelay.placement.rules.candidate import HOST, OWN, Candidate
from xrelay.placement.rules.largest import pruned
from xrelay.placement.rules.rule import Rule
from xrelay.placement.search.exact import exact
from xrelay.placement.search.integer_program import integer_program
from xrelay.placement.search.operator_level import operator_level
from xrelay.placement.search.problem import Choice, Outcome, Problem
from xrelay.placement.search.shortest_path import shortest_path
from xrelay.runtime.arguments import check_seconds, number_argument

MOST_ROUNDS = 50
"""How often the search is repeated after measurements, which ends before when the best plan is measured."""
LAST_SECONDS = 10.0
"""How long the last search may take, and each of those for one engine alone."""


@dataclass(frozen=True)
class Request:
    """What people ask of a placement."""

    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The engines of some operators."""
    memory_limit: int | None = None
    """The most bytes that all engines may keep."""
    seconds: float = 60.0
    """How long the search may take."""
    plans: int = 4
    """How many of the best plans are wanted."""
    method: str = "exact"
    is_pruned: bool = False
    """Whether the largest candidates only are looked at, which is quick and may lose the best plan."""

    def __post_init__(self) -> None:
        """Raises PlacementError for what makes no sense."""
        check_seconds("seconds", self.seconds, PlacementError, positive=True)
        if self.memory_limit is not None:
            number_argument("memory_limit", self.memory_limit, 0, None, PlacementError)
        number_argument("plans", self.plans, 1, None, PlacementError)
        if self.method not in METHODS:
            raise PlacementError(
                f"the method is '{self.method}', expected one of {', '.join(METHODS)}"
            )
        if self.memory_limit is not None and self.method not in WITH_LIMIT:
            raise PlacementError(
                f"the method '{self.method}' keeps no memory limit, expected one of {', '.join(WITH_LIMIT)}"
            )


@dataclass
class Placement:
    """A problem, what is known of its costs, and what the search found."""

    graph: Graph
    candidates: list[Candidate]
    costs: list[Cost]
    borders: Borders
    request: Request
    problem: Problem
    outcome: Outcome
    pins: Mapping[int, str] = field(default_factory=dict[int, str])
    """The engines of the nodes that are pinned."""

    def regions(self, number: int = 0) -> list[Candidate]:
        """The candidates of a plan, in the order of the graph."""
        plan = self.outcome.plans[number]
        order = self.problem.order(plan.chosen)
        assert order is not None
        found = (self.problem.choices[place].candidate for place in order)
        return [each for each in found if each is not None]

    def cost_of(self, candidate: Candidate) -> Cost:
        """What is known of the cost of a candidate."""
        return self._costs[candidate]

    @cached_property
    def _costs(self) -> dict[Candidate, Cost]:
        return dict(zip(self.candidates, self.costs, strict=True))


def all_candidates(graph: Graph, rules: Mapping[str, Rule]) -> list[Candidate]:
    """The candidates of all engines, and those of the host."""
    found = dict.fromkeys(Host().candidates(graph, HOST))
    for engine, rule in rules.items():
        found.update(dict.fromkeys(rule.candidates(graph, engine)))
    return list(found)


def given_nodes(graph: Graph) -> int:
    """The nodes that are there before anything runs: parameters of the function, and constants."""
    parameters = index_set(n.index for n in graph.nodes if n.is_parameter and not n.block)
    return parameters | graph.constants


def value_bytes(graph: Graph) -> list[int]:
    """
    The bytes of the value of each node.

    Raises PlacementError for unknown dimensions.
    """
    found: list[int] = []
    for node in graph.nodes:
        total = 0
        for value in node.values:
            if is_dynamic(value.type):
                raise PlacementError(
                    f"'{node.label}' has the type {value.type}, expected known dimensions: give the shapes of "
                    "the inputs"
                )
            total += sum(map(type_bytes, leaf_types(value.type)))
        found.append(total)
    return found


def problem_of(
    graph: Graph,
    candidates: Sequence[Candidate],
    costs: Sequence[Cost],
    borders: Borders,
    memory_limit: int | None = None,
) -> Problem:
    """What a search has to decide; candidates of unknown cost are left out."""
    sizes = value_bytes(graph)
    given = given_nodes(graph)
    choices: list[Choice] = []
    found_at: list[dict[Place, None]] = [{} for _ in graph.nodes]
    for index in members(given):
        found_at[index] = {AT_HOST: None}
    for each, cost in zip(candidates, costs, strict=True):
        if each.engine == HOST or cost.seconds is None:
            continue
        place = place_of(each)
        choices.append(
            Choice(each.inside, place, cost.seconds, memory_of(graph, each, sizes), each)
        )
        if cost.is_valid:
            for index in members(each.part.exits):
                found_at[index][place] = None
    # Tuples and their fields are where their parts are: no value moves for them.
    for each in sorted((c for c in candidates if c.engine == HOST), key=lambda c: c.inside):
        for index in members(each.inside & ~given):
            for part in members(graph.inputs[index]):
                found_at[index] |= found_at[part]
        (index,) = members(each.inside)
        places = found_at[index] if index < len(graph) - 1 else {}
        choices += [Choice(each.inside, place, 0.0, 0, each) for place in places or [AT_HOST]]
    return Problem(
        graph.inputs,
        choices,
        sizes,
        given=given,
        constants=graph.constants | graph.foldable,
        border=borders.seconds,
        memory_limit=memory_limit,
        names=[f"'{node.label}' (node {node.index})" for node in graph.nodes],
    )


def place_of(candidate: Candidate) -> Place:
    """Where the values of a candidate are: images of own code lie in blocks of channels."""
    if candidate.engine != OWN:
        return Place(candidate.engine)
    graph = candidate.part.graph
    values = (value for index in members(candidate.part.exits) for value in graph[index].values)
    is_image = any(len(leaf.get_shape()) == 4 for v in values for leaf in leaf_types(v.type))
    return Place(OWN, IMAGES) if is_image else Place(OWN)


def memory_of(graph: Graph, candidate: Candidate, sizes: Sequence[int]) -> int:
    """The bytes that a region keeps for good: its constants, and its results."""
    if candidate.engine == HOST:
        return 0
    part = candidate.part
    constants = part.inside & graph.constants | part.inputs & (graph.constants | graph.foldable)
    kept = constants | part.exits & ~graph.constants
    return sum(sizes[index] for index in members(kept))


def solve(problem: Problem, request: Request) -> Outcome:
    """
    The plans that the asked-for method finds.

    Raises PlacementError when there is none.
    """
    match request.method:
        case "integer-program":
            outcome = integer_program(problem, seconds=request.seconds)
        case "operator-level":
            outcome = operator_level(problem)
        case "shortest-path":
            outcome = shortest_path(problem)
        case _:
            outcome = exact(problem, plans=request.plans, seconds=request.seconds)
    if outcome.best is None:
        if problem.memory_limit is not None:
            raise PlacementError(
                f"no plan keeps to the memory limit of {problem.memory_limit} bytes, expected a higher one"
            )
        raise PlacementError(
            "no plan covers the model: the candidates of the rules do not fit together"
        )
    return outcome


def place(
    graph: Graph,
    rules: Mapping[str, Rule],
    estimator: Estimator,
    request: Request | None = None,
    *,
    borders: Borders | None = None,
    usual: Estimator | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Placement:
    """
    The best placement of a function. `rules` are those of the engines, by name; own code is `default`. `estimator`
    says what candidates cost; with `usual`, that one is asked first, and `estimator` only about what good plans take.

    Raises PlacementError for what a user can mend.
    """
    request = request or Request()
    borders = borders or NoBorders()
    progress("find candidates")
    candidates = all_candidates(graph, rules)
    if request.is_pruned:
        host = [each for each in candidates if each.engine == HOST]
        candidates = host + pruned([each for each in candidates if each.engine != HOST])
    pins = pinned(graph, request.pins, list(rules))
    candidates = keeping_pins(graph, candidates, pins)
    search = _Search(graph, borders, request, estimator, usual, progress, pins)
    if usual is not None:
        # Each engine alone is tried in the end, whatever is found.
        search.ask(wholes(graph, candidates))
    while True:
        asked = len(search.answers)
        found = search.run(candidates)
        if usual is not None:
            guesses = [*guessed_in(found), *guessed_alone(found, [e for e in rules if e != OWN])]
            search.ask([each for each in dict.fromkeys(guesses) if each not in search.answers])
        # Who knows all that was measured from the start may look at other candidates.
        if len(search.answers) == asked or search.is_over:
            return search.settled(found)


class _Search:
    """Rounds of searching, and of asking for the costs of what good plans take."""

    def __init__(
        self,
        graph: Graph,
        borders: Borders,
        request: Request,
        estimator: Estimator,
        usual: Estimator | None,
        progress: Callable[[str], None],
        pins: Mapping[int, str],
    ):
        self.graph, self.borders, self.request, self.pins = graph, borders, request, pins
        self.estimator, self.usual, self.progress = estimator, usual, progress
        self.answers: dict[Candidate, Cost] = {}
        """What was asked for because good plans take it."""
        self.end = time.monotonic() + request.seconds

    @property
    def is_over(self) -> bool:
        """Whether there is no time left."""
        return time.monotonic() > self.end

    def ask(self, candidates: Sequence[Candidate]) -> None:
        """Asks for the costs of candidates. That may take measurements, which have a budget of their own."""
        start = time.monotonic()
        estimates = self.estimator.estimates(candidates)
        self.answers.update(zip(candidates, estimates, strict=True))
        self.end += time.monotonic() - start

    def costs(self, candidates: Sequence[Candidate]) -> list[Cost]:
        """
        What is known of candidates. All of them are asked for each time, as models that are fitted to measurements know
        more than before.
        """
        first = self.estimator if self.usual is None else self.usual
        found: list[Cost] = []
        for each, cost in zip(candidates, first.estimates(candidates), strict=True):
            answer = self.answers.get(each, UNKNOWN)
            found.append(FREE if each.engine == HOST else answer if answer.is_known else cost)
        return found

    def run(self, candidates: Sequence[Candidate]) -> Placement:
        """Searches until the best plan is measured, also with regions of it that touch as one."""
        known = dict.fromkeys(candidates)
        rounds = 0
        while True:
            rounds += 1
            listed = list(known)
            self.progress(f"search among {len(listed)} candidates")
            found = self.solved(listed, self.costs(listed), self.request.seconds)
            guessed: list[Candidate] = []
            if self.usual is not None:
                guessed = [each for each in guessed_in(found) if each not in self.answers]
            larger = [each for each in joins(found.regions()) if each not in known]
            if not (guessed or larger) or rounds == MOST_ROUNDS or self.is_over:
                return found
            known.update(dict.fromkeys(larger))
            self.ask(guessed)

    def solved(self, candidates: list[Candidate], costs: list[Cost], seconds: float) -> Placement:
        """The best plan by some costs, as far as it is found within so many seconds."""
        limit = self.request.memory_limit
        problem = problem_of(self.graph, candidates, costs, self.borders, limit)
        outcome = solve(problem, replace(self.request, seconds=seconds, plans=1))
        return Placement(
            self.graph, candidates, costs, self.borders, self.request, problem, outcome, self.pins
        )

    def settled(self, found: Placement) -> Placement:
        """The best plans by what is known in the end, where time was over before all of that was asked."""
        costs = self.costs(found.candidates)
        if costs != found.costs:
            found = self.solved(found.candidates, costs, LAST_SECONDS)
        if self.request.method != "exact" or self.request.plans == 1:
            return found
        return with_next_best(found)


def with_next_best(placement: Placement) -> Placement:
    """
    A placement with the next best plans behind the best one: of what has run, if that one has, as what is guessed to be nearly as
    good may be much, and would have to be measured first.
    """
    request, outcome = placement.request, placement.outcome
    if was_run(placement, 0):
        others = solved_of_what_ran(placement)
    else:
        others = placement.problem, solve(placement.problem, replace(request, seconds=LAST_SECONDS))
    if others is None:
        return placement
    problem, found = others
    numbers = {(c.candidate, c.place): i for i, c in enumerate(placement.problem.choices)}
    plans = list(outcome.plans)
    for plan in found.plans:
        chosen = (problem.choices[place] for place in plan.chosen)
        same = [numbers.get((each.candidate, each.place)) for each in chosen]
        known = [each for each in same if each is not None]
        if len(known) == len(same) and tuple(sorted(known)) not in {each.chosen for each in plans}:
            plans.append(placement.problem.plan(known))
    # Where there was no time to look at all, one of them may be better than what was found first.
    plans.sort(key=lambda each: each.cost)
    return replace(placement, outcome=replace(outcome, plans=tuple(plans[: request.plans])))


def solved_of_what_ran(placement: Placement) -> tuple[Problem, Outcome] | None:
    """The best plans without guesses about other engines; None where there is none."""
    candidates, request = placement.candidates, placement.request
    costs = run_costs(candidates, placement.costs)
    try:
        problem = problem_of(
            placement.graph, candidates, costs, placement.borders, request.memory_limit
        )
        return problem, solve(problem, replace(request, seconds=LAST_SECONDS))
    except PlacementError:
        return None


def wholes(graph: Graph, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of other engines that have all of a function but its parameters and its end."""
    rest = graph.everything & ~given_nodes(graph) & ~(1 << (len(graph) - 1))
    return [c for c in candidates if c.engine not in (OWN, HOST) and not rest & ~c.inside]


def run_costs(candidates: Sequence[Candidate], costs: Sequence[Cost]) -> list[Cost]:
    """The costs of candidates without guesses about other engines: what no worker has run is unknown."""
    pairs = zip(candidates, costs, strict=True)
    return [UNKNOWN if cost.is_guess and each.engine != OWN else cost for each, cost in pairs]


def of_what_ran(placement: Placement) -> Placement:
    """A placement, or that of what workers have run where some of its best plan was never run, and there is one."""
    if was_run(placement, 0):
        return placement
    found = solved_of_what_ran(placement)
    if found is None:
        return placement
    problem, outcome = found
    # What was left out may be better, for all that is known.
    bound = min(placement.outcome.bound, outcome.bound)
    return replace(placement, problem=problem, outcome=replace(outcome, bound=bound))


def guessed_in(placement: Placement) -> list[Candidate]:
    """The candidates of the best plans whose costs are not measured."""
    numbers = range(len(placement.outcome.plans))
    regions = dict.fromkeys(each for number in numbers for each in placement.regions(number))
    return [each for each in regions if each.engine != HOST and placement.cost_of(each).is_guess]


def was_run(placement: Placement, number: int) -> bool:
    """Whether all regions of other engines in a plan have run before, as far as anybody knows."""
    regions = placement.regions(number)
    return not any(each.engine != OWN and placement.cost_of(each).is_guess for each in regions)


def guessed_alone(placement: Placement, engines: Sequence[str]) -> list[Candidate]:
    """The candidates with costs that are not measured of the placements that give all that they can to one engine."""
    costs = dict(zip(placement.candidates, placement.costs, strict=True))
    guessed = {each.engine for each, cost in costs.items() if cost.is_guess}
    found: list[Candidate] = []
    for engine in engines:
        if engine not in guessed:
            continue
        alone = restricted(placement, engine, guesses=True)
        regions = [] if alone is None else alone.regions()
        found += [each for each in regions if each.engine == engine and costs[each].is_guess]
    return found


def restricted(placement: Placement, engine: str, *, guesses: bool = False) -> Placement | None:
    """
    The cheapest placement that gives all that it can to one engine, and the rest to own code; None when there is
    none. What was never run on another engine takes part with `guesses` only: nobody knows what that does to a process.
    """
    usable = [
        (each, cost)
        for each, cost in zip(placement.candidates, placement.costs, strict=True)
        if each.engine == engine and cost.is_known and cost.is_valid
        if guesses or engine == OWN or not cost.is_guess
    ]
    return with_regions(placement, [each for each, _ in usable], [cost for _, cost in usable])


def with_regions(
    placement: Placement, regions: Sequence[Candidate], costs: Sequence[Cost]
) -> Placement | None:
    """
    The cheapest placement of some regions, of which others may be left out when these overlap, and own code for what
    none of them has; None when there is none that keeps to the pins and the memory limit.
    """
    if not all(keeps_pins(each, placement.pins) for each in regions):
        return None
    taken = union_of(each.part.flow for each in regions)
    others = [
        (each, cost)
        for each, cost in zip(placement.candidates, placement.costs, strict=True)
        if each.engine == HOST or (each.engine == OWN and not each.inside & taken)
    ]
    candidates = [*regions, *(each for each, _ in others)]
    known = [*costs, *(cost for _, cost in others)]
    try:
        limit = placement.request.memory_limit
        problem = problem_of(placement.graph, candidates, known, placement.borders, limit)
    except PlacementError:
        return None
    outcome = exact(problem, seconds=LAST_SECONDS)
    if outcome.best is None:
        return None
    return replace(placement, candidates=candidates, costs=known, problem=problem, outcome=outcome)
