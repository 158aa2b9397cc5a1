"""
Programs of which one thing decides whether a pass changes them, and what has to hold of each.

    SIMPLIFY = GuardTable("simplify-expr")
    SIMPLIFY.changes("a power of two", lambda g: g.show(DivideOp(g.x(2, 3), g.c(8.0))))
    SIMPLIFY.keeps("no power of two", lambda g: g.show(DivideOp(g.x(2, 3), g.c(3.0))))

What a pass makes of a program is stated as operations of which there are fewer ("-divide"), more ("+multiply") or as many
("~add"), or in another place (`Guard.expects`), for a table or a program. Either way the program means what
it meant before, and the pass changes nothing the second time. Where a program has several functions, `program` makes it.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
from graphs import Graph, difference
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline
from xdsl.traits import SymbolTable

from xrelay.compiler import context
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.arrays import BFLOAT16, Array, dtype_of
from xrelay.interpreters.numerics import is_float
from xrelay.interpreters.relay import interpret
from xrelay.tools.semantics import leaves
from xrelay.tools.universe import XRELAY_UNIVERSE

KINDS = ("numbers", "whole", "special")
"""What inputs consist of."""
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.5, 2.5)


class GuardGraph(Graph):
    """A graph with short names for what cases consist of."""

    def x(self, *shape: int, dtype: Any = "float32") -> SSAValue:
        """A parameter."""
        return self.input(np.zeros(shape, dtype))

    def c(self, value: Any, dtype: Any = "float32") -> SSAValue:
        """A constant with these elements."""
        return self.constant(np.asarray(value, dtype))

    def w(self, *shape: int, dtype: Any = "float32") -> SSAValue:
        """A constant of random elements: whole numbers from -3 to 3, of fractions in floating point."""
        whole = self.small(dtype, *shape)
        return self.constant(whole / whole.dtype.type(4) if is_float(whole.dtype) else whole)

    def positive(self, *shape: int, dtype: Any = "float32") -> SSAValue:
        """A constant of random elements from 0.5 to 2."""
        return self.constant(self.rng.uniform(0.5, 2, shape).astype(dtype))


Build = Callable[[GuardGraph], Any]
"""Fills a graph, or gives a module of its own."""


def program(*functions: str) -> Build:
    """The program of these functions, in MLIR."""
    return lambda _: Parser(context(), "\n".join(functions)).parse_module()


def function(
    name: str, *lines: str, type_: str = "tensor<2xf32>", flags: str = "", result: str | None = None
) -> str:
    """
    A function of %x, where one type stands for all values: "%a = add %x, %x", "%b = @callee %a", "return %b". What
    states its types stays as it is.
    """
    header = f"func.func @{name}(%x: {type_}) -> {result or type_} attributes {{{flags}}} {{"
    return "\n".join((header, *(_whole(line, type_, result or type_) for line in lines), "}"))


def _whole(line: str, type_: str, result: str) -> str:
    if ":" in line or line == "}":
        return line
    if line.startswith("return "):
        return f"func.{line} : {result}"
    target, _, call = line.partition(" = ")
    word, _, rest = call.partition(" ")
    operands = ", ".join([type_] * rest.count("%"))
    called = f"func.call {word}({rest})" if word.startswith("@") else f"relay.{call}"
    return f"{target} = {called} : ({operands}) -> {type_}"


@dataclass(frozen=True)
class Guard:
    """A program and what a pass does with it."""

    spec: str
    """The pass with its options, as on a command line."""
    name: str
    changes: bool | None
    """Whether the pass has to rewrite it; None where either is right."""
    build: Build
    units: float
    """How many units of the last place results may be off: rewrites round differently."""
    special: bool
    """Whether NaN, infinities and zeros of both signs are tried."""
    expects: str
    """
    Operations of which a program that changes has fewer, more or as many afterwards, or returns more:
    "-nn.matmul|-nn.dense +reshape ~add =add <multiply" says fewer of one of the first two, more of the next, as many of
    the next, that main returns the results of more of them, and fewer of the last that need parameters of main;
    "!apply" says that there are none.
    """
    before: str = ""
    """Passes that make the program of what `build` gives; it means that."""
    after: str = ""
    """Passes after which it can be run again."""
    settles: bool = True
    """Whether a second run changes nothing."""

    def __str__(self) -> str:
        return f"{self.spec}: {self.name}"


@dataclass
class GuardTable:
    """The guards of one pass."""

    spec: str
    units: float = 16
    special: bool = True
    expects: str = ""
    before: str = ""
    after: str = ""
    settles: bool = True
    guards: list[Guard] = field(default_factory=list[Guard])

    def add(self, changes: bool | None, name: str, build: Build, **options: Any) -> None:
        values = {"spec": self.spec, "units": self.units, "special": self.special}
        values |= {"expects": self.expects, "before": self.before, "after": self.after}
        values |= {"settles": self.settles, **options}
        self.guards.append(Guard(name=name, changes=changes, build=build, **values))

    def changes(self, name: str, build: Build, **options: Any) -> None:
        """A program that the pass rewrites."""
        self.add(True, name, build, **options)

    def keeps(self, name: str, build: Build, **options: Any) -> None:
        """A program that the pass leaves as it is."""
        self.add(False, name, build, **options)

    def either(self, name: str, build: Build, **options: Any) -> None:
        """A program that only has to keep its meaning."""
        self.add(None, name, build, **options)


@cache
def passes_of(spec: str) -> tuple[ModulePass, ...]:
    """The passes that a command line names."""
    return PassPipeline.parse_spec(dict(XRELAY_UNIVERSE.all_passes), spec).passes


def values_of(type_: Attribute, kind: str, rng: np.random.Generator) -> Any:
    """Inputs of a type: "numbers", "whole" numbers and extremes, or "special" numbers among them."""
    if isinstance(type_, TupleType):
        return tuple(values_of(each, kind, rng) for each in type_.types)
    assert is_tensor_type(type_)
    dtype, shape = (
        dtype_of(type_.element_type),
        [max(n, 3) if n < 0 else n for n in type_.get_shape()],
    )
    if dtype == np.bool_:
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if not is_float(dtype):
        info = np.iinfo(dtype)
        small = np.asarray(rng.integers(0 if info.min == 0 else -9, 10, shape))
        if kind == "numbers":
            return small.astype(dtype)
        extremes = rng.choice(np.array([0, 1, 2, info.min, info.max, info.max // 2], dtype), shape)
        return np.asarray(np.where(rng.random(shape) < 0.5, small.astype(dtype), extremes), dtype)
    numbers = np.asarray(2 * rng.standard_normal(shape))
    if kind == "whole":
        numbers = np.round(numbers)
    if kind == "special":
        chosen = rng.choice(SPECIAL, shape)
        numbers = np.where(rng.random(shape) < 0.5, numbers, chosen)
    with np.errstate(all="ignore"):
        return np.asarray(numbers).astype(dtype)


def results_of(module: ModuleOp, inputs: Sequence[Any]) -> list[Array]:
    """What the main function gives, tuples flattened."""
    with np.errstate(all="ignore"):
        return [array for value in interpret(module, inputs) for array in leaves(value)]


def problem_of(guard: Guard) -> str | None:
    """What does not hold of a program, None when all does."""
    graph = GuardGraph(crc32(guard.name.encode()))
    built = guard.build(graph)
    module = built if isinstance(built, ModuleOp) else graph.module()
    stated = module.clone()
    _run(guard.before, module)
    before = module.clone()
    (step,) = passes_of(guard.spec)
    step.apply(Context(), module)
    module.verify()
    changes = not module.is_structurally_equivalent(before)
    if guard.changes not in (None, changes):
        return f"{'changes' if changes else 'stays'}\n{module}"
    if not changes:
        return None
    missing = missing_changes(guard.expects, before, module)
    if guard.changes and missing:
        return f"not {missing}\n{before}\n{module}"
    runs = module.clone()
    _run(guard.after, runs)
    tolerances = [output.tolerance or guard.units for output in graph.outputs]
    wrong = _wrong_result(guard, stated, runs, tolerances)
    if wrong is not None:
        return f"{wrong}\n{before}\n{module}"
    once = module.clone()
    step.apply(Context(), module)
    same = not guard.settles or module.is_structurally_equivalent(once)
    return None if same else f"changes again\n{once}\n{module}"


def _run(spec: str, module: ModuleOp) -> None:
    for step in passes_of(spec) if spec else ():
        step.apply(Context(), module)
        module.verify()


def _wrong_result(
    guard: Guard, stated: ModuleOp, module: ModuleOp, tolerances: Sequence[float]
) -> str | None:
    """Which of the results that a program states is another one in what a pass makes of it, which may have more."""
    for kind in KINDS if guard.special else KINDS[:-1]:
        rng = np.random.default_rng(len(kind))
        types = main_function(stated).body.block.arg_types
        inputs = [values_of(type_, kind, rng) for type_ in types]
        expected, found = results_of(stated, inputs), results_of(module, inputs)
        if len(found) != len(expected) and guard.settles:
            return f"{len(found)} results, expected {len(expected)}"
        for number, pair in enumerate(zip(found, expected, strict=False)):
            units = tolerances[number] if tolerances else guard.units
            wrong = difference(_wide(pair[0]), _wide(pair[1]), units)
            if wrong is not None:
                return f"result {number} on {kind}: {wrong}"
    return None


def main_function(module: ModuleOp) -> func.FuncOp:
    """The function that is interpreted."""
    function = SymbolTable.lookup_symbol(module, "main")
    assert isinstance(function, func.FuncOp)
    return function


def short_name(owner: object) -> str:
    """The name of an operation, of Relay's without the dialect; empty for a block."""
    return owner.name.removeprefix("relay.") if isinstance(owner, Operation) else ""


