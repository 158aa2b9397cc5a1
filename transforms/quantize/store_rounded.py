"""
`store-rounded`: values that are rounded for products are kept rounded, with half the bytes.

    %1 = relay.add %0, %b               (f32)         %1 = relay.add %0, %b                    (f32)
    %2 = relay.nn.max_pool2d %1         (f32)         %2 = relay.cast %1 to bf16
    %3 = relay.cast %2 to bf16                 ──►    %3 = relay.nn.max_pool2d %2              (bf16)
    %4 = relay.nn.conv2d %3, %w                       %4 = relay.nn.conv2d %3, %w
    %5 = relay.add %2, %4                             %5 = relay.cast %3 to f32
                                                      %6 = relay.add %5, %4

A cast to `dtype` moves in front of operators that only move elements, or pick some (`MOVES` in
`transforms/rules/quantize/cpu_precision.py`), and stands where the value is computed. What else takes an image takes the rounded
one: it is stored once. The cast is then part of the kernel that computes the value, and the casts back are part of
those that take it. Values of lower rank than `shared-rank` are kept in both types: sums that layers add to, in
transformers, would lose bits in each of them, and are small.

Left alone: results of functions, parameters and constants, which are there as they are, values of other blocks,
bodies of `relay.fused` and `relay.composite`. Run it after `to-mixed-precision`. Results change, within the
roundings of the type.

Where images of two products meet, as at the end of a block of a residual network, the one that is computed last is rounded,
too: it is stored, while what the other becomes stays in registers. Sums of products that f16 cannot hold become infinite there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, ModuleOp, TupleType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.suggestions import PassOptionError, require_at_least, unknown_choice
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp, TupleOp
from xrelay.dialects.dtypes import DTYPES
from xrelay.dialects.shapes import is_tensor_type, with_dtype
from xrelay.dialects.tensor.unary import CastOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.transforms.rules.operands import exchange_operands, insert_before
from xrelay.transforms.rules.quantize.cpu_precision import MOVES

ShortType = BFloat16Type | Float16Type
SHORT_TYPES = {
    dtype.name: dtype.type for dtype in DTYPES if isinstance(dtype.type, BFloat16Type | Float16Type)
}


@dataclass
class _Casts:
    """The casts of a module, and what becomes of them."""

    short: ShortType
    shared_rank: int
    moves: frozenset[str]
    pending: list[CastOp] = field(default_factory=list[CastOp])
    computed: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    """Whether values are computed, not only moved from a parameter or a constant."""

    def rounds(self, op: Operation) -> bool:
        """Whether an operation is a cast from f32 to the type."""
        return (
            isinstance(op, CastOp)
            and isinstance(op.data.type.element_type, Float32Type)
            and op.dtype == self.short
        )

    def run(self) -> None:
        """Handles the casts, and those that come up meanwhile."""
        while self.pending:
            cast = self.pending.pop()
            if cast.parent is not None:
                self.visit(cast)

    def visit(self, cast: CastOp) -> None:
        """Makes one cast of those of a value, moves it in front of what moves the value, or shares it."""
        value, source = cast.data, cast.data.owner
        if isinstance(source, CastOp) and source.data.type == cast.result.type:
            Rewriter.replace_op(cast, [], [source.data])
            if not any(source.result.uses):
                Rewriter.erase_op(source)
            return
        if not isinstance(source, RelayOp) or source.parent is not cast.parent:
            return
        cast.detach()
        Rewriter.insert_op(cast, InsertPoint.after(source))
        for use in list(value.uses):
            if use.operation is not cast and self.rounds(use.operation):
                Rewriter.replace_op(use.operation, [], [cast.result])
        if value.type.get_num_dims() >= self.shared_rank and self.is_computed(value):
            self.share(cast)
        if self.may_move(source) and value.has_one_use():
            self.move(cast, source)

    def is_computed(self, value: SSAValue) -> bool:
        """Whether something computes a value, perhaps before others moved it."""
        way: list[SSAValue] = []
        while value not in self.computed:
            way.append(value)
            source = value.owner
            if isinstance(source, RelayOp) and (
                self.may_move(source) or (isinstance(source, TupleOp) and source.operands)
            ):
                value = source.operands[0]
            else:
                self.computed[value] = isinstance(source, RelayOp) and not isinstance(
                    source, ConstantOp
                )
        self.computed.update((each, self.computed[value]) for each in way)
        return self.computed[value]

    def may_move(self, op: RelayOp) -> bool:
        """Whether an operator is one of those that a cast moves across, with operands that can be cast."""
        return op.name.removeprefix("relay.") in self.moves and len(op.operands) == 1

    def share(self, cast: CastOp) -> None:
        """Gives the rounded value to what takes the value itself, except for results."""
        for user in dict.fromkeys(use.operation for use in cast.data.uses):
            if user is cast or isinstance(user, func.ReturnOp):
                continue
            wide = insert_before(user, CastOp(cast.result, f32))
            exchange_operands([user], {cast.data: wide})

    def round_meetings(self, ops: Iterable[Operation]) -> None:
        """
        Where images of two products of rounded operands meet element by element, one kernel computes the first one and
        all that follows: the other image is stored, rounded.
        """
        origins: dict[SSAValue, int] = {}
        """Of what becomes of the result of a product, element by element: the number of the product."""
        for number, op in enumerate(ops):
            if len(op.results) != 1 or not self.is_image(result := op.results[0]):
                continue
            kind = pattern_kind(op)
            if kind is OpPatternKind.OUT_EWISE_FUSABLE:
                if self.is_short(op.operands[0]):
                    origins[result] = number
            elif isinstance(op, RelayOp) and kind <= OpPatternKind.BROADCAST:
                meeting = [
                    value
                    for value in dict.fromkeys(op.operands)
                    if value in origins
                    and value.owner.parent is op.parent
                    and value.has_one_use()
                    and value.type == result.type
                ]
                if not meeting:
                    continue
                first, *others = sorted(meeting, key=origins.__getitem__)
                origins[result] = origins[first]
                for each in others:
                    short = insert_before(op, CastOp(each, self.short))
                    wide = insert_before(op, CastOp(short, f32))
                    exchange_operands([op], {each: wide})

    def is_short(self, value: SSAValue) -> bool:
        """Whether a value is a tensor of the type."""
        return is_tensor_type(value.type) and value.type.element_type == self.short

    def is_image(self, value: SSAValue) -> bool:
        """Whether a value is one of f32 that is stored once."""
        type_ = value.type
        return (
            is_tensor_type(type_)
            and type_.element_type == f32
            and type_.get_num_dims() >= self.shared_rank
        )

    def move(self, cast: CastOp, source: RelayOp) -> None:
        """Puts a cast in front of the operator whose result it takes."""
        (operand,) = source.operands
        if isinstance(operand.type, TupleType):
            owner = operand.owner
            if not isinstance(owner, TupleOp) or not all(
                is_tensor_type(each) and each.element_type == f32 for each in operand.type.types
            ):
                return
            fields = [self.rounded(each, source) for each in owner.fields]
            short = insert_before(source, TupleOp(fields))
        else:
            short = self.rounded(operand, source)
        result = insert_before(source, source.clone({operand: short}))
        type_ = source.results[0].type
        assert is_tensor_type(type_)
        result = Rewriter.replace_value_with_new_type(result, with_dtype(type_, self.short))
        Rewriter.replace_op(cast, [], [result])
        Rewriter.erase_op(source)
        if isinstance(owner := operand.owner, TupleOp) and not any(operand.uses):
            Rewriter.erase_op(owner)

    def rounded(self, value: SSAValue, before: RelayOp) -> SSAValue:
        """A value with fewer bits, in front of an operator."""
        cast = CastOp(value, self.short)
        self.pending.append(cast)
        return insert_before(before, cast)


def short_type(name: str) -> ShortType:
    """The type that an option `dtype` names. Raises PassOptionError for others than SHORT_TYPES."""
    if name not in SHORT_TYPES:
        raise PassOptionError(unknown_choice("dtype", name, SHORT_TYPES))
    return SHORT_TYPES[name]


@dataclass(frozen=True)
class StoreRoundedPass(RelayPass):
    """Keeps values rounded that are rounded for products."""

    name = "store-rounded"

    dtype: str = "bfloat16"
    """The type: "bfloat16" or "float16"."""

    shared_rank: int = 4
    """From which rank on a value is stored once."""

    moves: tuple[str, ...] = MOVES
    """The operators in front of which casts move."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(0, shared_rank=self.shared_rank)
        short = short_type(self.dtype)
        unknown = [name for name in self.moves if name not in MOVES]
        if unknown:
            raise PassOptionError(
                f"'moves' has {unknown[0]!r}, which computes: expected some of {', '.join(MOVES)}"
            )
        casts = _Casts(short, self.shared_rank, frozenset(self.moves))
        is_kept = Within(keeps_body)
        casts.pending.extend(
            each
            for each in walk(op)
            if isinstance(each, CastOp) and casts.rounds(each) and not is_kept(each)
        )
        casts.run()
        casts.round_meetings(each for each in list(walk(op)) if not is_kept(each))
