"""
`xrelay-opt --verify-semantics`: whether passes keep the results of a program.

The interpreter computes every function on the same inputs before and after each pass. What is
compared are the results of a pass with those of the one before it, so that roundings do not add up.

Inputs: random numbers of several magnitudes, zeros of both signs, equal values (ties), small whole
numbers, and the extremes of integers, but where something is repeated: one of them may count the rounds.
Infinities and NaN are not tried: a pass may move a factor over a sum, and then they come out elsewhere.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, TupleType
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.scopes import UNFUSED_FUNCTIONS, has_flag
from xrelay.analysis.facts.walking import walk
from xrelay.deep import with_room
from xrelay.dialects.core.functional import ClosureOp
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.numerics import is_float
from xrelay.interpreters.relay import interpret
from xrelay.runtime.arguments import kind_of
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed
from xrelay.tools.verify import largest_difference, tolerance
from xrelay.transforms.rules.copying import copied

Array = npt.NDArray[Any]
Results = tuple[Any, ...]

KINDS: Mapping[str, Callable[[np.random.Generator, Sequence[int]], Array]] = {
    "random numbers": lambda rng, shape: rng.standard_normal(shape),
    "positive numbers": lambda rng, shape: rng.uniform(0.01, 4, shape),
    "large numbers": lambda rng, shape: 1e3 * rng.standard_normal(shape),
    "tiny numbers": lambda rng, shape: 1e-4 * rng.standard_normal(shape),
    "small whole numbers": lambda rng, shape: np.asarray(rng.integers(-3, 4, shape), float),
    "zeros of both signs": lambda rng, shape: rng.choice([0.0, -0.0], shape),
    "equal numbers": lambda rng, shape: np.full(shape, -1.5),
    "positive numbers of different magnitudes": lambda rng, shape: (
        rng.uniform(0.1, 1, shape) * 10.0 ** rng.integers(-3, 2)
    ),
}
"""What floating-point inputs are filled with."""


def repeating_functions(module: ModuleOp) -> set[str]:
    """The functions of a program that have a loop or call themselves, and those that need such a one."""
    graph = CallGraph.of_module(module)
    found = {name for circle in graph.circles() for name in circle}
    for name in graph.callees_first():
        used = graph.uses[name]
        if name in used or not found.isdisjoint(used) or _has_loop(graph.functions[name]):
            found.add(name)
    return found


def _has_loop(function: func.FuncOp) -> bool:
    return any(
        isinstance(op, (scf.ForOp, scf.WhileOp))
        or (isinstance(op, ClosureOp) and op.recursive is not None)
        for op in walk(function)
    )


def input_of(type_: Attribute, kind: str, rng: np.random.Generator, *, counts: bool = False) -> Any:
    """
    An array for a tensor, a tuple of them for a tuple. Where integers may count rounds (`counts`) they are from 0 to 3.

    Raises InterpretationError for what can have no array: other types, unknown dimensions.
    """
    if isinstance(type_, TupleType):
        return tuple(input_of(field, kind, rng, counts=counts) for field in type_.types)
    if not isa(type_, TensorType[Attribute]) or not type_.has_static_shape():
        raise InterpretationError(f"{type_} is no tensor of known shape")
    dtype, shape = dtype_of(type_.element_type), type_.get_shape()
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if kind == "large numbers" and not counts:
            return rng.choice(np.array([info.min, 0, 1, info.max], dtype), shape)
        low = 0 if dtype.kind == "u" else -3
        if counts or kind in ("random numbers", "positive numbers"):
            low = 0  # Indices are among them, and what is counted down to 0.
        return np.asarray(rng.integers(low, 4, shape)).astype(dtype)
    return np.asarray(KINDS[kind](rng, shape)).astype(dtype)


@dataclass(frozen=True, eq=False)
class Case:
    """A function with inputs."""

    function: str
    kind: str
    inputs: tuple[Any, ...]


def leaves(value: Any) -> Iterator[Array]:
    """
    The arrays in a result, from the left.

    Raises InterpretationError for values that are not arrays: references, functions, data types.
    """
    if isinstance(value, tuple):
        for each in value:  # pyright: ignore[reportUnknownVariableType] a tuple of anything
            yield from leaves(each)
        return
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise InterpretationError(f"{kind_of(value)} is no array that can be compared")
    yield array


class _Values(Interpreter.Listener):
    """Records what operations compute, in the order in which they run."""

    def __init__(self) -> None:
        self.computed: list[tuple[Operation, list[Array]]] = []

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        arrays: list[Array] = []
        for value in results:
            with suppress(InterpretationError):  # Only arrays are compared.
                arrays.extend(leaves(value))
        self.computed.append((op, arrays))


def is_same(found: Array, expected: Array) -> bool:
    """Whether two arrays are the same value, up to roundings."""
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return False
    return largest_difference(found, expected) <= tolerance(expected.dtype)


SAMPLED = 64
"""Elements by which arrays are told apart before all of them are compared."""
MOST_COMPARED = 16
"""After this many arrays with equal samples, one is compared as a whole."""


class KnownValues:
    """Arrays of one shape and dtype, among which a value is looked for."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.samples: list[Array] = []
        self.table: Array | None = None
        """The samples, a row each; None while arrays are added."""

    def add(self, array: Array) -> None:
        """Adds an array."""
        self.arrays.append(array)
        self.samples.append(sample(array))
        self.table = None

    def has(self, array: Array) -> bool:
        """Whether one of the arrays is the same value."""
        if self.table is None:
            self.table = np.stack(self.samples)
        mine = sample(array)
        # Wider than `is_same`, which measures by the largest value of the other array.
        largest = np.abs(array[np.isfinite(array)].astype(np.float64)).max(initial=0.0)
        bound = 2 * tolerance(array.dtype) * largest
        with np.errstate(invalid="ignore"):
            near = (self.table == mine) | (np.abs(self.table - mine) <= bound)
        alike = (near | (np.isnan(self.table) & np.isnan(mine))).all(axis=1)
        candidates: list[int] = np.flatnonzero(alike)[:MOST_COMPARED].tolist()
        return any(is_same(array, self.arrays[number]) for number in candidates)


