"""
Builds kernel IR: scf loops around arith, math, vector and llvm operations on scalars and vectors.

Indices are i64, pointers are `!llvm.ptr`.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import gcd

from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerType,
    VectorType,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from xrelay.dialects.dtypes import FloatType
from xrelay.dialects.lengths import certainly, is_open
from xrelay.dialects.shapes import is_integer_type
from xrelay.lowering.emit.attributes import (
    POINTER,
    address_op,
    intrinsic_call,
    lane_mask,
    load_op,
    predicate_attribute,
    store_op,
)
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.index import (
    Index,
    IndexBuilder,
    is_vector_type,
    lanes_of,
    parts_of,
    scalar_type,
    with_lanes,
)

EXPONENT_BITS: dict[Attribute, int] = {f16: 5, f32: 8, f64: 11}
"""Of the types that are computed in, and of f16, which comparisons know."""


@dataclass(frozen=True)
class Whole:
    """A whole number of floating point, in a sum whose lowest bits it is."""

    sum: SSAValue
    other: float
    """What else is in the sum."""
    kind: Element
    """The integers that the number is one of."""


@dataclass(frozen=True)
class Saturated:
    """A number of floating point that is rounded to an integer of 8 bits, to the next one that there is."""

    number: SSAValue
    added: int
    """To what is rounded."""
    kind: Element
    is_bounded: bool
    """Whether integers of 32 bits hold what it is rounded to."""


@dataclass(frozen=True)
class Store:
    """A vector that will be stored."""

    pointer: SSAValue
    offset: Index
    element: Element
    value: SSAValue


@dataclass(eq=False)
class KernelBuilder(IndexBuilder):
    """Appends control flow, memory accesses and arithmetic on lanes."""

    flushes_bfloat: bool = False
    """Whether what is subnormal becomes zero when it is rounded to bf16, as one instruction does."""
    whole_numbers: dict[SSAValue, Whole] = field(default_factory=dict[SSAValue, Whole])
    """Of integers that were converted from numbers of floating point, those numbers."""
    saturated: dict[SSAValue, Saturated] = field(default_factory=dict[SSAValue, Saturated])
    """Of vectors of integers of 8 bits, what they were."""
    waiting: list[Store] | None = None
    """Stores of such vectors that are put off, where they are."""
    integers: dict[SSAValue, Element] = field(default_factory=dict[SSAValue, Element])
    """Of numbers of floating point that were converted from integers, their type."""

    # -- control flow -------------------------------------------------------------------------

    @contextmanager
    def loop(self, start: Index, stop: Index, step: int = 1) -> Generator[Index]:
        """A loop without carried values; a body that runs exactly once is emitted without a loop."""
        rounds = self.sub(stop, start) if parts_of(start)[0] is parts_of(stop)[0] else None
        if isinstance(rounds, int) and not is_open(rounds) and 0 < rounds <= step:
            yield start
            return
        body = Block(arg_types=[i64])
        self._divided(body.args[0], gcd(self.divisor(start), step))
        if isinstance(start, int) and isinstance(rounds, int) and not is_open(rounds):
            self.bound(body.args[0], start, start + max(rounds - 1, 0) // step * step)
        with self.inside(body):
            yield body.args[0]
            self.insert(scf.YieldOp())
        self.insert(
            scf.ForOp(self.index(start), self.index(stop), self.index(step), [], Region(body))
        )

    @contextmanager
    def loop_while_below(
        self, stop: Index, following: Callable[[Index], SSAValue]
    ) -> Generator[Index]:
        """
        A loop over numbers below `stop`: the first is following(-1), and each comes from the one
        before.
        """
        test, body = Block(arg_types=[i64]), Block(arg_types=[i64])
        first = following(-1)
        with self.inside(test):
            below = self.compare_index(test.args[0], "slt", stop)
            self.insert(scf.ConditionOp(below, test.args[0]))
        with self.inside(body):
            yield body.args[0]
            self.insert(scf.YieldOp(following(body.args[0])))
        self.insert(scf.WhileOp([first], [i64], Region(test), Region(body)))

    def loop_nest(self, extents: Sequence[int], body: Callable[[tuple[Index, ...]], None]) -> None:
        """Nested loops from 0 to each extent."""
        if any(certainly(extent, 0) for extent in extents):
            return

        def nest(indices: tuple[Index, ...]) -> None:
            if len(indices) == len(extents):
                body(indices)
                return
            with self.loop(0, extents[len(indices)]) as i:
                nest((*indices, i))

        nest(())

    def fold(
        self,
        start: Index,
        stop: Index,
        step: int,
        initial: Sequence[SSAValue],
        body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A loop that carries values: `body` gets the old ones and returns the new ones."""
        if isinstance(start, int) and isinstance(stop, int) and not is_open(stop - start):
            if start >= stop:
                return initial
            if stop <= start + step:
                return body(start, initial)
        block = Block(arg_types=[i64, *(value.type for value in initial)])
        with self.inside(block):
            self.insert(scf.YieldOp(*body(block.args[0], block.args[1:])))
        loop = scf.ForOp(
            self.index(start), self.index(stop), self.index(step), list(initial), Region(block)
        )
        return self.insert(loop).results

    def fold_nest(
        self,
        extents: Sequence[int],
        initial: Sequence[SSAValue],
        body: Callable[[tuple[Index, ...], Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """Nested loops from 0 to each extent that carry values."""

        def nest(indices: tuple[Index, ...], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if len(indices) == len(extents):
                return body(indices, values)
            return self.fold(
                0, extents[len(indices)], 1, values, lambda i, inner: nest((*indices, i), inner)
            )

        return nest((), initial)

    def fold_while(
        self,
        initial: Sequence[SSAValue],
        test: Callable[[Sequence[SSAValue]], SSAValue],
        body: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A loop that carries values as long as they pass a test."""
        types = [value.type for value in initial]
        head, rounds = Block(arg_types=types), Block(arg_types=types)
        with self.inside(head):
            self.insert(scf.ConditionOp(test(head.args), *head.args))
        with self.inside(rounds):
            self.insert(scf.YieldOp(*body(rounds.args)))
        loop = scf.WhileOp(list(initial), types, Region(head), Region(rounds))
        return self.insert(loop).results

    @contextmanager
    def when(self, condition: SSAValue) -> Generator[None]:
        """What is done only if a condition holds."""
        body = Block()
        with self.inside(body):
            yield
            self.insert(scf.YieldOp())
        self.insert(scf.IfOp(condition, [], Region(body), Region(Block([scf.YieldOp()]))))

    def join(
        self,
        condition: SSAValue,
        then: tuple[Block, SSAValue],
        otherwise: tuple[Block, SSAValue],
    ) -> SSAValue:
        """An if whose two blocks, filled before, compute one value each."""
        for block, value in (then, otherwise):
            block.add_op(scf.YieldOp(value))
        op = scf.IfOp(condition, [then[1].type], Region(then[0]), Region(otherwise[0]))
        return self.insert(op).results[0]

    # -- memory -------------------------------------------------------------------------------

    def address(self, pointer: SSAValue, offset: Index, storage: Attribute) -> SSAValue:
        """The address of the element `offset` elements after `pointer`."""
        base, constant = parts_of(offset)
        if is_open(constant) or abs(constant) >= 2**30:
            base, constant = self.index(offset), 0
        if base is not None:
            pointer = self._step((pointer, base), llvm.GEP_USE_SSA_VAL, storage)
        return pointer if certainly(constant, 0) else self._step((pointer,), constant, storage)

    def opaque(self, address: SSAValue) -> SSAValue:
        """
        The same address, of which LLVM does not know how it is found. Behind it, what lies at constant distances concerns the
        innermost loops alone: LLVM's loop strength reduction looks at it for each loop around otherwise, in a third of its time.
        """
        if isinstance(address.owner, Block):
            return address
        name = "llvm.launder.invariant.group.p0"
        return self._remember((name, address), lambda: self.instruction(name, [address], POINTER))

    def _step(self, operands: tuple[SSAValue, ...], fixed: int, storage: Attribute) -> SSAValue:
        return self._remember(
            (operands, fixed, storage),
            lambda: self.insert(address_op(operands, fixed, storage)).result,
        )

    def load(self, pointer: SSAValue, offset: Index, element: Element, lanes: int) -> SSAValue:
        """`lanes` elements from memory."""
        value = self.load_bits(pointer, offset, element, with_lanes(element.storage, lanes))
        if element.is_bool:
            zero = self.constant(element.storage, 0, lanes)
            return self.compare_integers(value, "ne", zero)
        return value

    def load_bits(
        self, pointer: SSAValue, offset: Index, element: Element, type_: Attribute
    ) -> SSAValue:
        """As many neighbours from memory as have the size of a type, as a value of that."""
        address = self.address(pointer, offset, element.storage)
        return self.insert(load_op(address, type_, element.bytes)).dereferenced_value

    def store(self, pointer: SSAValue, offset: Index, element: Element, value: SSAValue) -> None:
        """Elements to memory."""
        if (
            self.waiting is not None
            and value in self.saturated
            and value.owner.parent is self.block
        ):
            self.waiting.append(Store(pointer, offset, element, value))
            return
        if element.is_bool:
            value = self.insert(
                llvm.ZExtOp(value, with_lanes(element.storage, lanes_of(value)))
            ).res
        address = self.address(pointer, offset, element.storage)
        self.insert(store_op(value, address, element.bytes))

    def prefetch(self, address: SSAValue) -> None:
        """Asks for a line of memory to be brought into the second-level cache. Never fails."""
        numbers = [self.constant(i32, value) for value in (0, 2, 1)]
        self.command("llvm.prefetch.p0", [address, *numbers])

    # -- vectors ------------------------------------------------------------------------------

    def from_lanes(self, values: Sequence[SSAValue]) -> SSAValue:
        """A vector of scalars."""
        if len(values) == 1:
            return values[0]
        result: SSAValue = self.insert(llvm.UndefOp(VectorType(values[0].type, [len(values)]))).res
        for i, value in enumerate(values):
            result = self.insert(llvm.InsertElementOp(result, value, self.index(i))).res
        return result

    def shuffle(self, value: SSAValue, mask: Sequence[int]) -> SSAValue:
        """The named lanes of a vector, as a vector."""
        return self.merge(value, value, mask)

    def merge(self, first: SSAValue, second: SSAValue, mask: Sequence[int]) -> SSAValue:
        """The named lanes of two vectors, those of `second` counted after those of `first`."""
        result = VectorType(scalar_type(first), [len(mask)])
        return self.insert(llvm.ShuffleVectorOp(first, second, lane_mask(*mask), result)).res

    def lane(self, value: SSAValue, i: int) -> SSAValue:
        """One lane of a vector, as a scalar."""
        if lanes_of(value) == 1:
            return value
        return self.bitcast(self.shuffle(value, [i]), scalar_type(value))

    def first_lanes(self, value: SSAValue, lanes: int) -> SSAValue:
        """The first lanes of a vector; a scalar for one."""
        if lanes == lanes_of(value):
            return value
        short = self.shuffle(value, range(lanes))
        return self.bitcast(short, scalar_type(value)) if lanes == 1 else short

    def lane_numbers(self, lanes: int, type_: IntegerType = i64) -> SSAValue:
        """0, 1, 2, …"""
        numbers = DenseIntOrFPElementsAttr.from_list(VectorType(type_, [lanes]), list(range(lanes)))
        return self.attribute(numbers)

    def compare_lanes(
        self, predicate: str, number: Index, lanes: int, element: Element
    ) -> SSAValue:
        """In which lanes of a vector of elements their number compares with an index as stated, for signed predicates."""
        if lanes == 1:
            return self.compare_index(0, predicate, number)
        # All numbers beyond those of the lanes are alike. Fewer bits are compared faster, those of the elements choose among these.
        bounded = self.index(self.larger(self.smaller(number, lanes), -1))
        type_ = IntegerType(8 * element.bytes)
        if type_ != i64:
            bounded = self.insert(llvm.TruncOp(bounded, type_)).res
        numbers = self.lane_numbers(lanes, type_)
        return self.compare_integers(numbers, predicate, self.splat(bounded, lanes))

    def bitcast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The same bits as another type."""
        return self.insert(llvm.BitcastOp.create(operands=[value], result_types=[type_])).result

    # -- calls --------------------------------------------------------------------------------

    def intrinsic(self, name: str, args: Sequence[SSAValue], result: Attribute) -> SSAValue:
        """An LLVM intrinsic whose name is mangled with the type of its result."""
        return self.instruction(f"llvm.{name}.{mangle(result)}", args, result)

    def instruction(self, name: str, args: Sequence[SSAValue], result: Attribute) -> SSAValue:
        """An LLVM intrinsic by its whole name, as of those that stand for one instruction of a processor."""
        op = llvm.CallIntrinsicOp.create(
            operands=args, result_types=[result], properties=intrinsic_call(name, len(args))
        )
        return self.insert(op).results[0]

    def command(self, name: str, args: Sequence[SSAValue]) -> None:
        """An LLVM intrinsic that returns nothing."""
        self.insert(
            llvm.CallIntrinsicOp.create(operands=args, properties=intrinsic_call(name, len(args)))
        )

    # -- comparisons and choices, which arith and llvm of xDSL have for scalars only -----------

    def compare_integers(self, lhs: SSAValue, predicate: str, rhs: SSAValue) -> SSAValue:
        """Integer comparison ("eq", "ne", "slt", "ult", …), lane by lane."""
        op = llvm.ICmpOp.create(
            operands=[lhs, rhs],
            result_types=[with_lanes(i1, lanes_of(lhs))],
            properties={"predicate": predicate_attribute(predicate)},
        )
        return self.insert(op).res

    def compare_floats(self, lhs: SSAValue, predicate: str, rhs: SSAValue) -> SSAValue:
        """
        Floating-point comparison, lane by lane: "oeq", "olt", "ole", "une" and "uno".

        Vectors are compared as integers: the bits of a float, with those after the sign flipped
        in negative numbers, have the order of the numbers once -0 is turned into 0.
        """
        if lanes_of(lhs) == 1:
            return self.insert(arith.CmpfOp(lhs, rhs, predicate)).result
        unordered = self.either(self.is_nan(lhs), self.is_nan(rhs))
        if predicate == "uno":
            return unordered
        keys = self._order_key(lhs), self._order_key(rhs)
        relation = {"oeq": "eq", "une": "ne", "olt": "slt", "ole": "sle"}[predicate]
        compared = self.compare_integers(keys[0], relation, keys[1])
        if predicate == "une":
            return self.either(compared, unordered)
        return self.both(compared, self.negate(unordered))

    def _bits(self, value: SSAValue) -> tuple[SSAValue, IntegerType, int]:
        type_, lanes = scalar_type(value), lanes_of(value)
        assert isinstance(type_, FloatType)
        integer = IntegerType(8 * type_.size)
        return self.bitcast(value, with_lanes(integer, lanes)), integer, lanes

    def _order_key(self, value: SSAValue) -> SSAValue:
        zero = self.constant(scalar_type(value), 0.0, lanes_of(value))
        bits, integer, lanes = self._bits(self.insert(arith.AddfOp(value, zero)).result)
        width = integer.width.data
        shift = self.constant(integer, width - 1, lanes)
        mask = self.constant(integer, 2 ** (width - 1) - 1, lanes)
        sign = self.insert(arith.ShRSIOp(bits, shift)).result
        flip = self.insert(arith.AndIOp(sign, mask)).result
        return self.insert(arith.XOrIOp(bits, flip)).result

    def is_nan(self, value: SSAValue) -> SSAValue:
        """Whether a float is NaN, lane by lane."""
        if lanes_of(value) == 1:
            return self.insert(arith.CmpfOp(value, value, "uno")).result
        bits, integer, lanes = self._bits(value)
        width, exponent = integer.width.data, EXPONENT_BITS[scalar_type(value)]
        mask = self.constant(integer, 2 ** (width - 1) - 1, lanes)
        infinity = self.constant(integer, (2**exponent - 1) << (width - 1 - exponent), lanes)
        magnitude = self.insert(arith.AndIOp(bits, mask)).result
        return self.compare_integers(magnitude, "ugt", infinity)

    def is_nonzero(self, value: SSAValue) -> SSAValue:
        """Whether a float is neither 0 nor -0, lane by lane."""
        if lanes_of(value) == 1:
            zero = self.constant(scalar_type(value), 0.0)
            return self.insert(arith.CmpfOp(value, zero, "une")).result
        bits, integer, lanes = self._bits(value)
        mask = self.constant(integer, 2 ** (integer.width.data - 1) - 1, lanes)
        magnitude = self.insert(arith.AndIOp(bits, mask)).result
        return self.compare_integers(magnitude, "ne", self.constant(integer, 0, lanes))

    def both(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs and rhs, bit by bit."""
        return self.insert(arith.AndIOp(lhs, rhs)).result

    def either(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs or rhs, bit by bit."""
        return self.insert(arith.OrIOp(lhs, rhs)).result

    def negate(self, value: SSAValue) -> SSAValue:
        """Every bit flipped."""
        ones = self.constant(scalar_type(value), -1, lanes_of(value))
        return self.insert(arith.XOrIOp(value, ones)).result

    def select(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs where the condition holds, rhs elsewhere, lane by lane."""
        if lanes_of(condition) == 1:
            return self.insert(arith.SelectOp(condition, lhs, rhs)).result
        type_, lanes = scalar_type(lhs), lanes_of(lhs)
        if type_ == IntegerType(1):
            chosen = self.both(condition, lhs), self.both(self.negate(condition), rhs)
            return self.either(*chosen)
        if is_integer_type(type_):
            mask = self.insert(llvm.SExtOp(condition, with_lanes(type_, lanes))).res
            return self.either(self.both(mask, lhs), self.both(self.negate(mask), rhs))
        left, right = self._bits(lhs)[0], self._bits(rhs)[0]
        return self.bitcast(self.select(condition, left, right), lhs.type)


def mangle(type_: Attribute) -> str:
    """How LLVM writes a type in the name of an intrinsic: f32, v16f32."""
    if is_vector_type(type_):
        return f"v{type_.get_shape()[0]}{type_.element_type}"
    return str(type_)
