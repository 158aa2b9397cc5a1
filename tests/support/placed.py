"""
Programs for tests of placement: graphs of text, and sets of nodes by the names of values; one with two engines, whose
costs are a table; and measurements that are made in the same process.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from texts import parsed
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.partition.compilers import No, Support, Yes
from xrelay.backends.base import Backend
from xrelay.placement.costs.cost import Cost, Estimator
from xrelay.placement.costs.database import Database
from xrelay.placement.costs.job import ByName
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.measured import Engine, MeasuredCosts
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import members
from xrelay.placement.graph.sub_graph import SubGraph
from xrelay.placement.placing import Placement, Request, place
from xrelay.placement.plan_file import EngineFacts
from xrelay.placement.rules.base import OpPredicate
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.placement.rules.combinators import Combine, OnlyValid, Primitive
from xrelay.placement.rules.defaults import ANYTHING, OWN_KERNELS
from xrelay.placement.rules.rule import Rule

T = "tensor<4x4xf32>"


def program(text: str, parameters: str = f"%x: {T}", results: str = "") -> ModuleOp:
    """
    A module with a function `main`. Lines `c = nn.relu a` stand for operators on tensors of 4x4; other
    lines are as they are.
    """
    lines = [_line(line.strip()) for line in text.strip().splitlines()]
    types = ", ".join(results.split()) or T
    return parsed(f"func.func @main({parameters}) -> ({types}) {{\n" + "\n".join(lines) + "\n}")


def _line(line: str) -> str:
    if line.startswith("return "):
        names = line.split()[1:]
        return f"func.return {', '.join(f'%{n}' for n in names)} : {', '.join(T for _ in names)}"
    if not line or line.startswith(("%", "func.")):
        return line
    result, _, call = line.partition(" = ")
    name, *operands = call.split()
    listed = ", ".join(f"%{operand}" for operand in operands)
    types = ", ".join(T for _ in operands)
    return f"%{result} = relay.{name} {listed} : ({types}) -> {T}"


def graph_of(module: ModuleOp) -> Graph:
    """The graph of `main`."""
    return Graph.of(entry_function(module))


def nodes(graph: Graph, names: str) -> int:
    """The nodes of some values, by name."""
    found = 0
    for name in names.split():
        (node,) = (n for n in graph.nodes if any(v.name_hint == name for v in n.values))
        found |= 1 << node.index
    return found


def part(graph: Graph, names: str) -> SubGraph:
    """The sub-graph of some values, by name."""
    return SubGraph(graph, nodes(graph, names))


def names(graph: Graph, indices: int) -> str:
    """The names of the values of some nodes, in alphabetical order."""
    values = [graph[i].values for i in members(indices)]
    return " ".join(sorted(str(each[0].name_hint) if each else "end" for each in values))


def all_names(parts: Iterable[SubGraph]) -> list[str]:
    """The names of the nodes of each of some sub-graphs, sorted."""
    return sorted(names(each.graph, each.inside) for each in parts)


NET = """
    a = nn.dense x x
    b = nn.relu a
    c = exp b
    d = tanh b
    e = add c d
    f = nn.dense e e
    return f
"""
MACHINE = Machine("some cpu", "features", 1, "0.1")
FACTS = {"fast": EngineFacts("1.0"), OWN: EngineFacts("0.1")}
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def takes(*operators: str) -> Rule:
    def supports(op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if op.name.removeprefix("relay.") in operators else No("it does not")

    return Primitive(OnlyValid(Combine(OpPredicate("fast", supports), (ANYTHING,), 8)))


RULES: dict[str, Rule] = {"fast": takes("nn.dense", "nn.relu"), OWN: OWN_KERNELS}
SECONDS: Mapping[str, Mapping[str, float]] = {
    "fast": {"nn.dense": 2.0, "nn.relu": 2.0},
    OWN: {"nn.dense": 5.0, "nn.relu": 1.0, "exp": 1.0, "tanh": 1.0, "add": 1.0},
}


class Sums(Estimator):
    """What operators cost in sum; less for what follows the first one of a region."""

    def __init__(self) -> None:
        self.asked = 0

    def estimate(self, candidate: Candidate) -> Cost:
        self.asked += 1
        table = SECONDS[candidate.engine]
        costs = [table[name] for name in candidate.part.label.split("+")]
        return Cost(costs[0] + 0.25 * sum(costs[1:]), "table")


def placed(request: Request | None = None, **options: Any) -> Placement:
    return place(graph_of(program(NET)), RULES, Sums(), request, **options)


CHAIN = "a = abs x\nb = nn.relu a\nc = abs b\nreturn c"


def candidate(names: str, engine: str = "numpy", text: str = CHAIN) -> Candidate:
    """A region of the nodes with some names."""
    return Candidate("test", part(graph_of(program(text)), names), engine)


class Inline(Executor):
    """Runs tasks at once."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.count += 1
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except PlacementError as error:
            future.set_exception(error)
        return future


def counts(database: Database) -> dict[str, int]:
    """How many measurements and failures there are in a database."""
    with closing(sqlite3.connect(database.path)) as connection:
        return {
            table: connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
            for table in ("measurements", "failures")
        }


def keys(database: Database) -> list[str]:
    """The keys of all records in a database, in order."""
    with closing(sqlite3.connect(database.path)) as connection:
        rows = connection.execute(
            "SELECT key FROM measurements UNION SELECT key FROM failures ORDER BY key"
        ).fetchall()
    return [key for (key,) in rows]


def broken() -> Backend:
    """An engine that cannot be made."""
    raise RuntimeError("no such device\nmore of it")


def measured(tmp_path: Path, executor: Executor, **options: Any) -> MeasuredCosts:
    """Costs on NumPy, and on an engine that is broken, in a database in a folder."""
    engines = {
        "numpy": Engine("numpy", "1", ByName("numpy")),
        "broken": Engine("broken", "1", broken),
    }
    database = Database(tmp_path / "costs.db")
    here = options.pop("machine", Machine.here(1))
    return MeasuredCosts(
        database, engines, here, executor=executor, sample_seconds=0.001, **options
    )
