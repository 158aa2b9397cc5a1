"""
Whether two modules compute the same in the same way: equal up to the names of values and the order
of operations without effects. Values that two users share are shared in both; constants are
compared by their contents.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffect, NoMemoryEffect, is_side_effect_free

from xrelay.analysis.facts.call_graph import symbols_used
from xrelay.dialects.core.adt import ConstructOp, ConstructorOp, TypeDefOp
from xrelay.dialects.core.functional import ApplyOp, GlobalVarOp, LetOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.interpreters.constants import constant_array

NAMED = (ConstantOp, ConstructorOp, GlobalVarOp)
"""Operations without operands that are the same wherever they stand."""


class Different(Exception):
    """Two modules are not the same; the message says where."""


def difference(one: ModuleOp, other: ModuleOp, *, types: bool = True) -> str | None:
    """What the first difference between two modules is. With `types` result types count."""
    try:
        _compare_modules(one, other, types)
    except Different as found:
        return str(found)
    return None


def renamed(module: ModuleOp, other: ModuleOp) -> ModuleOp:
    """
    A copy of a module in which those functions that the other one does not have are numbered, in the order in which
    the functions that both have use them.
    """
    module = module.clone()
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    common = [name for name in functions if name in _definitions(other)]
    order = dict.fromkeys(common)
    pending = common[::-1]
    while pending:
        used = [name for name in symbols_used(functions[pending.pop()]) if name in functions]
        pending.extend(name for name in reversed(used) if name not in order)
        order.update(dict.fromkeys(used))
    numbered = [name for name in order if name not in common]
    names = {name: f"function {number}" for number, name in enumerate(numbered)}
    for op in module.walk():
        for key, attribute in op.properties.items():
            if isinstance(attribute, SymbolRefAttr) and attribute.string_value() in names:
                op.properties[key] = SymbolRefAttr(names[attribute.string_value()])
    for name, new in names.items():
        functions[name].properties["sym_name"] = StringAttr(new)
    return module


def _compare_modules(one: ModuleOp, other: ModuleOp, types: bool) -> None:
    left, right = _definitions(one), _definitions(other)
    if list(left) != list(right) and set(left) != set(right):
        raise Different(f"the modules define {sorted(left)} and {sorted(right)}")
    for name, op in left.items():
        counterpart = right[name]
        if isinstance(op, func.FuncOp) and isinstance(counterpart, func.FuncOp):
            Comparison(f"@{name}", types).functions(op, counterpart)
        elif dict(op.properties) != dict(counterpart.properties):
            raise Different(f"type {name} is defined differently")


def _definitions(module: ModuleOp) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for op in module.body.block.ops:
        assert isinstance(op, func.FuncOp | TypeDefOp), op.name
        found[op.sym_name.data] = op
    return found


@dataclass
class Comparison:
    """The comparison of two functions."""

    where: str
    types: bool
    pairs: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """The values of the first that stand for values of the second."""
    taken: dict[SSAValue, SSAValue] = field(default_factory=dict)
    pending: list[tuple[SSAValue, SSAValue]] = field(default_factory=list)

    def functions(self, one: func.FuncOp, other: func.FuncOp) -> None:
        self._same("attributes", dict(one.attributes), dict(other.attributes))
        self._same("attributes of parameters", one.arg_attrs, other.arg_attrs)
        self._blocks(one.body.block, other.body.block)
        while self.pending:
            self._values(*self.pending.pop())

    def _same(self, what: str, left: object, right: object) -> None:
        if left != right:
            raise Different(f"{self.where}: {what}: {_short(left)} and {_short(right)}")

    def _pair(self, one: SSAValue, other: SSAValue) -> None:
        if self.types:
            self._same(f"type of %{one.name_hint}", one.type, other.type)
        self.pairs[one], self.taken[other] = other, one

    def _blocks(self, one: Block, other: Block) -> None:
        self._same("number of parameters", len(one.args), len(other.args))
        for pair in zip(one.args, other.args, strict=True):
            self._pair(*pair)
        left, right = _roots(one), _roots(other)
        self._same("order of effects", [op.name for op in left], [op.name for op in right])
        for pair in zip(left, right, strict=True):
            if pair[0].results and not pair[0].has_trait(IsTerminator):
                self.pending.append((pair[0].results[0], pair[1].results[0]))
            else:
                self._same("operands", len(pair[0].operands), len(pair[1].operands))
                self.pending.extend(zip(pair[0].operands, pair[1].operands, strict=True))

    def _values(self, one: SSAValue, other: SSAValue) -> None:
        left, right = one.owner, other.owner
        if (
            isinstance(left, NAMED)
            and isinstance(right, NAMED)
            or (isinstance(left, ConstructOp) and not left.fields)
        ):
            self._operations(left, right)
            return
        if one in self.pairs or other in self.taken:
            if self.pairs.get(one) is not other:
                raise Different(
                    f"{self.where}: a value is used by others: {_described(one)} and "
                    f"{_described(other)}"
                )
            return
        if not isinstance(left, Operation) or not isinstance(right, Operation):
            raise Different(f"{self.where}: {_described(one)} and {_described(other)}")
        for pair in zip(left.results, right.results, strict=False):
            self._pair(*pair)
        self._operations(left, right)

    def _operations(self, left: Operation, right: object) -> None:
        assert isinstance(right, Operation)
        self._same("operation", left.name, right.name)
        if isinstance(left, ConstantOp) and isinstance(right, ConstantOp):
            self._same("type of a constant", left.result.type, right.result.type)
            if not np.array_equal(_bytes(left), _bytes(right)):
                raise Different(
                    f"{self.where}: constants: {_short(left.value)} and {_short(right.value)}"
                )
            return
        self._same(f"properties of {left.name}", dict(left.properties), dict(right.properties))
        self._same(f"attributes of {left.name}", dict(left.attributes), dict(right.attributes))
        for name, a, b in (
            ("results", left.results, right.results),
            ("operands", left.operands, right.operands),
            ("regions", left.regions, right.regions),
        ):
            self._same(f"{name} of {left.name}", len(a), len(b))
        self.pending.extend(reversed(list(zip(left.operands, right.operands, strict=True))))
        for pair in zip(left.regions, right.regions, strict=True):
            self._blocks(pair[0].block, pair[1].block)


def _roots(block: Block) -> list[Operation]:
    """The operations whose order counts: bindings, effects, and the end."""
    return [
        op
        for op in block.ops
        if _counts(type(op))
        or not (op.regions or _never_counts(type(op)) or is_side_effect_free(op))
    ]


@cache
def _counts(kind: type[Operation]) -> bool:
    return issubclass(kind, LetOp) or kind.has_trait(IsTerminator)


@cache
def _never_counts(kind: type[Operation]) -> bool:
    effects = [trait for trait in kind.traits if isinstance(trait, MemoryEffect)]
    pure = bool(effects) and all(isinstance(effect, NoMemoryEffect) for effect in effects)
    return pure or issubclass(kind, func.CallOp | ApplyOp)


def _bytes(op: ConstantOp) -> np.ndarray:
    """The elements of a constant, of which a splat may keep one only, as bytes."""
    array = np.ascontiguousarray(constant_array(op))
    return array.reshape(-1).view(np.uint8)


def _described(value: SSAValue) -> str:
    owner = value.owner
    return owner.name if isinstance(owner, Operation) else f"parameter %{value.name_hint}"


def _short(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_short(v)}" for k, v in value.items()) + "}"
    text = str(value) if isinstance(value, Attribute | str | int) else repr(value)
    return text if len(text) < 300 else text[:300] + "…"
