"""
A backend for hardware that is not there yet: a file says what it supports and how fast it is, NumPy
computes what it would, and the report says how long that would take.

    xrelay partition model.onnx --backend simulated:npu.toml

    flops = 2e12            # operations a second
    bandwidth = 3e10        # bytes a second between it and the host
    launch = 20e-6          # seconds before a region starts
    dtypes = ["float32"]    # optional: of operands and results

    [operators]
    "nn.conv2d" = {}
    "nn.relu" = {}
    "add" = { flops = 1e11 }            # of an operator, in place of the one above
    "nn.max_pool2d" = { bytes = 65536 } # the most that its operands and results may hold

    [composites]
    "conv_relu" = ["nn.conv2d", "nn.relu"]   # chains that run as one operator
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, cast

from xdsl.dialects import func
from xdsl.ir import Attribute, Operation

from xrelay.analysis.facts.names import short_name
from xrelay.analysis.facts.operation_count import operation_count
from xrelay.analysis.patterns.language import Pattern, is_op, one_of, wildcard
from xrelay.analysis.patterns.matching import Match
from xrelay.backends.base import BackendError, CompositePattern, No, Support
from xrelay.backends.numpy import NumpyBackend
from xrelay.backends.regions import region_bytes, region_operators, static_tensors
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.relay import Relay
from xrelay.runtime.reading import read_source
from xrelay.runtime.signature import DTYPES

_NUMBERS = ("flops", "bandwidth", "launch")


@dataclass(frozen=True)
class OperatorCost:
    """What the file says of an operator."""

    flops: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Costs:
    """What the file says of the hardware."""

    name: str | None
    """What it is called in reports, when several simulated ones share a model."""
    flops: float
    bandwidth: float
    launch: float
    dtypes: frozenset[str] | None
    operators: Mapping[str, OperatorCost]
    composites: Mapping[str, tuple[str, ...]]


class SimulatedBackend(NumpyBackend):
    """Hardware that a file describes."""

    name = "simulated"

    def __init__(self, argument: str = ""):
        super().__init__()
        if not argument:
            raise BackendError("backend 'simulated' needs a file of costs: simulated:FILE.toml")
        self.costs = read_costs(Path(argument))
        if self.costs.name is not None:
            self.name = self.costs.name

    def patterns(self) -> Sequence[CompositePattern]:
        return tuple(
            CompositePattern(f"{self.name}.{name}", chain(operators), self.fits)
            for name, operators in self.costs.composites.items()
        )

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        name = short_name(op)
        cost = self.costs.operators.get(name)
        if cost is None:
            return No("it is not among the operators in the file")
        reason = self.misfit((*types, *op.result_types), cost)
        return super().supports(op, types) if reason is None else No(reason)

    def misfit(self, types: Sequence[Attribute], cost: OperatorCost) -> str | None:
        """What keeps tensors of some types from the hardware."""
        tensors = static_tensors(types)
        if isinstance(tensors, No):
            return tensors.reason
        for tensor in tensors:
            if self.costs.dtypes is not None and tensor.dtype.name not in self.costs.dtypes:
                return f"{tensor.dtype} is not among the dtypes in the file"
        size = sum(tensor.byte_size for tensor in tensors)
        if cost.bytes is not None and size > cost.bytes:
            return f"its {size} bytes are more than the {cost.bytes} in the file"
        return None

    def fits(self, found: Match) -> bool:
        """Whether the hardware takes the operators of a chain."""
        return all(
            self.misfit(
                (*op.operand_types, *op.result_types),
                self.costs.operators.get(short_name(op), OperatorCost()),
            )
            is None
            for op in found.ops
            if not isinstance(op, ConstantOp)
        )

    def seconds(self, function: func.FuncOp) -> float:
        """How long a region would take: to start, to move its tensors and to compute."""
        total = self.costs.launch + region_bytes(function) / self.costs.bandwidth
        for op in region_operators(function):
            cost = self.costs.operators.get(short_name(op), OperatorCost())
            total += operation_count(op) / (cost.flops or self.costs.flops)
        return total


MOST_OPERANDS = 3
"""The most operands of an operator in a chain: `where` has as many."""


def chain(operators: Sequence[str]) -> Pattern:
    """Operators, each of which takes the result of the one before as its first operand."""
    first, *rest = operators
    pattern: Pattern = is_op(first).any_call()
    for name in rest:
        others = [wildcard() for _ in range(MOST_OPERANDS - 1)]
        counts = range(MOST_OPERANDS)
        pattern = one_of(*(is_op(name)(pattern, *others[:count]) for count in counts))
    return pattern


def read_costs(path: Path) -> Costs:
    """
    The costs in a file.

    Raises BackendError that names the file and the entry that is wrong.
    """
    try:
        data = tomllib.loads(read_source(path).decode())
    except OSError as error:
        raise BackendError(f"cannot read '{path}': {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BackendError(f"'{path}' is not TOML: {error}") from error
    known = {*_NUMBERS, "name", "dtypes", "operators", "composites"}
    for name in data:
        if name not in known:
            raise BackendError(
                f"'{path}': unknown entry '{name}', expected {', '.join(sorted(known))}"
            )
    flops, bandwidth = (_number(path, name, data.get(name)) for name in _NUMBERS[:2])
    launch = _number(path, "launch", data.get("launch"), least=0.0)
    title = data.get("name")
    if title is not None and not (isinstance(title, str) and title):
        raise BackendError(f"'{path}': 'name' is {title!r}, expected a name")
    operators: dict[str, OperatorCost] = {}
    for name, entry in _table(path, "operators", data.get("operators", {})).items():
        fields = _table(path, f"operators.{name}", entry)
        for key in fields:
            if key not in ("flops", "bytes"):
                raise BackendError(f"'{path}': unknown entry '{key}' of operator '{name}'")
        speed, size = fields.get("flops"), fields.get("bytes")
        operators[name] = OperatorCost(
            None if speed is None else _number(path, f"operators.{name}.flops", speed),
            None if size is None else int(_number(path, f"operators.{name}.bytes", size)),
        )
    composites: dict[str, tuple[str, ...]] = {}
    for name, entry in _table(path, "composites", data.get("composites", {})).items():
        composites[name] = _names(path, f"composites.{name}", entry)
    stated = data.get("dtypes")
    dtypes = None if stated is None else frozenset(_names(path, "dtypes", stated))
    known_operators = {op.name for op in Relay.operations}
    for name in (*operators, *(each for chain in composites.values() for each in chain)):
        if f"relay.{name}" not in known_operators:
            raise BackendError(f"'{path}': there is no operator '{name}'")
    for name in dtypes or ():
        if name not in DTYPES:
            raise BackendError(f"'{path}': there is no dtype '{name}'")
    return Costs(title, flops, bandwidth, launch, dtypes, operators, composites)


def _number(path: Path, name: str, found: object, least: float | None = None) -> float:
    """A finite number that is positive, or at least `least`."""
    if isinstance(found, int | float) and not isinstance(found, bool) and isfinite(found):
        number = float(found)
        if number > 0 if least is None else number >= least:
            return number
    wanted = "positive number" if least is None else f"number of at least {least:g}"
    raise BackendError(f"'{path}': '{name}' is {found!r}, expected a {wanted}")


def _table(path: Path, name: str, found: object) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise BackendError(f"'{path}': '{name}' is {found!r}, expected a table")
    return cast(Mapping[str, Any], found)


def _names(path: Path, name: str, found: object) -> tuple[str, ...]:
    entries = cast(list[object], found) if isinstance(found, list) else []
    names = tuple(each for each in entries if isinstance(each, str))
    if not names or len(names) != len(entries):
        raise BackendError(f"'{path}': '{name}' is {found!r}, expected a list of names")
    return names
