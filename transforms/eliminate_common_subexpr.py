"""
`eliminate-common-subexpr`: of equal operations one stays.

    %0 = relay.exp %x                  %0 = relay.exp %x
    %1 = relay.exp %x             ──►  %2 = relay.add %0, %0
    %2 = relay.add %0, %1

Operations are equal when they have the same name, properties and result types, and the same operands,
or constants with equal values. Constants themselves stay: fusion copies small ones into the kernels
that use them. Operations within nested regions are replaced by equal ones outside.

Leaves alone: operations with side effects, with regions or without operands, those that `skip` names,
the bodies of `relay.fused` and `relay.composite` and functions for other compilers.

Source: Relay's EliminateCommonSubexpr, whose callback `fskip` is `skip` here.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from operator import itemgetter

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove, is_side_effect_free

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.blob import BlobAttr
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.shapes import inner_tuples_first
from xrelay.transforms.rules.operator_names import require_operators

Known = dict[Hashable, Operation]


def operand_key(value: SSAValue) -> Hashable:
    """Equal for values that are the same: one value, or constants with equal contents."""
    op = value.owner
    if not isinstance(op, ConstantOp):
        return value
    if isinstance(op.value, BlobAttr):
        return id(op.value.data), value.type  # Comparing large weights would take long.
    return op.value, value.type


class TypeNumbers:
    """
    A number for each type, the same for equal ones. As keys, types of long tuples and of tuples in tuples
    would be hashed and compared as a whole each time; here each of them is looked at once.
    """

    def __init__(self):
        self.numbers: dict[Hashable, int] = {}
        """By the type, of tuples by the numbers of the fields."""
        self.tuples: dict[int, tuple[TupleType, int]] = {}
        """The numbers of tuple types by identity, which stays theirs as long as they are kept here."""

    def __getitem__(self, type_: Attribute) -> int:
        for each in inner_tuples_first((type_,), self.is_known):
            fields = tuple(map(self.number, each.types.data))
            self.tuples[id(each)] = each, self.numbers.setdefault(fields, len(self.numbers))
        return self.number(type_)

    def is_known(self, type_: TupleType) -> bool:
        """Whether a tuple type has its number already."""
        return id(type_) in self.tuples

    def number(self, type_: Attribute) -> int:
        """The number of a type; tuple types have theirs already."""
        if isinstance(type_, TupleType):
            return self.tuples[id(type_)][1]
        return self.numbers.setdefault(type_, len(self.numbers))


def operation_key(op: Operation, types: TypeNumbers) -> Hashable:
    """Equal for operations that compute the same."""
    by_name = itemgetter(0)
    properties = tuple(sorted(op.properties.items(), key=by_name))
    attributes = tuple(sorted(op.attributes.items(), key=by_name))
    results = tuple(types[result.type] for result in op.results)
    return op.name, properties, attributes, results, tuple(map(operand_key, op.operands))


@dataclass(frozen=True)
class EliminateCommonSubexprPass(RelayPass):
    """Replaces operations by earlier ones that compute the same."""

    name = "eliminate-common-subexpr"

    skip: tuple[str, ...] = ()
    """Names of operators that all stay (`relay.cast` or `cast`). A name of none raises PassOptionError."""

    def rewrite(self, op: ModuleOp) -> None:
        require_operators("skip", self.skipped)
        is_kept, types = Within(keeps_body), TypeNumbers()
        for block in op.body.blocks:
            self.sweep(block, {}, is_kept, types)

    def sweep(self, block: Block, known: Known, is_kept: Within, types: TypeNumbers) -> None:
        """Merges the operations of a block with those in `known`, which are before it."""
        added: list[Hashable] = []
        for op in list(block.ops):
            if self.may_merge(op) and not is_kept(op):
                key = operation_key(op, types)
                earlier = known.setdefault(key, op)
                if earlier is not op:
                    Rewriter.replace_op(op, [], earlier.results)
                    continue
                added.append(key)
            for region in op.regions:
                isolated = op.has_trait(IsolatedFromAbove)
                for inner in region.blocks:
                    self.sweep(inner, {} if isolated else known, is_kept, types)
        for key in added:
            del known[key]

    @property
    def skipped(self) -> frozenset[str]:
        """The names without `relay.`."""
        return frozenset(name.removeprefix("relay.") for name in self.skip)

    def may_merge(self, op: Operation) -> bool:
        """Whether an operation is judged by its operands and properties alone."""
        return (
            isinstance(op, RelayOp)
            and bool(op.operands)
            and not op.regions
            and op.name.removeprefix("relay.") not in self.skipped
            and is_side_effect_free(op)
        )