def counted(module: ModuleOp) -> Counter[str]:
    """How many operations of each name a module has."""
    return Counter(map(short_name, module.walk()))


def returned(module: ModuleOp) -> Counter[str]:
    """How many results of the main function operations of each name give."""
    end = main_function(module).get_return_op()
    assert end is not None
    return Counter(short_name(value.owner) for value in end.operands)


def asked(module: ModuleOp) -> Counter[str]:
    """The same of those operations of the main function that need one of its parameters."""
    block = main_function(module).body.block
    values = set[SSAValue](block.args)
    found: list[Operation] = []
    for op in block.ops:
        if not values.isdisjoint(op.operands):
            values.update(op.results)
            found.append(op)
    return Counter(map(short_name, found))


def missing_changes(expects: str, before: ModuleOp, after: ModuleOp) -> list[str]:
    """What is expected of the numbers of operations (`Guard.expects`), and is not so."""
    old, new = counted(before), counted(after)
    seen = {f"-{name}" for name in old - new} | {f"+{name}" for name in new - old}
    seen |= {f"~{name}" for name in old if old[name] == new[name]}
    seen |= {f"<{name}" for name in asked(before) - asked(after)}
    seen |= {f"={name}" for name in returned(after) - returned(before)}
    seen |= {f"!{name}" for name in re.findall(r"!([\w.]+)", expects) if not new[name]}
    return [choice for choice in expects.split() if not seen & set(choice.split("|"))]


def _wide(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype == BFLOAT16 else array
