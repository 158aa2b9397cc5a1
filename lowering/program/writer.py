"""
The code of the entry function of a program, and of the functions that it calls.

Every thread of a team runs it; between steps the threads wait for one another, but not between small ones, which the
first thread runs alone. Branches and loops are those
of the program: each thread takes the same way, because numbers that decide are read once all threads
have arrived, and not written again before all have read them.

A loop that may last ends before its time when the caller asks for it. After each round `xrelay_poll`
says so to all threads alike, by words at the start of the workspace. So do functions that are called, as they begin.

    workspace    words │ frame of the entry function │ frame of a call │ frame of a call in that │ …

A call has the frame behind that of its caller, up to a number that the workspace has room for.
"""

from collections import ChainMap
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import arith, func, llvm, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i8, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xrelay.analysis.facts.memory_plan import ALIGNMENT
from xrelay.dialects.branches import passed_on
from xrelay.dialects.lengths import is_open, may_be_empty, place_of
from xrelay.dialects.shapes import is_integer_type
from xrelay.lowering.emit.attributes import POINTER, address_op, load_op, store_op, whole_number
from xrelay.lowering.emit.context import BARRIER
from xrelay.lowering.emit.elements import element
from xrelay.lowering.program.operations import is_scalar
from xrelay.lowering.program.steps import (
    Branch,
    Call,
    Fail,
    Load,
    Loop,
    Node,
    Scalar,
    may_last,
    runs_alone,
)
from xrelay.lowering.program.storage import Storage
from xrelay.runtime.signature import FAILURE, FIRST_FAILURE, TOO_DEEP

STAMP, STAMP_ALONE = "xrelay_stamp", "xrelay_stamp_alone"
"""The function of the run time that takes the time: void (ptr team, i64 step)."""
POLL = "xrelay_poll"
"""The function of the run time that says whether loops are to end, the same to all threads, which wait for one
another in it: i64 (ptr team, i64 thread, i64 threads, ptr words)."""
WORDS = ALIGNMENT
"""Bytes at the start of the workspace of a program with loops: what `xrelay_poll` is given. The caller sets the
first one, of 64 bits, to 1."""


@dataclass(frozen=True)
class Frame:
    """Where a function has its memory, in bytes behind the start of its piece of the workspace."""

    offsets: Sequence[int]
    """Of the numbered buffers, then of the scratch memory of each step."""
    buffers: int
    """How many buffers there are."""
    tables: int
    """Where each thread has a table of the addresses that it gives a function that it calls."""
    table_bytes: int
    """The size of such a table."""
    size: int
    """Where the frame of a function begins that this one calls."""


