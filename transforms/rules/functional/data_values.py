"""Values of data types as tensors: made of their fields, and looked into."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.slicing import SLICE_BY_SIZE
from xrelay.dialects.tensor.binary import AddOp, GreaterOp, LessEqualOp, LogicalAndOp, LogicalOrOp
from xrelay.dialects.tensor.creation import OnesLikeOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.dialects.tensor.sort import ArgwhereOp, CumsumOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.rules.functional.data_layouts import (
    Child,
    Constructor,
    Layout,
    Pack,
    Place,
    Slot,
)
from xrelay.transforms.rules.placeholders import zeros
from xrelay.transforms.rules.rewriting import Emitter


def constructed(
    layout: Layout, constructor: Constructor, fields: Sequence[SSAValue], emit: Emitter
) -> SSAValue:
    """The tensors of a value that a constructor makes of some fields, as a tuple."""
    slots: dict[int, SSAValue] = {}
    children: dict[int, SSAValue] = {}
    pending: list[tuple[Place, SSAValue]] = list(zip(constructor.places, fields, strict=True))
    while pending:
        place, value = pending.pop()
        match place:
            case Slot():
                slots[place.number] = value
            case Child():
                children[place.number] = value
            case Pack():
                parts = [emit(TupleGetItemOp(value, i)) for i in range(len(place.parts))]
                pending.extend(zip(place.parts, parts, strict=True))
    own = [emit.constant(np.array(constructor.kind, np.int32))]
    own += [
        slots[number] if number in slots else zeros(each, emit)
        for number, each in enumerate(layout.slot_types)
    ]
    if layout.in_rows:
        own = _rows(own, layout, [children[i] for i in range(len(children))], emit)
    types = layout.type.types.data
    return emit(TupleOp([_stated(*each, emit) for each in zip(own, types, strict=True)]))


def kind_of(value: SSAValue, layout: Layout, emit: Emitter) -> SSAValue:
    """The number of the constructor of a value, of one element."""
    kind = emit(TupleGetItemOp(value, 0))
    return _first(kind, emit) if layout.in_rows else kind


@dataclass
class Parts:
    """The fields of a value of some constructor, made where they are asked for."""

    value: Callable[[], SSAValue]
    layout: Layout
    constructor: Constructor
    emit: Emitter
    starts: list[SSAValue] | None = None

    def __call__(self, place: Place) -> SSAValue:
        """The field at a place."""
        emit = self.emit
        match place:
            case Slot():
                before = 1 + (self.layout.in_rows and self.layout.counts_rows)
                found = emit(TupleGetItemOp(self.value(), before + place.number))
                return _first(found, emit) if self.layout.in_rows else found
            case Child():
                return self._child(place.number)
            case Pack():
                return emit(TupleOp([self(part) for part in place.parts]))

    def _child(self, number: int) -> SSAValue:
        """The rows of a part."""
        emit = self.emit
        value, count = self.value(), len(self.layout.type.types.data)
        columns = [emit(TupleGetItemOp(value, i)) for i in range(count)]
        if self.constructor.children == 1:
            return emit(TupleOp([_behind_first(each, emit) for each in columns]))
        if self.starts is None:
            # The first begins behind the value's own row, each other one behind the rows of the one before.
            self.starts = [emit.constant(np.array([1], np.int64))]
            for _ in range(self.constructor.children):
                count = emit(CastOp(emit(TakeOp(columns[1], self.starts[-1], axis=0)), i64))
                self.starts.append(emit(AddOp(self.starts[-1], count)))
        # As rows that are found, and not as a slice: one program serves all numbers of rows then. The last row is blank.
        start, stop = self.starts[number : number + 2]
        numbers = emit(CumsumOp(emit(OnesLikeOp(columns[0])), axis=0, dtype=i64))
        within = emit(
            LogicalAndOp(emit(GreaterOp(numbers, start)), emit(LessEqualOp(numbers, stop)))
        )
        whole = emit(CastOp(_first(columns[1], emit), i64))
        last = emit(GreaterOp(numbers, whole))
        rows = emit(SqueezeOp(emit(ArgwhereOp(emit(LogicalOrOp(within, last)))), [1]))
        return emit(TupleOp([emit(TakeOp(each, rows, axis=0)) for each in columns]))


def _rows(
    own: Sequence[SSAValue], layout: Layout, children: Sequence[SSAValue], emit: Emitter
) -> list[SSAValue]:
    """The rows of a value: its own one, and those of what it is made of."""
    rows = [emit(ExpandDimsOp(each, 0)) for each in own]
    if layout.counts_rows:
        count = emit.constant(np.array(1, np.int32))
        for child in children:
            count = emit(AddOp(count, _first(emit(TupleGetItemOp(child, 1)), emit)))
        rows.insert(1, emit(ExpandDimsOp(count, 0)))
    columns: list[SSAValue] = []
    for i, first in enumerate(rows):
        parts = [first]
        for child in children:
            column = emit(TupleGetItemOp(child, i))
            is_last = child is children[-1]
            parts.append(column if is_last else emit(StridedSliceOp(column, [0], [-1], axes=[0])))
        if not children:
            assert is_tensor_type(first.type)
            parts.append(zeros(first.type, emit))
        columns.append(emit(ConcatenateOp(emit(TupleOp(parts)), axis=0)))
    return columns


def _stated(value: SSAValue, type_: Attribute, emit: Emitter) -> SSAValue:
    """A tensor in the type that all values of a data type have."""
    assert is_tensor_type(type_)
    return value if value.type == type_ else emit(tensor.CastOp(value, type_))


def _first(rows: SSAValue, emit: Emitter) -> SSAValue:
    """The first row."""
    return emit(TakeOp(rows, emit.constant(np.array(0, np.int64)), axis=0))


def _behind_first(rows: SSAValue, emit: Emitter) -> SSAValue:
    """The rows behind the first one."""
    return emit(StridedSliceOp(rows, [1], [-1], axes=[0], slice_mode=SLICE_BY_SIZE))
