"""
`lazy-gradient-init`: zeros and ones are made when somebody needs their elements, if at all.

    %0 = relay.zeros_like %x                  %0 = relay.closure { relay.zeros … }
    %1 = relay.add %0, %y              ──►    %1 = relay.construct @GradCell::@Zero(%0)
    %2 = relay.multiply %1, %y                %2 = relay.construct @GradCell::@Raw(%y)
    return %2                                 %3 = relay.closure { relay.add … }
                                              %4 = relay.apply @AddGradCell(%3, %1, %2)
                                              …
                                              %8 = relay.apply @FromGradCell(%7)
                                              return %8

Tensors become values of the type `GradCell`: `Raw` of a tensor, or `Zero` or `One` of a function that makes it. Additions
and multiplications of two tensors of one known shape look at the constructors first: a sum with zeros is the other operand, and so
is a product with ones; a product with zeros is these. Everything else takes tensors, of which `FromGradCell` makes what was
not made so far. Cells go through tuples, references, function literals, branches, and data types with type parameters;
zeros and ones that escape, to operators, to functions of the module, out of it, are made there. Functions keep their types.

Where both operands are known to be `Raw` nothing changes, and a program without zeros and ones stays as it is.

Floating-point NaN and infinities times zeros are NaN, and −0 plus zeros is +0, so that such sums and products take the tensors; only a
product with ones is the other operand (`ScaleGradCell`, which the original does not have). With `unsafe` floating-point numbers are treated as integers
are, as in the original and as above: a gradient that is NaN because of a product with zeros is 0.

Other than in the original, `relay.zeros_like` is a `Zero` (there a `One`, which is added as if it were any tensor and multiplied as
if it were ones).

Refused: a reference or a data type with tensors inside that a function of the module takes or returns, as nothing could
make its tensors cells and back. Bodies of `relay.fused` and `relay.composite`, and functions for other compilers, stay.

Run it after `first-order-gradient`; `inline` and `partial-eval` then find out which cells are what.

Source: Relay's LazyGradientInit.
"""

from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.scopes import (
    UNFUSED_FUNCTIONS,
    Within,
    belongs_to_backend,
    functions_without,
)
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import blocks_in, walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import (
    ConstructOp,
    ConstructorOp,
    MatchOp,
    TypeDefOp,
    constructor_name,
    constructor_ref,
    pattern_variables,
)
from xrelay.dialects.core.functional import (
    AdtType,
    ApplyOp,
    ClosureOp,
    FnType,
    GlobalVarOp,
    Instance,
    InstantiateOp,
    LetOp,
)
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import CalledBodyOp, TupleGetItemOp, TupleOp, YieldOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.creation import OnesLikeOp, OnesOp, ZerosLikeOp, ZerosOp
from xrelay.transforms.rules.called_bodies import keeps_function
from xrelay.transforms.rules.functional.gradient_cells import (
    CELL,
    ONE,
    PRODUCT,
    RAW,
    SCALED,
    SUM,
    TENSOR_OF,
    ZERO,
    add_cells,
)
from xrelay.transforms.rules.functional.retyping import Retyping
from xrelay.transforms.rules.rewriting import Emitter, has_static_type, is_floating

CARRIERS = (
    *(ApplyOp, ClosureOp, InstantiateOp, LetOp, MatchOp, RefCreateOp, RefReadOp, RefWriteOp),
    *(TupleGetItemOp, TupleOp, scf.IfOp),
)
"""Operations that hand values on, whatever they are; the ends of their blocks do as well."""
FILLED: dict[type[Operation], tuple[str, type[OnesOp | ZerosOp]]] = {
    OnesLikeOp: (ONE, OnesOp),
    OnesOp: (ONE, OnesOp),
    ZerosLikeOp: (ZERO, ZerosOp),
    ZerosOp: (ZERO, ZerosOp),
}
"""The constructor of what is filled with one number, and the operator that needs no tensor for it."""
LAZY: dict[type[Operation], str] = {AddOp: SUM, MultiplyOp: PRODUCT}
"""The functions that stand for operators on cells."""
SAFE: dict[type[Operation], str] = {MultiplyOp: SCALED}
"""Those that keep NaN, infinities and the signs of zeros."""