@dataclass(eq=False)
class FunctionWriter:
    """Writes a function, and the address of each tensor once where that suffices."""

    block: Block
    frame: Frame
    threads: int
    profile: bool
    lengths: Storage | None = None
    first: int = 0
    """The number of its first step among those of the program."""
    most_calls: int = 0
    """How many calls may be within each other in the entry function."""
    calls: int = 0
    """How many steps there are so far."""
    unread: bool = False
    """Whether something was written that other threads may not have finished."""
    by_first: bool = False
    """Whether the first thread alone has written since the threads met."""
    untouched: bool = True
    """Whether no thread may still be reading what the next step writes."""

    def __post_init__(self):
        self.args = tuple(self.block.args)
        self.words = self.args[3]
        """What `xrelay_poll` is given."""
        self.left: SSAValue | None = None
        """How many more calls may be within each other; in the entry function `most_calls`."""
        self.addresses = ChainMap[Storage, SSAValue]()
        self.scalars: dict[SSAValue, SSAValue] = {}
        """The numbers of the program, as this function has them."""

    @property
    def state(self) -> tuple[bool, bool, bool]:
        """What threads have not done, or may not have: `unread`, `by_first` and `untouched`."""
        return self.unread, self.by_first, self.untouched

    @state.setter
    def state(self, found: tuple[bool, bool, bool]) -> None:
        self.unread, self.by_first, self.untouched = found

    def nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            match node:
                case Call():
                    self.call(node)
                case Scalar():
                    self.scalar(node.op)
                case Load():
                    self.load(node)
                case Branch():
                    self.branch(node)
                case Loop():
                    self.loop(node)
                case Fail():
                    self.first_alone(self.ending(FIRST_FAILURE + node.number))

    # -- steps --------------------------------------------------------------------------------

    def call(self, call: Call) -> None:
        """A step; the threads wait before it for what they have not all done."""
        number = self.calls
        self.calls += 1
        if call.function is not None:
            self.invoke(call, call.function)
            if self.profile:
                self.barrier()
                self.stamp(self.first + number + 1)
            return
        is_alone = call.is_alone
        self.meet(is_alone=is_alone)
        self.unread, self.by_first = True, is_alone
        if call.number is not None:
            self.write(call.number, call.writes[0])
        elif call.kernel is None:
            self.copy(call, is_alone=is_alone)
        else:
            lengths = [self.lengths] if self.lengths and call.kernel.reads_lengths else []
            scratch = Storage("buffer", self.frame.buffers + number)
            places = [*call.reads, *call.writes, *lengths, scratch]
            callee, args = call.kernel.function.sym_name.data, map(self.address, places)
            op = func.CallOp(callee, [*args, *self.args[4:7]], [])
            with self.where_elements(call.kernel.elements):
                self.run(op, is_alone=is_alone)
        if self.profile:
            # The first thread takes the time, and has done what is small itself.
            self.meet(is_alone=is_alone)
            self.stamp(self.first + number + 1, is_alone=is_alone)

    @contextmanager
    def where_elements(self, elements: int) -> Generator[None]:
        """What is done unless a number of elements is 0."""
        if not may_be_empty(elements):
            yield
            return
        some = self.emit(arith.CmpiOp(self.number(elements), self.number(0), "ne"))
        with self.region() as block:
            yield
            self.block.add_op(scf.YieldOp())
        self.when(some, block)

    def run(self, op: Operation, *, is_alone: bool) -> None:
        """What all threads do, or the first one."""
        if is_alone:
            self.first_alone([op])
        else:
            self.block.add_op(op)

    # -- calls of functions -----------------------------------------------------------------------

    def invoke(self, call: Call, name: str) -> None:
        """
        A call of a function, which waits itself for the steps before it. Each thread writes the addresses of what it
        takes and gives into a table of its own.
        """
        constants, workspace, thread, threads, team = self.args[2:7]
        size = self.number(self.frame.table_bytes)
        own = self.emit(arith.MuliOp(thread, size))
        start = self.offset(workspace, self.frame.tables)
        table = self.step([start, own], llvm.GEP_USE_SSA_VAL, i8)
        for i, place in enumerate((*call.reads, *call.writes)):
            slot = self.step([table], i, POINTER)
            slot.name_hint = "table"
            self.block.add_op(store_op(self.address(place), slot, 8))
        outputs = self.step([table], len(call.reads), POINTER)
        frame = self.offset(workspace, self.frame.size)
        left = self.number(self.most_calls) if self.left is None else self.left
        args = [table, outputs, constants, frame, thread, threads, team, self.words, left]
        self.block.add_op(func.CallOp(name, args, []))
        # What the function did last, not all threads may have done.
        self.state = True, False, False

    def called(self, nodes: Sequence[Node]) -> None:
        """
        The nodes of a function that is called; none of them where calls are too deep, which ends all loops and calls
        of the program, and where somebody asked for that.
        """
        *_, self.words, left = self.args
        zero = self.number(0)
        asked = self.poll()
        deep = self.emit(arith.CmpiOp(left, zero, "eq"))
        stores = self.ending(TOO_DEEP)
        is_first = self.emit(arith.CmpiOp(self.args[4], zero, "eq"))
        tells = self.emit(arith.AndIOp(deep, is_first))
        self.when(tells, Block([*stores, scf.YieldOp()]))
        stops = self.emit(arith.OrIOp(asked, deep))
        with self.region() as block:
            self.left = self.emit(arith.SubiOp(left, self.number(1)))
            self.nodes(nodes)
            self.block.add_op(scf.YieldOp())
        nothing = Region(Block([scf.YieldOp()]))
        self.block.add_op(scf.IfOp(stops, [], nothing, Region(block)))

    def when(self, condition: SSAValue, block: Block) -> None:
        """What a block, which ends with a yield, does where a condition holds."""
        nothing = Region(Block([scf.YieldOp()]))
        self.block.add_op(scf.IfOp(condition, [], Region(block), nothing))

    def barrier(self) -> None:
        """Waits until every thread has finished the steps so far, and read what it had to."""
        if self.unread or not self.untouched:
            _, threads, team = self.args[4:7]
            if self.threads > 1:
                self.block.add_op(llvm.CallOp(BARRIER, team, threads))
        self.state = False, False, True

    def meet(self, *, is_alone: bool) -> None:
        """The threads wait for one another before a step, unless the first thread does that and all that they wait for."""
        if not (is_alone and self.unread and self.by_first and self.untouched):
            self.barrier()

    def stamp(self, step: int, *, is_alone: bool = False) -> None:
        """Takes the time at which a step ends: when all threads have met behind it, or the first one has done it."""
        number = self.constant(step)
        name = STAMP_ALONE if is_alone else STAMP
        self.first_alone([llvm.CallOp(name, self.args[6], number.result)], number)

    def begin_polling(self, *, may_fail: bool) -> None:
        """Nobody has asked yet for an end, and with `may_fail` nothing has failed."""
        zero = self.constant(0)
        places = [self.words, self.failure()] if may_fail else [self.words]
        self.first_alone([store_op(zero.result, place, 8) for place in places], zero)

    def ending(self, failure: int) -> list[Operation]:
        """What ends all loops and calls, and says why, if nothing has before; numbers and places for it are there already."""
        none, one, why = self.number(0), self.number(1), self.number(failure)
        place = self.failure()
        before = load_op(place, i64, 8)
        is_first = arith.CmpiOp(before.results[0], none, "eq")
        told = arith.SelectOp(is_first.result, why, before.results[0])
        ends, tells = store_op(one, self.words, 8), store_op(told.result, place, 8)
        return [ends, before, is_first, told, tells]

    def failure(self) -> SSAValue:
        """Where the words say why there are no results."""
        place = self.offset(self.words, FAILURE)
        place.name_hint = self.words.name_hint
        return place

    def first_alone(self, ops: Sequence[Operation], *before: Operation) -> None:
        """What only the first thread does."""
        is_first = self.emit(arith.CmpiOp(self.args[4], self.number(0), "eq"))
        self.block.add_ops(before)
        self.when(is_first, Block([*ops, scf.YieldOp()]))

    def write(self, value: SSAValue, place: Storage) -> None:
        """A number becomes a tensor."""
        kind = element(_held(value.type))
        number, address = self.scalars[value], self.address(place)
        if kind.is_bool:
            number = self.emit(llvm.ZExtOp(number, i8))
        self.first_alone([store_op(number, address, kind.bytes)])

    def copy(self, call: Call, *, is_alone: bool) -> None:
        """A copy of bytes; every thread copies a part, or the first one all."""
        target = self.address(call.writes[0])
        if call.rows is not None:
            index, most = self.scalars[call.rows.index], self.number(call.rows.count - 1)
            index = self.emit(arith.MinUIOp(index, most))
            behind = self.emit(arith.MuliOp(index, self.number(call.size)))
            target = self.step([target, behind], llvm.GEP_USE_SSA_VAL, i8)
        addresses, count = [target, self.address(call.reads[0])], self.number(call.size)
        if self.threads > 1 and not is_alone:
            units, threads = self.number(-(-call.size // ALIGNMENT)), self.args[5]
            unit, thread = self.number(ALIGNMENT), self.args[4]
            after = self.emit(arith.AddiOp(thread, self.number(1)))
            start, stop = (
                self.emit(arith.MuliOp(self.emit(arith.DivUIOp(part, threads)), unit))
                for part in [self.emit(arith.MuliOp(i, units)) for i in (thread, after)]
            )
            stop = self.emit(arith.MinUIOp(stop, count))
            addresses = [self.step([each, start], llvm.GEP_USE_SSA_VAL, i8) for each in addresses]
            count = self.emit(arith.SubiOp(stop, start))
        volatile = self.emit(self.constant(0, i1))
        args = [*addresses, count, volatile]
        self.run(llvm.CallIntrinsicOp("llvm.memcpy.p0.p0.i64", args, []), is_alone=is_alone)

    # -- numbers in registers -------------------------------------------------------------------

    def scalar(self, op: Operation) -> None:
        """Arithmetic, in which an index is an i64."""
        operands = [self.scalars[operand] for operand in op.operands]
        (old,) = op.results
        if isinstance(op, arith.IndexCastOp):
            self.scalars[old] = self.cast(operands[0], old.type)
            return
        if isinstance(op, arith.ConstantOp):
            assert isinstance(op.value, IntegerAttr)
            type_ = _held(old.type)
            if is_open(op.value.value.data):
                self.scalars[old] = self.cast(self.number(op.value.value.data), type_)
                return
            self.scalars[old] = self.emit(self.constant(op.value.value.data, type_))
            return
        new = type(op).create(
            operands=operands, result_types=[_held(old.type)], properties=op.properties
        )
        self.scalars[old] = self.emit(new)

    def cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """A number of another width, by its sign."""
        old, new = _held(value.type), _held(type_)
        if old == new:
            return value
        wider = old.width.data < new.width.data
        return self.emit((llvm.SExtOp if wider else llvm.TruncOp)(value, new))

    def load(self, load: Load) -> None:
        """A number from memory."""
        if self.unread:
            self.barrier()
        self.untouched = False
        address, kind = self.address(load.place), load.kind
        if load.before:
            address = self.offset(address, load.before)
        value = self.emit(load_op(address, kind.storage, kind.bytes))
        if kind.is_bool:
            zero = self.emit(self.constant(0, i8))
            value = self.emit(arith.CmpiOp(value, zero, "ne"))
        self.scalars[load.result] = self.cast(value, load.result.type)

    # -- branches and loops ---------------------------------------------------------------------

    @contextmanager
    def region(self, arg_types: Sequence[Attribute] = ()) -> Generator[Block]:
        """A block within the one that is being written."""
        outer, self.block = self.block, Block(arg_types=arg_types)
        self.addresses = self.addresses.new_child()
        yield self.block
        self.addresses = self.addresses.parents
        self.block = outer

    def branch(self, node: Branch) -> None:
        """A branch; what one side leaves undone counts behind both."""
        before, after = self.state, (False, True, True)
        results = [result for result in node.op.results if is_scalar(result.type)]
        regions: list[Region] = []
        for side, region in zip(node.sides, node.op.regions, strict=True):
            self.state = before
            with self.region() as block:
                self.nodes(side)
                values = passed_on(region.block) if region.blocks else ()
                self.block.add_op(scf.YieldOp(*self.numbers(values)))
            unread, by_first, untouched = after
            # Where nothing was written, nobody has to wait for it.
            by_first = by_first and (self.by_first or not self.unread)
            after = self.unread or unread, by_first, self.untouched and untouched
            regions.append(Region(block))
        self.state = after
        types = [_held(result.type) for result in results]
        then, otherwise = regions
        op = scf.IfOp(self.scalars[node.op.cond], types, then, otherwise)
        self.block.add_op(op)
        self.scalars.update(zip(results, op.results, strict=True))

    def loop(self, node: Loop) -> None:
        """
        A loop as `scf.while`, which carries whether to stop, the count of an `scf.for`, and the numbers of
        the program.
        """
        is_alone = self.threads > 1 and runs_alone(node)
        self.meet(is_alone=is_alone)
        if is_alone:
            # As in each round: the first thread has written, and goes on.
            self.state = True, True, True
        unasked, op = self.emit(self.constant(0, i1)), node.op
        given = self.numbers(
            op.arguments if isinstance(op, scf.WhileOp) else (op.lb, *op.iter_args)
        )
        header = op.body.block if isinstance(op, scf.ForOp) else op.before_region.block
        body = op.body.block if isinstance(op, scf.ForOp) else op.after_region.block
        with self.region([i1, *(value.type for value in given)]) as test:
            stop, *values = test.args
            self.scalars.update(zip(_scalars(header.args), values, strict=True))
            self.nodes(node.test)
            if isinstance(op, scf.ForOp):
                passed = values
                more = self.emit(arith.CmpiOp(values[0], self.scalars[op.ub], "slt"))
            else:
                assert header.last_op is not None
                more = self.scalars[header.last_op.operands[0]]
                passed = self.numbers(passed_on(header))
            stays = self.emit(arith.XOrIOp(stop, self.emit(self.constant(1, i1))))
            self.block.add_op(scf.ConditionOp(self.emit(arith.AndIOp(more, stays)), *passed))
        after = self.state
        types = [value.type for value in passed]
        with self.region(types) as round_:
            self.scalars.update(zip(_scalars(body.args), round_.args, strict=True))
            self.nodes(node.body)
            following = self.numbers(passed_on(body))
            if isinstance(op, scf.ForOp):
                count = arith.AddiOp(round_.args[0], self.scalars[op.step])
                following.insert(0, self.emit(count))
            if may_last(node):
                asked = self.poll()
            else:
                self.meet(is_alone=is_alone)
                asked = self.emit(self.constant(0, i1))
            self.block.add_op(scf.YieldOp(asked, *following))
        self.state = after
        loop = scf.WhileOp([unasked, *given], types, Region(test), Region(round_))
        self.block.add_op(loop)
        found = loop.results[1:] if isinstance(op, scf.ForOp) else loop.results
        self.scalars.update(zip(_scalars(op.results), found, strict=True))

    def poll(self) -> SSAValue:
        """Whether loops are to end; all threads arrive before one goes on."""
        thread, threads, team = self.args[4:7]
        call = llvm.CallOp(POLL, team, thread, threads, self.words, return_type=i64)
        return self.emit(arith.CmpiOp(self.emit(call), self.number(0), "ne"))

    def numbers(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Those of some values that are numbers in registers."""
        return [self.scalars[value] for value in _scalars(values)]

    # -- addresses --------------------------------------------------------------------------------

    def emit(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def constant(self, value: int, type_: IntegerType = i64) -> llvm.ConstantOp:
        return llvm.ConstantOp(whole_number(type_, value), type_)

    def number(self, value: int) -> SSAValue:
        if not is_open(value):
            return self.emit(self.constant(value))
        assert self.lengths is not None, "a program with lengths has a table of them"
        slot = self.step([self.address(self.lengths)], place_of(value), i64)
        return self.emit(load_op(slot, i64, 8))

    def address(self, place: Storage) -> SSAValue:
        """The address of a tensor."""
        known = self.addresses.get(place)
        if known is not None:
            return known
        inputs, outputs, constants, workspace = self.args[:4]
        match place.place:
            case "input" | "output":
                table = inputs if place.place == "input" else outputs
                slot = self.step([table], place.number, POINTER)
                known = self.emit(load_op(slot, POINTER, 8))
                if place.before:
                    known = self.offset(known, place.before)
            case "length":
                assert self.lengths is not None
                known = self.offset(self.address(self.lengths), 8 * place.number)
            case "constant":
                known = self.offset(constants, place.number)
            case _:
                known = self.offset(workspace, self.frame.offsets[place.number] + place.before)
        self.addresses[place] = known
        return known

    def offset(self, base: SSAValue, offset: int) -> SSAValue:
        # GEP takes 32-bit literals only, and weights can be larger.
        return self.step([base, self.number(offset)], llvm.GEP_USE_SSA_VAL, i8)

    def step(self, operands: Sequence[SSAValue], offset: int, storage: Attribute) -> SSAValue:
        """The address some elements after another."""
        return self.emit(address_op(operands, offset, storage))


def _held(type_: Attribute) -> IntegerType:
    """The type of a number of the program in a register."""
    return IntegerType(type_.width.data) if is_integer_type(type_) else i64


def _scalars(values: Sequence[SSAValue]) -> list[SSAValue]:
    """The numbers among some values."""
    return [value for value in values if is_scalar(value.type)]
