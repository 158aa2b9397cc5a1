"""The steps of a function, its branches and loops, and where their tensors lie."""

from collections import Counter, deque
from collections.abc import Collection, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import func, scf, tensor
from xdsl.ir import Block, Operation, SSAValue

from xrelay.analysis.facts.operation_count import operation_count
from xrelay.dialects.base import RelayOp
from xrelay.dialects.branches import passed_on
from xrelay.dialects.core.failure import FailOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, FusedOp, YieldOp
from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import HasNoCode
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.evaluate import Leaf
from xrelay.lowering.emit.format import Format, row_major
from xrelay.lowering.emit.group import Group, group_of
from xrelay.lowering.program.elements import with_rounds
from xrelay.lowering.program.kernel import Kernel, build_kernel, kernel_inputs
from xrelay.lowering.program.on_demand import Rest
from xrelay.lowering.program.operations import (
    PASSING_ON,
    SCALARS,
    TERMINATORS,
    LoopOp,
    calls_kernel,
    carried_values,
    constant_number,
    program_ops,
    surrounding_block,
)
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.places import Places
from xrelay.lowering.program.selection import Choice, Choices
from xrelay.lowering.program.small import is_small_copy
from xrelay.lowering.program.steps import (
    CALL,
    COPY,
    Branch,
    Call,
    Fail,
    Load,
    Loop,
    Node,
    Rows,
    Scalar,
    Step,
)
from xrelay.lowering.program.storage import (
    Storage,
    byte_size,
    leaf_bytes,
    leaves_of,
    origin,
    tensor_type_of,
    value_types,
)

NO_STEPS = (func.ReturnOp, YieldOp, ConstantOp, tensor.EmptyOp, *PASSING_ON, *TERMINATORS)
"""Operations that do nothing when the program runs."""