def cell_of(type_: Attribute) -> Attribute:
    """The type of cells for tensors of a type; other types as they are."""
    return AdtType(CELL, [type_]) if is_tensor_type(type_) else type_


@dataclass(frozen=True)
class LazyGradientInitPass(RelayPass):
    """Makes zeros and ones when they are needed."""

    name = "lazy-gradient-init"

    unsafe: bool = False
    """Take the other summand, or zeros, for a floating-point sum or product with zeros, whatever the other operand is."""

    def rewrite(self, op: ModuleOp) -> None:
        functions = functions_without(op, UNFUSED_FUNCTIONS)
        lazy = [each for each in functions if any(map(_is_made_at_once, walk(each)))]
        if not lazy:
            return
        add_cells(op, self.unsafe)
        symbols = Symbols()
        for function in lazy:
            Cells(function, symbols, self.unsafe).run()


def _is_made_at_once(op: Operation) -> bool:
    """Whether an operation makes zeros or ones elsewhere than in the function of a cell."""
    around = op.parent_op()
    if type(op) not in FILLED or not isinstance(around, ClosureOp):
        return type(op) in FILLED
    users = [use.operation for use in around.result.uses]
    return around.yielded is not op.results[0] or not all(map(_makes_cell, users))


def _stays(op: Operation) -> bool:
    """Whether the body of an operation knows tensors only."""
    return isinstance(op, CalledBodyOp) or keeps_function(op) or belongs_to_backend(op)


def _makes_cell(op: Operation) -> bool:
    return isinstance(op, ConstructOp) and op.constructor.root_reference.data == CELL


