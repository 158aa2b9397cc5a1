"""
`defunctionalization`: programs without function values.

    func.func @twice(%f: !relay.fn<(T) -> T>, %x: T)         relay.type_def @Function0 [] [#relay.constructor<"Function0_0", [T]>]
      %0 = relay.apply %f(%x)                                func.func private @twice0(%f: !relay.adt<@Function0>, %x: T)
      %1 = relay.apply %f(%0)                                  %0 = func.call @apply0(%f, %x)
      return %1                                                %1 = func.call @apply0(%f, %0)
    func.func @main(%x: T, %y: T)                  ──►         return %1
      %f = relay.closure … uses %y …                         func.func @main(%x: T, %y: T)
      %0 = func.call @twice(%f, %x)                            %f = relay.construct @Function0::@Function0_0(%y)
      return %0                                                %0 = func.call @twice0(%f, %x)
                                                               return %0
                                                             func.func private @apply0(%f: !relay.adt<@Function0>, %x: T)
                                                               %0 = relay.match %f …: the code of each function of this type

- A function value is data: which function it is, and what its code uses from outside. The values of one function type
  are one data type, with a constructor for each function literal, function of the module and constructor of data
  that is used as a value. The function that the code of a literal becomes keeps its attributes, as `Primitive`.
- A call of a function value is a call of the type's `apply`, which tells the functions apart.
- Functions with type parameters, and those that take or give functions, become copies for the types that they are
  called at; `remove-unused-functions` removes the others.

Only what the entries need is rewritten. Refused: entries that take or give functions or have type parameters, data types
that are defined with functions in them, functions of unknown dimensions, a function that calls itself at ever larger types.

Source: Relay's Defunctionalization (J. Reynolds, Definitional interpreters for higher-order programming languages,
1972), which takes functions only as arguments of functions of the module.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import is_

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.names import fresh_names, operation_text
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import (
    ConstructOp,
    ConstructorAttr,
    ConstructorOp,
    ConstructorPatternAttr,
    MatchOp,
    TypeDefOp,
    VarPatternAttr,
    constructor_ref,
)
from xrelay.dialects.core.functional import (
    AdtType,
    ApplyOp,
    ClosureOp,
    FnType,
    GlobalVarOp,
    type_params_of,
    type_parts,
    types_inside,
    values_from_outside,
    with_parts,
)
from xrelay.dialects.core.values import YieldOp
from xrelay.dialects.shapes import is_dynamic, is_tensor_type
from xrelay.transforms.rules.functional.bodies import with_code_of
from xrelay.transforms.rules.functional.specializing import Specialization, holds_function, retype
from xrelay.transforms.rules.operands import exchange_operands


@dataclass(frozen=True)
class DefunctionalizationPass(RelayPass):
    """Makes data of function values."""

    name = "defunctionalization"

    entry_functions: tuple[str, ...] = ("main",)
    """The functions that are called from outside."""

    def rewrite(self, op: ModuleOp) -> None:
        graph = CallGraph.of_module(op)
        graph.require(self.entry_functions)
        entries = [graph.functions[name] for name in self.entry_functions]
        for entry in entries:
            _require_first_order(entry)
        Defunctionalization(op).run(Specialization(op).run(entries))


def _require_first_order(entry: func.FuncOp) -> None:
    for type_ in (*entry.function_type.inputs, *entry.function_type.outputs):
        if holds_function(type_):
            raise PassFailedException(
                f"entry @{entry.sym_name.data} takes or gives {type_}, expected no functions"
            )
    if type_params_of(entry):
        raise PassFailedException(
            f"entry @{entry.sym_name.data} has type parameters, expected certain types"
        )


def _call_directly(function: func.FuncOp) -> None:
    """Calls functions of the module and constructors, where these values are called at once."""
    for op in list(walk(function)):
        if not isinstance(op, GlobalVarOp | ConstructorOp):
            continue
        code = op.function.string_value() if isinstance(op, GlobalVarOp) else op
        for use in tuple(op.result.uses):
            call = use.operation
            if isinstance(call, ApplyOp) and use.index == 0:
                new = _call(code, call.args, call.result.type)
                new.location = call.location
                Rewriter.replace_op(call, new)
        if not op.result.uses:
            Rewriter.erase_op(op)


@dataclass(frozen=True)
class Case:
    """A function as data."""

    constructor: SymbolRefAttr
    fields: Sequence[Attribute]
    """The types of what its code uses from outside."""
    code: func.FuncOp | str | ConstructorOp
    """What takes the fields and the arguments: a new function, one of the module, or a constructor."""


@dataclass
class Encoding:
    """The functions of one type as data."""

    name: str
    apply: str
    cases: list[Case] = field(default_factory=list[Case])
    known: dict[str, Case] = field(default_factory=dict[str, Case])
    """The cases of functions that use nothing from outside, by their names."""

    @property
    def type(self) -> AdtType:
        """The data type."""
        return AdtType(self.name, [])

    def case(self, fields: Sequence[Attribute], code: func.FuncOp | str | ConstructorOp) -> Case:
        """A new case."""
        constructor = constructor_ref(self.name, f"{self.name}_{len(self.cases)}")
        self.cases.append(Case(constructor, fields, code))
        return self.cases[-1]


class Defunctionalization:
    """The rewrite of functions without type parameters."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.symbols = Symbols()
        self.encodings: dict[FnType, Encoding] = {}
        self.converted: dict[int, tuple[Attribute, Attribute]] = {}
        """What types become, by identity: tuples may share very many parts."""
        self.types, self.applies, self.codes = (
            fresh_names(prefix, module) for prefix in ("Function", "apply", "code")
        )
        self.code: list[func.FuncOp] = []

    def run(self, functions: Sequence[func.FuncOp]) -> None:
        """Rewrites functions, and adds the data types and what calls their values."""
        for function in functions:
            _call_directly(function)
            for op in list(walk(function, region_first=True)):
                self._rewrite(op)
        for function in (*functions, *self.code):
            retype(function, self._first_order)
        block = self.module.body.block
        block.add_ops(self.code)
        # Encodings may come to be while types are converted.
        done = 0
        while done < len(self.encodings):
            type_, encoding = list(self.encodings.items())[done]
            block.add_op(self._apply(type_, encoding))
            done += 1
        for encoding in reversed(self.encodings.values()):
            constructors = [
                ConstructorAttr(
                    case.constructor.nested_references.data[-1],
                    list(map(self._first_order, case.fields)),
                )
                for case in encoding.cases
            ]
            definition = TypeDefOp(encoding.name, (), constructors)
            Rewriter.insert_op(definition, InsertPoint.at_start(block))

    def _rewrite(self, op: Operation) -> None:
        match op:
            case ApplyOp():
                encoding = self._encoding(op.function.type, op)
                new = func.CallOp(encoding.apply, [op.function, *op.args], [op.result.type])
            case GlobalVarOp() | ConstructorOp():
                encoding = self._encoding(op.result.type, op)
                named = op.function if isinstance(op, GlobalVarOp) else op.constructor
                case = encoding.known.get(str(named))
                if case is None:
                    code = op.function.string_value() if isinstance(op, GlobalVarOp) else op
                    case = encoding.known[str(named)] = encoding.case((), code)
                new = _data(case.constructor, (), op.result.type)
            case ClosureOp():
                encoding = self._encoding(op.result.type, op)
                new = self._literal(op, encoding)
            case _:
                return
        new.location = op.location
        new.results[0].name_hint = op.results[0].name_hint
        Rewriter.replace_op(op, new)

    def _literal(self, closure: ClosureOp, encoding: Encoding) -> ConstructOp:
        """The data that a function literal becomes; its code becomes a function."""
        outside = values_from_outside(closure)
        block = closure.block
        for index, value in enumerate(outside):
            block.insert_arg(value.type, index).name_hint = value.name_hint
        own = block.args[: len(outside)]
        exchange_operands(walk(closure), dict(zip(outside, own, strict=True)))
        constructor = constructor_ref(encoding.name, f"{encoding.name}_{len(encoding.cases)}")
        if closure.recursive:
            itself = block.args[len(outside)]
            if itself.uses:
                again = _data(constructor, own, closure.result.type)
                Rewriter.insert_op(again, InsertPoint.at_start(block))
                itself.replace_all_uses_with(again.result)
            block.erase_arg(itself)
        code = with_code_of(closure, next(self.codes))
        closure.add_region(Region(Block([])))
        self.code.append(code)
        encoding.case([value.type for value in outside], code)
        return _data(constructor, outside, closure.result.type)

    def _apply(self, type_: FnType, encoding: Encoding) -> func.FuncOp:
        """The function that calls a function of a type, which is data."""
        inputs = list(map(self._first_order, type_.inputs))
        output = self._first_order(type_.output)
        block = Block(arg_types=[encoding.type, *inputs])
        patterns: list[Attribute] = []
        clauses: list[Region] = []
        for case in encoding.cases:
            fields = list(map(self._first_order, case.fields))
            clause = Block(arg_types=fields)
            args = (*clause.args, *block.args[1:])
            call = _call(case.code, args, output)
            clause.add_ops([call, YieldOp(call.results[0])])
            patterns.append(
                ConstructorPatternAttr(case.constructor, [VarPatternAttr()] * len(fields))
            )
            clauses.append(Region(clause))
        match = MatchOp(block.args[0], patterns, clauses, output)
        block.add_ops([match, func.ReturnOp(match.result)])
        signature = (block.arg_types, [output])
        return func.FuncOp(encoding.apply, signature, Region(block), visibility="private")

    def _encoding(self, type_: Attribute, user: Operation) -> Encoding:
        """The data type of functions of a type."""
        assert isinstance(type_, FnType)
        found = self.encodings.get(type_)
        if found is None:
            for part in types_inside((type_,)):
                if is_tensor_type(part) and is_dynamic(part):
                    raise PassFailedException(
                        f"{operation_text(user)}: a function is {type_}, expected known dimensions"
                    )
            found = self.encodings[type_] = Encoding(next(self.types), next(self.applies))
        return found

    def _first_order(self, type_: Attribute) -> Attribute:
        """A type with data for functions."""
        if isinstance(type_, FnType):
            return self._encoding(type_, self.module).type
        if id(type_) in self.converted:
            return self.converted[id(type_)][1]
        if isinstance(type_, AdtType):
            self._require_first_order_fields(type_)
        new = tuple(map(self._first_order, type_parts(type_)))
        same = all(map(is_, new, type_parts(type_)))
        self.converted[id(type_)] = type_, type_ if same else with_parts(type_, new)
        return self.converted[id(type_)][1]

    def _require_first_order_fields(self, type_: AdtType) -> None:
        definition = self.symbols.lookup(self.module, type_.definition.string_value())
        if not isinstance(definition, TypeDefOp):
            return
        for constructor in definition.constructors or ():
            for each in constructor.fields:
                if holds_function(each):
                    raise PassFailedException(
                        f"type @{definition.sym_name.data} has {each} in {constructor.constructor.data}, "
                        "expected no functions: types that are parameters may stand for some"
                    )


def _data(constructor: SymbolRefAttr, fields: Sequence[SSAValue], type_: Attribute) -> ConstructOp:
    """A function as data, still of the type of the function: all types are converted at the end."""
    return ConstructOp.create(
        operands=fields, result_types=[type_], properties={"constructor": constructor}
    )


def _call(
    code: func.FuncOp | str | ConstructorOp, args: Sequence[SSAValue], output: Attribute
) -> Operation:
    if isinstance(code, ConstructorOp):
        assert isinstance(output, AdtType)
        return ConstructOp(code.constructor, args, output)
    return func.CallOp(code if isinstance(code, str) else code.sym_name.data, args, [output])