def sample(array: Array) -> Array:
    """Elements at even distances, in float64."""
    places = np.linspace(0, array.size - 1, min(array.size, SAMPLED)).astype(int)
    return array.reshape(-1)[places].astype(np.float64)


class ChangedResult(CommandFailed):
    """A pass changes what a program computes."""

    def __init__(self, message: str, function: str, operand: int):
        """`operand` is the operand of the function's return that changes."""
        super().__init__(message, FAILED)
        self.function = function
        self.operand = operand


class SemanticsCheck:
    """What a program computes, and what it computed before the last pass."""

    def __init__(self, module: ModuleOp):
        self.module = copied(module)
        self.types: dict[str, FunctionType] = {}
        """Of the functions that are checked and that the program still has."""
        self.results: dict[Case, Results] = {}
        self.finite: dict[tuple[str, int], bool] = {}
        """Of each result of a function that passes changed, whether some case has a finite element."""
        self.passes = 0
        self.ended = ""
        self.skipped: list[str] = []
        self.repeating = repeating_functions(module)
        for op in module.ops:
            if not isinstance(op, func.FuncOp) or op.is_declaration:
                continue
            if not has_flag(op, UNFUSED_FUNCTIONS):
                self.add(op)
        if not self.results:
            reason = "; ".join(self.skipped) or "it has no function"
            raise CommandFailed(f"--verify-semantics cannot run the program: {reason}", BAD_INPUT)

    def add(self, function: func.FuncOp) -> None:
        """Runs a function of the program as it is before the first pass."""
        name = function.sym_name.data
        try:
            for number, kind in enumerate(KINDS):
                rng = np.random.default_rng([number, *name.encode()])
                counts = name in self.repeating
                types = function.function_type.inputs
                inputs = tuple(input_of(t, kind, rng, counts=counts) for t in types)
                case = Case(name, kind, inputs)
                self.results[case] = run(self.module, case)
                list(leaves(self.results[case]))
            self.types[name] = function.function_type
        except InterpretationError as error:
            self.results = {c: r for c, r in self.results.items() if c.function != name}
            self.skipped.append(f"@{name}: {error}")

    def after(self, name: str, module: ModuleOp) -> None:
        """
        Runs the program as a pass left it.

        Raises ChangedResult when a result is another one, CommandFailed when a function that can be
        called from outside is gone; private ones may be removed.
        """
        if self.ended:
            return
        if self.module.is_structurally_equivalent(module):
            self.passes += 1
            return
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        gone = [function for function in self.types if function not in functions]
        for function in gone:
            if not is_private(self.module, function):
                raise CommandFailed(
                    f"pass '{name}' removes @{function}, which is not private", FAILED
                )
        for function, type_ in self.types.items():
            if function in functions and functions[function].function_type != type_:
                self.ended = f"'{name}' changes the parameters or results of @{function}"
                return
        results: dict[Case, Results] = {}
        for case, expected in self.results.items():
            if case.function not in functions:
                continue
            try:
                results[case] = run(module, case)
            except InterpretationError as error:
                self.ended = f"after '{name}' the program cannot be interpreted: {error}"
                return
            self.compare(name, module, case, expected, results[case])
        for function in gone:
            del self.types[function]
        self.results = results
        self.module = copied(module)
        self.passes += 1

    def compare(
        self, name: str, module: ModuleOp, case: Case, expected: Results, found: Results
    ) -> None:
        """Raises ChangedResult when two results differ."""
        origin = [i for i, value in enumerate(found) for _ in leaves(value)]
        pairs = zip(leaves(found), leaves(expected), strict=True)
        for number, (array, wanted) in enumerate(pairs):
            result = (case.function, number)
            is_finite = not array.size or bool(np.isfinite(wanted.astype(np.float64)).any())
            self.finite[result] = self.finite.get(result, False) or is_finite
            if is_same(array, wanted):
                continue
            difference = largest_difference(array, wanted)
            unit = "of the largest value" if is_float(array.dtype) else "elements"
            departs = self.departure(module, case)
            where = f"; the values depart at {departs}" if departs else ""
            raise ChangedResult(
                f"pass '{name}' changes result {number} of @{case.function} on {case.kind}: "
                f"the largest difference is {difference:.3g} {unit}{where}",
                case.function,
                origin[number],
            )

    def departure(self, module: ModuleOp, case: Case) -> str:
        """
        The first operation that computes, from values that the program had before, one that it did
        not have; in most cases that is where the pass is wrong.
        """
        before, after = _Values(), _Values()
        run(self.module, case, before)
        run(module, case, after)
        known: dict[object, KnownValues] = {}
        for array in (array for _, arrays in before.computed for array in arrays):
            known.setdefault((array.shape, array.dtype), KnownValues()).add(array)
        for op, arrays in after.computed:
            for array in arrays:
                same = known.get((array.shape, array.dtype))
                if same is None or not same.has(array):
                    hint = op.results[0].name_hint
                    return f"{op.name} (%{hint})" if hint else op.name
        return ""

    def summary(self) -> str:
        """What was compared, and what was not."""
        functions = ", ".join(f"@{name}" for name in self.types)
        lines = [f"the results of {functions} stay the same in {self.passes} passes"]
        if self.ended:
            lines.append(f"later passes are not checked: {self.ended}")
        lines.extend(f"not checked: {reason}" for reason in self.skipped)
        lines.extend(
            f"not checked: result {number} of @{name} is NaN or infinite on all inputs"
            for (name, number), is_finite in self.finite.items()
            if not is_finite
        )
        return "\n".join(lines)


def is_private(module: ModuleOp, name: str) -> bool:
    """Whether a function can be called from inside of the module only."""
    function = SymbolTable.lookup_symbol(module, name)
    assert isinstance(function, func.FuncOp)
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def run(module: ModuleOp, case: Case, *listeners: Interpreter.Listener) -> Results:
    """The results of a function."""
    with np.errstate(all="ignore"):
        return with_room(lambda: interpret(module, case.inputs, case.function, listeners))
