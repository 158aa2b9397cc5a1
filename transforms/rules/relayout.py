"""
Programs in other layouts: what `convert-layout` and `alter-op-layout` have in common.

    %0 = relay.nn.conv2d %x, %w        %0 = relay.layout_transform %x   NCHW → NHWC
    %1 = relay.nn.relu %0       ──►    %1 = relay.layout_transform %w   OIHW → HWIO
                                       %2 = relay.nn.conv2d %0, %1      data_layout NHWC, …
                                       %3 = relay.nn.relu %2
                                       %4 = relay.layout_transform %3   NHWC → NCHW

- One walk from the inputs to the outputs knows of each value that was changed what it is now, the layout in which the
  program sees it, and the one in which it lies.
- An `Alteration` says which operators begin: it gives them other properties, or makes other operators of them.
- The others follow their operands by the rules of `xrelay.analysis.layouts.table`, as far as they can; what cannot
  takes its operands as the program states them.
- A value is transformed once for each layout that somebody needs, in the block of the first who does.

It holds throughout that a value which is transformed back has the type that the program states: blocks are whole.

Source: TVM's `transform_layout.h`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.layouts.alteration import Alteration, Altered
from xrelay.analysis.layouts.inference import Inferred, Known, Seen
from xrelay.analysis.layouts.table import infer_layouts, rule_of
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import is_tensor_type, same_dimension, with_shape
from xrelay.dialects.tensor.layout import Layout, LayoutAxis, LayoutTransformOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.transforms.rules.rewriting import Emitter


@dataclass(frozen=True)
class Placed:
    """A tensor of the program, as it is now."""

    value: SSAValue | None
    """None for a field of a tuple that did not change."""
    old: Known = None
    """The layout in which the program sees it."""
    new: Known = None
    """The layout in which it lies."""


State: TypeAlias = Placed | tuple[Placed, ...]
"""A tensor, or the fields of a tuple."""
Key: TypeAlias = tuple[Block | None, SSAValue, Known, Known]


class Draft(Emitter):
    """Operations that will stand before another one, if all goes well."""

    def __init__(self):
        super().__init__()
        self.made: dict[Key, SSAValue] = {}


class Relayout:
    """Brings programs into other layouts, beginning where `alter` says."""

    def __init__(self, alter: Alteration):
        self.alter = alter
        self._states: dict[SSAValue, State] = {}
        self._made: dict[Key, SSAValue] = {}
        """Values in a block, and what they were transformed to."""
        self._replaced: list[Operation] = []
        self._fields: list[Operation] = []
        """The fields of new tuples, of which some may not be used."""

    def rewrite(self, ops: Sequence[Operation]) -> None:
        """
        Rewrites the operations of some bodies, which stand in order.

        Raises PassFailedException for an operator that cannot begin as `alter` says.
        """
        for op in ops:
            if not self._rewritten(op):
                self._restore(op)
        for op in (*reversed(self._replaced), *self._fields):
            if not any(result.uses for result in op.results):
                Rewriter.erase_op(op)

    def _rewritten(self, op: Operation) -> bool:
        """Whether there is something in the place of an operation, or its operands may stay."""
        if isinstance(op, TupleOp):
            return self._tuple(op)
        if isinstance(op, TupleGetItemOp):
            return self._field(op)
        return isinstance(op, RelayOp) and rule_of(type(op)) is not None and self._operator(op)

    # -- tuples -------------------------------------------------------------------------------

    def _tuple(self, op: TupleOp) -> bool:
        states = [self._states.get(value, Placed(value)) for value in op.fields]
        fields = tuple(state for state in states if isinstance(state, Placed))
        if len(fields) < len(states):
            return False
        if fields == tuple(map(Placed, op.fields)):
            return True
        self._states[op.result] = fields
        self._replaced.append(op)
        return True

    def _field(self, op: TupleGetItemOp) -> bool:
        states = self._states.get(op.tuple_value)
        if not isinstance(states, tuple):
            return False
        state = states[op.index.value.data]
        if state.value is None:
            self._states[op.result] = Placed(op.result, state.old, state.new)
        else:
            self._states[op.result] = state
            self._replaced.append(op)
        return True

    # -- operators ----------------------------------------------------------------------------

    def _operator(self, op: RelayOp) -> bool:
        states = [self._states.get(value, Placed(value)) for value in op.operands]
        before = tuple(map(_old, states))
        stated = infer_layouts(op, before)
        if stated is None:
            return False
        altered = self.alter(op)
        try:
            return self._in_new_layouts(op, altered, states, stated)
        except VerifyException as error:
            if altered is None:
                return False
            raise PassFailedException(
                f"{op.name} cannot become {altered.op_type.name} with {error}"
            ) from error

    def _in_new_layouts(
        self, op: RelayOp, altered: Altered | None, states: Sequence[State], stated: Inferred
    ) -> bool:
        """Puts a new operator in the place of `op`, or finds that it may stay."""
        op_type = type(op) if altered is None else altered.op_type
        properties = dict(op.properties if altered is None else altered.properties)
        before = tuple(map(_filled, map(_old, states), stated.operands))
        now = None if altered else tuple(map(_filled, map(_new, states), stated.operands))
        if altered is not None and altered.operands is not None:
            found = Inferred(altered.operands, stated.results)
        else:
            found = _inferred(op, op_type, properties, before, now)
        if found is None or len(found.results) != len(stated.results):
            return False
        properties |= found.properties
        draft = Draft()
        try:
            operands = [
                self._operand(draft, op, i, states[i], stated.operands[i], found.operands[i])
                for i in range(len(states))
            ]
            taken = [value for value in operands if value is not None]
            if len(taken) < len(operands):
                return False
            if op_type is type(op) and properties == op.properties and taken == [*op.operands]:
                self._stays(op, stated, found)
                return True
            new = op_type.create(
                operands=taken, result_types=op.result_types, properties=properties
            )
            draft(new)
            new.results = SSAValues((OpResult(new.infer_type(), new, 0),))
            if not _can_stand_for(new, op, stated, found):
                return False
            self._replace(draft, op, new, stated, found)
            return True
        finally:
            draft.discard()

    def _stays(self, op: RelayOp, stated: Inferred, found: Inferred) -> None:
        """Notes the layouts of results that did not change."""
        (result,) = op.results
        layouts = zip(stated.results, found.results, strict=True)
        if isinstance(result.type, TupleType):
            self._states[result] = tuple(Placed(None, old, new) for old, new in layouts)
        else:
            ((old, new),) = layouts
            self._states[result] = Placed(result, old, new)

    def _replace(
        self, draft: Draft, op: RelayOp, new: RelayOp, stated: Inferred, found: Inferred
    ) -> None:
        """Puts a new operator, which the draft has, in the place of another one."""
        new.attributes = op.attributes.copy()
        result, layouts = new.results[0], list(zip(stated.results, found.results, strict=True))
        result.name_hint = op.results[0].name_hint
        if isinstance(result.type, TupleType):
            items = [TupleGetItemOp(result, i) for i in range(len(layouts))]
            self._fields.extend(items)
            self._states[op.results[0]] = tuple(
                Placed(draft(item), *pair) for item, pair in zip(items, layouts, strict=True)
            )
        else:
            self._states[op.results[0]] = Placed(result, *layouts[0])
        self._insert(draft, op)
        self._replaced.append(op)

    def _insert(self, draft: Draft, op: Operation) -> None:
        if draft.ops:
            Rewriter.insert_op(draft.located(op), InsertPoint.before(op))
            self._made |= draft.made
            draft.ops = []

    # -- operands -----------------------------------------------------------------------------

    def _operand(
        self, draft: Draft, op: Operation, index: int, state: State, stated: Seen, needed: Seen
    ) -> SSAValue | None:
        """An operand in the layout that is needed. None when there is no way to it."""
        if needed is None:
            return self._plain(draft, op, op.operands[index])
        if isinstance(state, Placed):
            assert not isinstance(stated, tuple) and not isinstance(needed, tuple)
            return self._moved(draft, op, state, stated, needed)
        assert isinstance(stated, tuple) and isinstance(needed, tuple)
        fields = [
            self._moved(draft, op, *field) for field in zip(state, stated, needed, strict=True)
        ]
        return self._joined(draft, op.operands[index], fields)

    def _joined(
        self, draft: Draft, before: SSAValue, fields: Sequence[SSAValue | None]
    ) -> SSAValue | None:
        """The tuple of some fields: the one of the program if it has them."""
        taken = [value for value in fields if value is not None]
        if len(taken) < len(fields):
            return None
        if isinstance(before.owner, TupleOp) and taken == [*before.owner.fields]:
            return before
        return draft(TupleOp(taken))

    def _restore(self, op: Operation) -> None:
        """Gives an operation its operands as the program states them."""
        draft = Draft()
        operands = [self._plain(draft, op, value) for value in op.operands]
        self._insert(draft, op)
        for index, value in enumerate(operands):
            assert value is not None, "what was transformed can be transformed back"
            if value is not op.operands[index]:
                op.operands[index] = value

    def _plain(self, draft: Draft, op: Operation, value: SSAValue) -> SSAValue | None:
        """A value as the program states it."""
        state = self._states.get(value, Placed(value))
        if isinstance(state, Placed):
            return self._moved(draft, op, state, state.old, state.old)
        if all(field.value is None for field in state):
            return value
        key = op.parent, value, None, None
        known = draft.made.get(key) or self._made.get(key)
        if known is not None:
            return known
        fields = [self._moved(draft, op, field, field.old, field.old) for field in state]
        joined = self._joined(draft, value, fields)
        if joined is not None:
            draft.made[key] = joined
        return joined

    def _moved(
        self, draft: Draft, op: Operation, state: Placed, stated: Known, needed: Known
    ) -> SSAValue | None:
        """
        A tensor in the layout that is needed, where the operator sees it in `stated` as the program stands: not always
        the layout in which the operator before it saw it.
        """
        value: SSAValue | None = state.value
        if value is None or stated == state.old:
            return self._transformed(draft, op, value, state.new, needed)
        value = self._transformed(draft, op, value, state.new, state.old)
        return self._transformed(draft, op, value, stated, needed)

    def _transformed(
        self, draft: Draft, op: Operation, value: SSAValue | None, old: Known, new: Known
    ) -> SSAValue | None:
        """A tensor in another layout. None when it cannot be brought into that."""
        if value is None or old == new or old is None or new is None:
            return value
        key = op.parent, value, old, new
        known = draft.made.get(key) or self._made.get(key)
        if known is not None:
            return known
        assert is_tensor_type(value.type)
        result, source = value, old
        if len(old.names) < len(new.names):
            if all(certainly(length, 1) for length in value.type.get_shape()):
                return value
            missing = [name for name in new.names if name not in old.names]
            source = Layout((*map(LayoutAxis, missing), *old.axes))
            result = draft(ExpandDimsOp(value, axis=0, num_newaxis=len(missing)))
        if source != new:
            if _transformed_type(result.type, source, new) is None:
                return None
            result = draft(LayoutTransformOp(result, str(source), str(new)))
        draft.made[key] = result
        return result


def operations_outside_kernels(module: ModuleOp) -> list[Operation]:
    """Those that are not in the bodies of `relay.fused` and `relay.composite`, or of functions for other compilers."""
    is_kept = Within(keeps_body)
    return [op for op in walk(module) if not is_kept(op)]


def _old(state: State) -> Seen:
    return state.old if isinstance(state, Placed) else tuple(field.old for field in state)


def _new(state: State) -> Seen:
    return state.new if isinstance(state, Placed) else tuple(field.new for field in state)


def _filled(known: Seen, stated: Seen) -> Seen:
    """What is known, and where nothing is, what an operator sees."""
    if isinstance(known, tuple) and isinstance(stated, tuple):
        return tuple(a if a is not None else b for a, b in zip(known, stated, strict=True))
    return stated if known is None else known


def _inferred(
    op: RelayOp,
    op_type: type[RelayOp],
    properties: Mapping[str, Attribute],
    before: Sequence[Seen],
    now: Sequence[Seen] | None,
) -> Inferred | None:
    """The layouts around an operator that may stand for another one."""
    trial = op_type.create(
        operands=op.operands, result_types=op.result_types, properties=properties
    )
    try:
        return infer_layouts(trial, before, now)
    finally:
        trial.drop_all_references()


def _can_stand_for(new: RelayOp, op: RelayOp, stated: Inferred, found: Inferred) -> bool:
    """Whether what an operator gives in new layouts, transformed back, has the types that the program states."""
    old_types, new_types = (_fields_of(each.results[0].type) for each in (op, new))
    return len(old_types) == len(new_types) == len(found.results) and all(
        _transformed_type(new_type, layout, old) == old_type
        for old_type, new_type, old, layout in zip(
            old_types, new_types, stated.results, found.results, strict=True
        )
    )


def _fields_of(type_: Attribute) -> Sequence[Attribute]:
    return type_.types.data if isinstance(type_, TupleType) else (type_,)


def _transformed_type(type_: Attribute, old: Known, new: Known) -> Attribute | None:
    """The type of a tensor in another layout. None when it has not the axes of both, or no whole blocks."""
    if old == new or old is None or new is None:
        return type_
    if not is_tensor_type(type_) or type_.get_num_dims() != len(old.axes):
        return None
    if set(old.names) != set(new.names):
        return None
    shape = type_.get_shape()
    if not all(
        same_dimension(length, axis.block)
        for length, axis in zip(shape, old.axes, strict=True)
        if axis.block is not None
    ):
        return None
    lengths = old.lengths(shape)
    for name, block in new.blocks.items():
        known = lengths[name] != DYNAMIC_INDEX
        if lengths[name] % block if known else old.blocks.get(name) != block:
            return None
    return with_shape(type_, new.shape(lengths))