class Cells:
    """The values of a function while its tensors become cells, which all are where they are used."""

    def __init__(self, function: func.FuncOp, symbols: Symbols, unsafe: bool):
        self.function = function
        self.symbols = symbols
        self.unsafe = unsafe
        self.lazy = Retyping(cell_of)
        self.was: dict[SSAValue, Attribute] = {}
        """The type that a value had, where it has another one now."""
        self.made_of: dict[SSAValue, SSAValue] = {}
        """For what was converted here, the value before."""
        self.made: list[Operation] = []
        """The operations that were inserted, in order."""

    def run(self) -> None:
        """Turns the tensors of the function into cells."""
        within = Within(_stays)
        for op in [op for op in walk(self.function) if not within(op)]:
            if isinstance(op, func.FuncOp):
                self._parameters(op)
            elif isinstance(op, ConstructOp | ConstructorOp):
                self._construct(op)
            elif type(op) in FILLED:
                self._fill(op)
            elif isinstance(op, AddOp | MultiplyOp) and self._may_be_filled(op):
                self._compute(op)
            elif self._carries_cells(op):
                self._carry(op)
            else:
                self._take_tensors(op)
        for op in reversed(self.made):
            if not any(result.uses for result in op.results):
                Rewriter.erase_op(op)

    # -- operations ---------------------------------------------------------------------------

    def _parameters(self, op: Operation) -> None:
        """What enters the blocks of an operation that knows tensors only."""
        for block in () if _stays(op) else blocks_in(op):
            for argument in block.args:
                self._hand_on(argument, InsertPoint.at_start(block))

    def _take_tensors(self, op: Operation) -> None:
        """An operation gets the tensors that it takes, and what it gives becomes cells."""
        emit = Emitter()
        for i, operand in enumerate(op.operands):
            if operand in self.was:
                op.operands[i] = self._converted(operand, self.was[operand], op, emit)
        self._insert(emit, InsertPoint.before(op))
        self._parameters(op)
        for result in op.results:
            self._hand_on(result, InsertPoint.after(op))

    def _carries_cells(self, op: Operation) -> bool:
        """Whether an operation hands values on, whatever they are."""
        match op:
            case YieldOp() | scf.YieldOp():
                return isinstance(op.parent_op(), ClosureOp | MatchOp | scf.IfOp)
            case ApplyOp():
                return op.function not in self.made_of
            case LetOp():
                # A name may know more dimensions of a tensor than its value, or fewer; cells of these differ.
                return self.was.get(op.value, op.value.type) == op.result.type
            case _:
                return isinstance(op, CARRIERS) and not _stays(op)

    def _carry(self, op: Operation) -> None:
        """An operation hands cells on."""
        for result in op.results:
            self._retype(result, self.lazy(result.type))
        if isinstance(op, ClosureOp):
            for argument in op.block.args:
                self._retype(argument, self.lazy(argument.type))
        elif isinstance(op, MatchOp):
            with self.symbols.known_to(op):
                bound = [
                    [type_ for _, type_ in pattern_variables(op, pattern, op.data.type)]
                    for pattern in op.patterns
                ]
            for region, types in zip(op.clauses, bound, strict=True):
                for argument, type_ in zip(region.block.args, types, strict=True):
                    self._become(argument, type_, InsertPoint.at_start(region.block))

    def _construct(self, op: ConstructOp | ConstructorOp) -> None:
        """The fields of data have the types that they have in data with cells."""
        definition = self.symbols.lookup(op, op.constructor.root_reference.data)
        assert isinstance(definition, TypeDefOp)
        _, stated = op.signature
        whole = self.lazy(stated)
        assert isinstance(whole, AdtType)
        instance = Instance(definition.param_names)
        instance.chosen.update(zip(definition.param_names, whole.args, strict=True))
        constructor = definition.by_name[constructor_name(op.constructor)]
        fields = [instance.apply(field) for field in constructor.fields]
        if isinstance(op, ConstructorOp):
            self._become(op.result, FnType(fields, whole), InsertPoint.after(op))
            return
        emit = Emitter()
        for i, (operand, field) in enumerate(zip(op.fields, fields, strict=True)):
            op.operands[i] = self._converted(operand, field, op, emit)
        self._insert(emit, InsertPoint.before(op))
        self._retype(op.result, whole)

    def _fill(self, op: Operation) -> None:
        """Zeros and ones become a function that makes them."""
        constructor, filled = FILLED[type(op)]
        emit, (result,) = Emitter(), op.results
        type_ = result.type
        assert is_tensor_type(type_) and isinstance(type_.element_type, TypeAttribute)
        if has_static_type(result):
            value = emit(filled(type_.get_shape(), type_.element_type))
        else:
            (data,) = op.operands
            data = self._converted(data, self.was.get(data, data.type), op, emit)
            value = emit(type(op).create(operands=[data], result_types=[type_]))
        outside = Emitter()
        maker = outside(_closure(Block(), emit, value))
        self._replace(op, _cell(constructor, maker, type_, outside), outside)

    def _may_be_filled(self, op: AddOp | MultiplyOp) -> bool:
        """Whether the operands have one known type, and one of them may be zeros or ones that need not be made."""
        if type(op) not in self._functions(op):
            return False
        one, other = (self.was.get(operand, operand.type) for operand in op.operands)
        known = has_static_type(op.result) and one == other == op.result.type
        return known and any(operand not in self.made_of for operand in op.operands)

    def _functions(self, op: AddOp | MultiplyOp) -> dict[type[Operation], str]:
        """The functions that stand for operators on cells of a result's type."""
        return LAZY if self.unsafe or not is_floating(op.result) else SAFE

    def _compute(self, op: AddOp | MultiplyOp) -> None:
        """Arithmetic on cells, which makes tensors only where both are needed."""
        type_ = op.result.type
        block, inside, emit = Block(arg_types=[type_, type_]), Emitter(), Emitter()
        computed = inside(type(op)(*block.args))
        function, cell = emit(_closure(block, inside, computed)), self.lazy(type_)
        inputs = [function.type, cell, cell]
        called = emit(GlobalVarOp(self._functions(op)[type(op)], FnType(inputs, cell)))
        self._replace(op, emit(ApplyOp(called, [function, *op.operands], cell)), emit)

    # -- values -------------------------------------------------------------------------------

    def _retype(self, value: SSAValue, type_: Attribute) -> None:
        """Gives a value a type with cells."""
        if value.type != type_:
            new = Rewriter.replace_value_with_new_type(value, type_)
            self.was[new] = value.type

    def _become(self, value: SSAValue, found: Attribute, place: InsertPoint) -> None:
        """Gives a value the type that was found for it, and hands it on with cells."""
        before, wanted = value.type, self.lazy(value.type)
        if found == wanted:
            self._retype(value, wanted)
        else:  # A data type names a tensor.
            if found != before:
                value = Rewriter.replace_value_with_new_type(value, found)
            self._hand_on(value, place, before)

    def _hand_on(
        self, value: SSAValue, place: InsertPoint, before: Attribute | None = None
    ) -> None:
        """Users of a value that is no cell get one."""
        before = value.type if before is None else before
        wanted = self.lazy(before)
        if wanted == value.type:
            return
        uses, emit = tuple(value.uses), Emitter()
        owner = value.owner
        op = owner if isinstance(owner, Operation) else self.function
        new = self._converted(value, wanted, op, emit)
        for use in uses:
            use.operation.operands[use.index] = new
        self.was[new] = before
        self.made_of[new] = value
        self._insert(emit, place)

    def _converted(
        self, value: SSAValue, wanted: Attribute, op: Operation, emit: Emitter
    ) -> SSAValue:
        """
        A value as one of a type in which tensors are cells, or cells tensors.

        Raises PassFailedException for what holds others in a way that cannot be changed.
        """
        source = self.made_of.get(value)
        match value.type, wanted:
            case found, _ if found == wanted:
                return value
            case _ if source is not None and source.type == wanted:
                return source
            case AdtType(), _ if value.type == cell_of(wanted):
                called = emit(GlobalVarOp(TENSOR_OF, FnType([value.type], wanted)))
                return emit(ApplyOp(called, [value], wanted))
            case found, AdtType() if wanted == cell_of(found):
                return _cell(RAW, value, found, emit)
            case TupleType(), TupleType():
                fields = [emit(TupleGetItemOp(value, i)) for i in range(len(wanted.types))]
                pairs = zip(fields, wanted.types, strict=True)
                return emit(TupleOp([self._converted(*pair, op, emit) for pair in pairs]))
            case FnType(), FnType():
                block, inside = Block(arg_types=wanted.inputs), Emitter()
                pairs = zip(block.args, value.type.inputs, strict=True)
                args = [self._converted(*pair, op, inside) for pair in pairs]
                result = inside(ApplyOp(value, args, value.type.output))
                result = self._converted(result, wanted.output, op, inside)
                return emit(_closure(block, inside, result))
            case found, _:
                raise PassFailedException(
                    f"{operation_text(op)}: {wanted} cannot be made of {found}; tensors, tuples and "
                    "functions of them can"
                )

    def _replace(self, op: Operation, cell: SSAValue, emit: Emitter) -> None:
        """Puts a cell in the place of an operator's result."""
        cell.name_hint = op.results[0].name_hint
        self.was[cell] = op.results[0].type
        Rewriter.replace_op(op, emit.located(op), [cell])

    def _insert(self, emit: Emitter, place: InsertPoint) -> None:
        for op in emit.ops:
            Rewriter.insert_op(op, place)
        self.made.extend(emit.ops)


def _closure(block: Block, emit: Emitter, result: SSAValue) -> ClosureOp:
    """The function of a block with these operations, which returns a result."""
    block.add_ops([*emit.ops, YieldOp(result)])
    return ClosureOp(Region(block))


def _cell(constructor: str, field: SSAValue, type_: Attribute, emit: Emitter) -> SSAValue:
    """A cell for a tensor of a type."""
    return emit(ConstructOp(constructor_ref(CELL, constructor), [field], AdtType(CELL, [type_])))