@dataclass(eq=False)
class Lowering:
    """The nodes of the entry function so far."""

    options: KernelOptions
    choices: Choices
    places: Places
    rests: Mapping[Leaf, Rest]
    """What is to be computed of results whose beginning is there already."""
    nodes: list[Node] = field(default_factory=list[Node])
    """Those of the region that is being lowered."""
    calls: list[Call] = field(default_factory=list[Call])
    """All steps, in the order of the program."""
    kernels: dict[Hashable, Kernel] = field(default_factory=dict[Hashable, Kernel])
    names: dict[str, int] = field(default_factory=dict[str, int])
    """How many functions have each name, up to a number at its end, less one."""
    counts: tuple[int, ...] = ()
    """The lengths that the loops have as many rounds as whose code is made."""
    functions: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the functions are called that are called by functions."""
    failures: dict[str, int] = field(default_factory=dict[str, int])
    """The messages that the program may end with, with their numbers."""

    def run(self, function: func.FuncOp) -> None:
        """Lowers a function: its operations, and copies of results that are not where they belong."""
        block = function.body.block
        for number, leaf in enumerate(leaves_of(*block.args)):
            self.places.storage[leaf] = Storage("input", number)
        self.block(block)
        outputs = enumerate(returned(function))
        self.move([(leaf, Storage("output", number)) for number, leaf in outputs])

    def block(self, block: Block) -> None:
        """Adds what the operations of a block do."""
        for op in block.ops:
            self.lower(op)

    def lower(self, op: Operation) -> None:
        """Adds what one operation does."""
        match op:
            case _ if isinstance(op, NO_STEPS):
                pass
            case RefCreateOp():
                self.copy_leaves(op.value, op.result, self.result_storage(op))
            case RefReadOp():
                self.copy_leaves(op.ref, op.result, self.result_storage(op))
            case RefWriteOp():
                count = len(value_types(op.value.type))
                cell = tuple(self.places.locate((op.ref, i)) for i in range(count))
                self.copy_leaves(op.value, op.value, cell)
            case FailOp():
                self.result_storage(op)
                message = op.message.data
                self.nodes.append(Fail(self.failures.setdefault(message, len(self.failures))))
            case CompositeOp():
                self.block(op.block)
            case FusedOp() | RelayOp() if op in self.places.plan.joined:
                self.copy_rest(op)
            case FusedOp() | RelayOp():
                if origin((op.results[0], 0)) == (op.results[0], 0):
                    self.call(op)
            case tensor.ExtractOp():
                self.load(op)
            case tensor.FromElementsOp():
                self.write(op)
            case tensor.InsertSliceOp():
                self.insert(op)
            case func.CallOp():
                self.invoke(op)
            case scf.IfOp():
                self.branch(op)
            case scf.ForOp() | scf.WhileOp():
                self.loop(op)
            case _ if isinstance(op, SCALARS):
                self.nodes.append(Scalar(op))
            case _:
                raise HasNoCode(
                    f"{op.name} cannot be lowered: only operators of the relay dialect are"
                )

    # -- branches, loops, and single numbers ------------------------------------------------------

    def write(self, op: tensor.FromElementsOp) -> None:
        """Adds the step that makes a tensor of a number."""
        size = leaf_bytes((op.result, 0))
        step, is_alone = Step(COPY, (), 0, size), self.options.has_small_steps
        places = self.result_storage(op)
        self.add(Call(None, (), places, step, size, number=op.elements[0], is_alone=is_alone))

    def load(self, op: tensor.ExtractOp) -> None:
        """Adds the load of an element, whose place `check_flow` has seen to be a constant."""
        leaf = (op.tensor, 0)
        shape = tensor_type_of(leaf).get_shape()
        kind = element(tensor_type_of(leaf).element_type)
        indices = [constant_number(index) or 0 for index in op.indices]
        strides = row_major(shape).strides
        before = sum(i * stride for i, stride in zip(indices, strides, strict=True)) * kind.bytes
        place = self.places.locate(leaf)
        self.places.use(place, max(self.places.steps - 1, 0))
        self.nodes.append(Load(op.result, place, before, kind))

    def insert(self, op: tensor.InsertSliceOp) -> None:
        """Adds the copy of a row into a tensor, which is copied before unless nobody reads it."""
        source, (place,) = self.places.locate((op.dest, 0)), self.result_storage(op)
        if source != place:
            self.copy(source, place, leaf_bytes((op.dest, 0)))
        size, row = leaf_bytes((op.source, 0)), self.places.locate((op.source, 0))
        rows = Rows(op.offsets[0], tensor_type_of((op.dest, 0)).get_shape()[0])
        self.copy(row, place, size, rows)

    def invoke(self, op: func.CallOp) -> None:
        """Adds the call of a function, which gives tensors that lie row-major, and takes such."""
        reads = tuple(map(self.places.locate, leaves_of(*op.operands)))
        writes = self.result_storage(op)
        moved = sum(map(leaf_bytes, leaves_of(*op.operands, *op.results)))
        step = Step(CALL, (), 0, moved, op)
        self.add(Call(None, reads, writes, step, function=self.functions[op.callee.string_value()]))

    def branch(self, op: scf.IfOp) -> None:
        """Adds a branch, each side of which leaves its results in the same places."""
        results = list(leaves_of(*op.results))
        sides: list[Sequence[Node]] = []
        for region in op.regions:
            with self.collected() as side:
                if region.blocks:
                    self.block(region.block)
                    self.pass_on(passed_on(region.block), results)
            sides.append(side)
        self.nodes.append(Branch(op, tuple(sides)))

    def loop(self, op: LoopOp) -> None:
        """Adds a loop. What it carries lies in one place in all rounds."""
        carried = carried_values(op)
        leaves = list(leaves_of(*(value for value, _ in carried)))
        self.pass_on([before for _, before in carried], leaves)
        test, body = op.regions if isinstance(op, scf.WhileOp) else (None, op.body)
        with self.places.loop():
            with self.collected() as before:
                if test is not None:
                    self.block(test.block)
            with self.collected() as after, self.rounds(op):
                self.block(body.block)
                self.pass_on(passed_on(body.block), leaves)
        self.nodes.append(Loop(op, before, after))

    @contextmanager
    def rounds(self, op: LoopOp) -> Generator[None]:
        """Around the code of the rounds of a loop, whose kernels are code for lengths with which there are rounds."""
        outer, count = self.counts, None
        if isinstance(op, scf.ForOp) and constant_number(op.lb) == 0:
            count = constant_number(op.ub)
        if count is None or not is_open(count):
            yield
            return
        self.counts = (*outer, count)
        with with_rounds(count):
            yield
        self.counts = outer

    @contextmanager
    def collected(self) -> Generator[Sequence[Node]]:
        """The nodes that are added meanwhile."""
        outer, self.nodes = self.nodes, []
        yield self.nodes
        self.nodes = outer

    def pass_on(self, values: Iterable[SSAValue], leaves: Sequence[Leaf]) -> None:
        """Brings values to the places of others, all at once."""
        pairs = zip(leaves_of(*values), leaves, strict=True)
        self.move([(leaf, self.places.place(target)) for leaf, target in pairs])

    def move(self, moves: Sequence[tuple[Leaf, Storage]]) -> None:
        """
        Copies tensors to places, of which some may hold others of these tensors. Of a tensor without
        content there is nothing to copy.
        """
        pending = {
            place: (source, leaf_bytes(leaf))
            for leaf, place in moves
            if not isinstance(origin(leaf)[0].owner, tensor.EmptyOp)
            and (source := self.places.locate(leaf)) != place
        }
        readers = Counter(source for source, _ in pending.values())
        ready = deque(place for place in pending if place not in readers)
        while pending:
            if not ready:  # What is left goes round in circles: one tensor makes way.
                (place, (source, size)) = next(iter(pending.items()))
                aside = self.places.new_buffer(size)
                self.copy(source, aside, size)
                pending[place] = aside, size
                readers[aside] = 1
                ready.append(source)
            place = ready.popleft()
            source, size = pending.pop(place)
            self.copy(source, place, size)
            readers[source] -= 1
            if not readers[source] and source in pending:
                ready.append(source)

    # -- steps ----------------------------------------------------------------------------------

    def result_storage(self, op: Operation) -> tuple[Storage, ...]:
        """Places for the tensors that an operation computes."""
        return tuple(map(self.places.place, leaves_of(*op.results)))

    def copy_leaves(self, source: SSAValue, like: SSAValue, places: Sequence[Storage]) -> None:
        """Copies every tensor of a value, or of the cell of a reference."""
        for i, type_ in enumerate(value_types(like.type)):
            self.copy(self.places.locate((source, i)), places[i], byte_size(type_))

    def copy_rest(self, op: Operation) -> None:
        """Copies the fields of a concatenation that were not computed where they belong."""
        (whole,) = self.result_storage(op)
        for leaf, offset in self.places.plan.joined[op]:
            place = Storage(whole.place, whole.number, whole.before + offset)
            self.copy(self.places.locate(leaf), place, leaf_bytes(leaf))

    def copy(self, source: Storage, place: Storage, size: int, rows: Rows | None = None) -> None:
        """Adds a copy, to all of a tensor or to one of its rows."""
        step = Step(COPY, (), 0, 2 * size)
        is_alone = is_small_copy(size, self.options)
        self.add(Call(None, (source,), (place,), step, size, rows, is_alone=is_alone))

    def add(self, call: Call) -> None:
        """Adds a step."""
        for place in (*call.reads, *call.writes):
            self.places.use(place, self.places.steps)
        self.calls.append(call)
        self.nodes.append(call)
        self.places.steps += 1

    def call(self, op: Operation) -> None:
        """Adds the call of a kernel."""
        group, plan = group_of(op), self.places.plan
        sources = kernel_inputs(group, group.args)
        results = list(leaves_of(op.results[0]))
        choices = self.choices.get(op, ())
        formats = tuple(map(plan.format, sources)), tuple(map(plan.format, results))
        rests = tuple(map(self.rests.get, results))
        kernel = self.kernel(group, choices, *formats, rests)
        reads: list[Storage] = []
        for i, (leaf, seen) in enumerate(
            zip(sources, kernel_inputs(group, group.params), strict=True)
        ):
            if i in kernel.packings:
                reads.append(self.places.constant(group.known[seen[0]], kernel.packings[i]))
            else:
                reads.append(self.places.locate(leaf))
        step = Step(
            kernel.function.sym_name.data,
            choices,
            sum(map(operation_count, group.ops)),
            sum(map(leaf_bytes, (*sources, *results))),
            op,
        )
        places = tuple(reads), self.result_storage(op)
        self.add(Call(kernel, *places, step, is_alone=kernel.is_alone))

    def kernel(
        self,
        group: Group,
        choices: tuple[Choice, ...],
        inputs: tuple[Format, ...],
        outputs: tuple[Format, ...],
        rests: tuple[Rest | None, ...],
    ) -> Kernel:
        """
        The kernel of a group; groups of the same structure on the same formats share one, where they are
        computed alike.
        """
        chosen = tuple(choice.key for choice in choices)
        key = group.key(), chosen, inputs, outputs, rests, self.counts
        known = self.kernels.get(key)
        if known is None:
            base = group.name()
            number = self.names[base] = self.names.get(base, -1) + 1
            name = base if number == 0 else f"{base}_{number}"
            known = build_kernel(group, name, self.options, choices, inputs, outputs, rests)
            self.kernels[key] = known
        return known


def branch_targets(block: Block, wanted: Collection[Leaf]) -> dict[Leaf, Leaf]:
    """
    What the branches of a program compute themselves and give, which they can compute where the result of
    the branches lies; but none of the tensors `wanted`, which have places of their own.
    """
    targets: dict[Leaf, Leaf] = {}
    for op in program_ops(block):
        if not isinstance(op, scf.IfOp):
            continue
        results = list(leaves_of(*op.results))
        for region in op.regions:
            given = list(leaves_of(*passed_on(region.block))) if region.blocks else []
            for leaf, result in zip(given, results, strict=bool(given)):
                source = origin(leaf)
                owner = source[0].owner
                if not calls_kernel(owner) and not isinstance(owner, scf.IfOp):
                    continue
                if surrounding_block(owner) is region.block and source not in wanted:
                    targets.setdefault(source, result)
    return targets


def returned(function: func.FuncOp) -> list[Leaf]:
    """The tensors that a function returns."""
    end = function.body.block.last_op
    assert end is not None
    return list(leaves_of(*end.operands))
