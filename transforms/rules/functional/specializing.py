"""Functions with type parameters for the types that they are used at: each use gets a copy of its own types."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.names import module_symbols, operation_text, unused_name
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import blocks_in, walk
from xrelay.dialects.core.functional import (
    TYPE_PARAMS,
    ApplyOp,
    ClosureOp,
    FnType,
    ForallType,
    GlobalVarOp,
    Instance,
    InstantiateOp,
    LetOp,
    replace_type_vars,
    type_params_of,
    types_inside,
)
from xrelay.transforms.rules.copying import copied

MOST_INSTANCES = 100
"""For how many types a function is copied: one that calls itself at ever larger types has no end of them."""


def holds_function(type_: Attribute) -> bool:
    """Whether values of a type are functions or hold some."""
    return any(isinstance(part, FnType | ForallType) for part in types_inside((type_,)))


def retype(root: Operation, convert: Callable[[Attribute], Attribute]) -> None:
    """Converts the types of all values in an operation, and those of functions."""
    for op in walk(root):
        for value in (*op.results, *(arg for block in blocks_in(op) for arg in block.args)):
            type_ = convert(value.type)
            if type_ != value.type:
                Rewriter.replace_value_with_new_type(value, type_)
        if isinstance(op, func.FuncOp):
            old = op.function_type
            op.function_type = FunctionType.from_lists(
                list(map(convert, old.inputs)), list(map(convert, old.outputs))
            )


@dataclass
class Specialization:
    """
    The functions that some entries need, without type parameters. What is called at types of its own, and what takes
    or gives functions, is a copy: others may call the original.
    """

    module: ModuleOp
    symbols: Symbols = field(default_factory=Symbols)
    instances: dict[tuple[func.FuncOp, tuple[Attribute, ...]], func.FuncOp] = field(
        default_factory=dict[tuple[func.FuncOp, tuple[Attribute, ...]], func.FuncOp]
    )
    pending: list[func.FuncOp] = field(default_factory=list[func.FuncOp])

    def __post_init__(self) -> None:
        self.used = module_symbols(self.module)
        self.counts = Counter[func.FuncOp]()

    def run(self, entries: list[func.FuncOp]) -> list[func.FuncOp]:
        """The functions that the entries need, they included."""
        found: list[func.FuncOp] = []
        for entry in entries:
            self.instance(entry, {}, entry)
        while self.pending:
            function = self.pending.pop()
            found.append(function)
            _specialize_literals(function)
            for op in walk(function):
                if isinstance(op, func.CallOp | GlobalVarOp):
                    self._name_instance(op)
        return found

    def _name_instance(self, op: func.CallOp | GlobalVarOp) -> None:
        """Lets an operation name the function for its types."""
        key = "callee" if isinstance(op, func.CallOp) else "function"
        name = op.properties[key]
        assert isinstance(name, SymbolRefAttr)
        called = self.symbols.lookup(op, name.string_value())
        if not isinstance(called, func.FuncOp):
            return
        instance = Instance(type_params_of(called))
        if isinstance(op, GlobalVarOp):
            instance.match(FnType(called.function_type), op.result.type)
        new = self.instance(called, instance.chosen, op)
        op.properties[key] = SymbolRefAttr(new.sym_name)

    def instance(
        self, called: func.FuncOp, types: Mapping[str, Attribute], user: Operation
    ) -> func.FuncOp:
        """A function for some types."""
        names = type_params_of(called)
        key = called, tuple(types.get(name, StringAttr(name)) for name in names)
        if key in self.instances:
            return self.instances[key]
        takes_functions = any(
            map(holds_function, (*called.function_type.inputs, *called.function_type.outputs))
        )
        if called.is_declaration or belongs_to_backend(called):
            if takes_functions or names:
                raise PassFailedException(
                    f"{operation_text(user)}: @{called.sym_name.data} has no code here that could take "
                    "functions or types as data"
                )
            self.instances[key] = called
            return called
        new = called
        if names or takes_functions:
            self.counts[called] += 1
            if self.counts[called] > MOST_INSTANCES:
                raise PassFailedException(
                    f"{operation_text(user)}: @{called.sym_name.data} is called at more types than "
                    f"{MOST_INSTANCES}, of which functions are made"
                )
            new = copied(called)
            name = unused_name(called.sym_name.data, self.used)
            self.used.add(name)
            new.properties["sym_name"] = StringAttr(name)
            new.properties["sym_visibility"] = StringAttr("private")
            new.attributes.pop(TYPE_PARAMS, None)
            _specialize_literals(new)
            retype(new, lambda type_: replace_type_vars(type_, dict(types)))
            self.module.body.block.add_op(new)
        self.instances[key] = new
        self.pending.append(new)
        return new


def _specialize_literals(function: func.FuncOp) -> None:
    """Gives each use of a function literal with type parameters a copy for its types, and removes the literal."""
    while True:
        ops = (op for op in walk(function) if isinstance(op, ClosureOp) and op.type_params)
        closure = next(ops, None)
        if closure is None:
            return
        _specialize_uses(closure.result, closure)
        Rewriter.erase_op(closure)


def _specialize_uses(value: SSAValue, closure: ClosureOp) -> None:
    for use in tuple(value.uses):
        user = use.operation
        if isinstance(user, LetOp):
            _specialize_uses(user.result, closure)
            Rewriter.erase_op(user)
        elif isinstance(user, InstantiateOp):
            assert isinstance(user.result.type, FnType)
            user.result.replace_all_uses_with(_literal_for(closure, user.result.type).result)
            Rewriter.erase_op(user)
        elif isinstance(user, ApplyOp) and use.index == 0:
            type_ = FnType(user.args.types, user.result.type)
            user.operands[0] = _literal_for(closure, type_).result
        else:
            raise PassFailedException(
                f"{operation_text(user)}: operand {use.index} is a function with type parameters, expected "
                "one of certain types"
            )


def _literal_for(closure: ClosureOp, type_: FnType) -> ClosureOp:
    """A copy of a function literal for certain types, beside it."""
    names = tuple(name.data for name in closure.type_params or ())
    general = closure.result.type
    assert isinstance(general, ForallType)
    instance = Instance(names)
    instance.match(general.body, type_)
    new = copied(closure)
    del new.properties["type_params"]
    Rewriter.insert_op(new, InsertPoint.before(closure))

    def special(each: Attribute) -> Attribute:
        return replace_type_vars(general.body if each == general else each, instance.chosen)

    retype(new, special)
    return new
