"""
The printer of TVM's Relay text format 0.0.5.

Each operation becomes a binding `%1 = …;`, a `relay.let` a `let`, and what a function returns the
expression at its end. Nested regions are driven by `steps.run`, so that Python's stack does not
grow with them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import IO, Any, cast

from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xrelay.analysis.facts.steps import Step, run
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core import adt, functional
from xrelay.dialects.core import values as core
from xrelay.dialects.core.device import VirtualDeviceAttr
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.frontends.relay_text.attributes import BESIDE_OPERANDS, SCHEMAS, quoted, text_of
from xrelay.frontends.relay_text.effects import Effects
from xrelay.frontends.relay_text.errors import RelayPrintError
from xrelay.frontends.relay_text.metadata import MetadataWriter
from xrelay.frontends.relay_text.type_printer import scalar_text, type_text

DEEPEST_INDENT = 40
"""Nesting beyond this is not indented further: deep nesting would make long lines of spaces."""


def print_relay_text(
    module: ModuleOp,
    stream: IO[str] | None = None,
    *,
    tvm_compatible: bool = False,
    types: bool = False,
) -> str:
    """
    A module in TVM's Relay format 0.0.5, written to `stream` too when one is given.

    Numbers are exact. With `tvm_compatible` they have six significant digits, as TVM prints them,
    and attributes are spelled as its reader expects them. With `types` comments state the types
    of results.

    Raises RelayPrintError, which names what Relay text has no words for.
    """
    text = Printer(module, tvm_compatible=tvm_compatible, types=types).module()
    if stream is not None:
        stream.write(text)
    return text


_TRANSPARENT = (functional.InstantiateOp, functional.LetOp, tensor.CastOp, tensor.ExtractOp)
"""Operations that are never an expression at the end of a block or in a `let`."""


class Names:
    """Names for values that are different in all of a module."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}

    def fresh(self, hint: str | None) -> str:
        """A name like `hint`."""
        base = re.sub(r"\W", "_", hint or "v", flags=re.ASCII)
        base = re.sub(r"(_\d+)+$", "", base) or "v"  # what xDSL does not keep of names
        if base[0].isdigit():
            base = f"v{base}"
        name = base
        while name in self.taken:
            self.counts[base] = self.counts.get(base, 0) + 1
            name = f"{base}{self.counts[base]}"
        self.taken.add(name)
        return name


class Printer:
    """The state of printing one module."""

    def __init__(self, module: ModuleOp, *, tvm_compatible: bool, types: bool):
        self.module_ = module
        self.tvm_compatible = tvm_compatible
        self.types = types
        self.out = StringIO()
        self.metadata = MetadataWriter()
        self.effects = Effects(module)
        self.names = Names()
        self.texts: dict[SSAValue, str] = {}
        """How the values printed so far are named."""
        self.count = 0
        """The number of the next graph binding."""
        self.depth = 0
        self._bodies: dict[type[Operation], Callable[[Any, Callable[[], str], str], Step[None]]] = {
            adt.MatchOp: self._match,
            core.CompositeOp: self._in_place,
            core.FusedOp: self._in_place,
            functional.ClosureOp: self._closure,
            scf.IfOp: self._if,
        }

    def module(self) -> str:
        """All of the module."""
        self.out.write('#[version = "0.0.5"]\n')
        for index, op in enumerate(self.module_.body.block.ops):
            if index:
                self.out.write("\n")
            match op:
                case adt.TypeDefOp():
                    self._type_definition(op)
                case func.FuncOp():
                    self._function(op)
                case _:
                    raise RelayPrintError(f"Relay text has no words for {op.name} in a module")
        self.out.write(self.metadata.text())
        return self.out.getvalue()

    # -- definitions -----------------------------------------------------------------------------

    def _type_definition(self, op: adt.TypeDefOp) -> None:
        names = ", ".join(op.param_names)
        head = f"type {op.sym_name.data}" + (f"[{names}]" if names else "")
        if op.constructors is None:
            self.out.write(f"extern {head}\n")
            return
        self.out.write(f"{head} {{\n")
        for constructor in op.constructors:
            fields = ", ".join(map(type_text, constructor.fields))
            self.out.write(f"  {constructor.constructor.data}{f'({fields})' if fields else ''},\n")
        self.out.write("}\n")

    def _function(self, op: func.FuncOp) -> None:
        if op.is_declaration:
            raise RelayPrintError(
                f"function @{op.sym_name.data} has no body, which Relay text has no words for"
            )
        self.texts.clear()
        self.count = 0
        attributes = dict(op.attributes)
        attributes.pop(functional.TYPE_PARAMS, None)
        attrs: Sequence[DictionaryAttr] = op.arg_attrs.data if op.arg_attrs else ()
        params = self._params(op.args, attrs)
        type_params = functional.type_params_of(op)
        outputs = list(map(type_text, op.function_type.outputs))
        result = outputs[0] if len(outputs) == 1 else _tuple(outputs)
        self.out.write(
            f"def {_global(op.sym_name.data)}{_type_params(type_params)}"
            f"({', '.join([*params, *self._attributes(attributes)])}) -> {result} {{\n"
        )
        run(self._block(op.body.block))
        self.out.write("}\n")

    def _params(self, args: Sequence[SSAValue], attrs: Sequence[DictionaryAttr] = ()) -> list[str]:
        """Parameters, which get names."""
        params: list[str] = []
        for index, arg in enumerate(args):
            name = self.texts[arg] = f"%{self.names.fresh(arg.name_hint)}"
            stated = ""
            if index < len(attrs) and attrs[index].data:
                stated = " {" + ", ".join(self._attributes(attrs[index].data)) + "}"
            params.append(f"{name}{stated}: {type_text(arg.type)}")
        return params

    def _attributes(self, attributes: dict[str, Attribute] | Any) -> list[str]:
        """The attributes of a function or a parameter."""
        found: list[str] = []
        for name, value in attributes.items():
            text = self._attribute(value)
            if text is None:
                raise RelayPrintError(f"Relay text has no words for attribute {name} = {value}")
            found.append(f"{name}={text}")
        return found

    def _attribute(self, value: Attribute) -> str | None:
        match value:
            case UnitAttr():
                return "None"
            case VirtualDeviceAttr():
                return self.metadata.virtual_device(value)
            case DenseIntOrFPElementsAttr():
                return self.metadata.constant(value, cast(TensorType[Attribute], value.get_type()))
            case ArrayAttr():
                fields = [self._attribute(item) for item in value]
                known = [field for field in fields if field is not None]
                return f"[{', '.join(known)}]" if len(known) == len(fields) else None
            case _:
                return text_of(value)

    # -- blocks ----------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self.out.write("  " * min(self.depth, DEEPEST_INDENT))
        self.out.write(text)

    def _block(self, block: Block) -> Step[None]:
        """The operations of a block, one a line, and what it gives at the end."""
        self.depth += 1
        end = block.last_op
        assert end is not None
        kept = set(self.effects.out_of_order(block))
        results = end.operands
        for op in block.ops:
            if op is end:
                break
            if op not in kept and self._waits(op, block):
                continue
            yield self._statement(op, op in kept)
        last = results[0] if len(results) == 1 else None
        if last is not None and last not in self.texts:
            assert isinstance(last.owner, Operation)
            yield self._write(last.owner, str, "\n")
        elif last is not None:
            self._line(f"{self.texts[last]}\n")
        else:
            self._line(f"{_tuple([self.texts[value] for value in results])}\n")
        self.depth -= 1

    def _waits(self, op: Operation, block: Block) -> bool:
        """Whether an operation is printed where its only user is: a `let`, or the end."""
        if len(op.results) != 1 or isinstance(op, _TRANSPARENT):
            return False
        use = op.results[0].get_user_of_unique_use()
        if use is None or use.parent is not block:
            return False
        recursive = isinstance(op, functional.ClosureOp) and op.recursive
        at_end = use is block.last_op and len(use.operands) == 1 and not recursive
        return isinstance(use, functional.LetOp) or at_end

    def _statement(self, op: Operation, kept: bool) -> Step[None]:
        """An operation that is printed where it stands."""
        if isinstance(op, functional.LetOp):
            yield self._let(op)
            return
        if isinstance(op, tensor.ExtractOp) and not op.indices:
            self.texts[op.result] = self.texts[op.tensor]  # the condition of an `if`
            return
        if isinstance(op, tensor.CastOp | functional.InstantiateOp):
            self.texts[op.results[0]] = self.texts[op.operands[0]]  # the text infers it
            return
        atom = self._atom(op)
        if atom is not None:
            shared = op.results[0].has_more_than_one_use() and not atom.startswith(("@", "meta["))
            if not shared or self.tvm_compatible:
                self.texts[op.results[0]] = atom
                return
        if kept or (isinstance(op, functional.ClosureOp) and op.recursive):
            yield self._write(op, lambda: f"let {self._let_name(op)} = ", ";\n")
            return
        yield self._write(op, lambda: f"{self._graph_name(op.results)} = ", ";\n")

    def _graph_name(self, results: Sequence[SSAValue]) -> str:
        """The next name `%1`, which becomes that of the results of an operation."""
        name = f"%{self.count}"
        self.count += 1
        for index, result in enumerate(results):
            self.texts[result] = name if len(results) == 1 else f"{name}.{index}"
        return name

    def _let_name(self, op: Operation) -> str:
        """The name of a `let`, which becomes that of the result of an operation."""
        value = op.results[0]
        name = self.texts[value] = f"%{self.names.fresh(value.name_hint)}"
        inner = op.value.owner if isinstance(op, functional.LetOp) else op
        if isinstance(inner, functional.ClosureOp) and inner.recursive:
            self.texts[inner.block.args[0]] = name
        return name

    def _let(self, op: functional.LetOp) -> Step[None]:
        text = self.texts.get(op.value)
        if text is not None:
            self._line(f"let {self._let_name(op)} = {text};\n")
            return
        assert isinstance(op.value.owner, Operation)
        yield self._write(op.value.owner, lambda: f"let {self._let_name(op)} = ", ";\n")

    def _atom(self, op: Operation) -> str | None:
        """What is written as one word, wherever it is used."""
        match op:
            case core.ConstantOp():
                return self._constant(op)
            case functional.GlobalVarOp():
                return _global(op.function.string_value())
            case adt.ConstructorOp():
                return adt.constructor_name(op.constructor)
            case adt.ConstructOp() if not op.fields:
                return adt.constructor_name(op.constructor)
            case _:
                return None

    def _constant(self, op: core.ConstantOp) -> str:
        type_ = op.result.type
        literal = scalar_text(op.value, type_, six_digits=self.tvm_compatible)
        if literal is not None:
            return literal
        try:
            return self.metadata.constant(op.value, type_)
        except ValueError as error:
            raise RelayPrintError(f"a constant cannot be printed: {error}") from error

    # -- expressions -----------------------------------------------------------------------------

    def _write(self, op: Operation, begin: Callable[[], str], end: str) -> Step[None]:
        """
        Lines that compute the result of an operation. `begin` gives what stands before the
        expression, when that is written.
        """
        comment = self._type_comment(op)
        body = self._bodies.get(type(op))
        if body is not None:
            yield body(op, begin, comment + end)
            return
        self._line(f"{begin()}{self._expression(op)}{comment}{end}")

    def _type_comment(self, op: Operation) -> str:
        if not self.types or len(op.results) != 1:
            return ""
        return f" /* ty={type_text(op.results[0].type)} */"

    def _list(self, values: Sequence[SSAValue]) -> str:
        return ", ".join([self.texts[value] for value in values])

    def _expression(self, op: Operation) -> str:
        """An operation without regions."""
        atom = self._atom(op)
        if atom is not None:
            return atom
        match op:
            case core.TupleOp():
                return _tuple([self.texts[field] for field in op.fields])
            case core.TupleGetItemOp():
                return f"{self.texts[op.tuple_value]}.{op.index.value.data}"
            case RefCreateOp():
                return f"ref({self.texts[op.value]})"
            case RefReadOp():
                return f"ref_read({self.texts[op.ref]})"
            case RefWriteOp():
                return f"ref_write({self._list(op.operands)})"
            case adt.ConstructOp():
                name = adt.constructor_name(op.constructor)
                return f"{name}({self._list(op.fields)})"
            case functional.ApplyOp():
                return f"{self.texts[op.function]}({self._list(op.args)})"
            case func.CallOp():
                return f"{_global(op.callee.string_value())}({self._list(op.arguments)})"
            case tensor.CastOp() | functional.InstantiateOp():
                return self.texts[op.operands[0]]
            case RelayOp():
                return self._operator(op)
            case _:
                raise RelayPrintError(f"Relay text has no words for {op.name}")

    def _operator(self, op: RelayOp) -> str:
        schema = SCHEMAS.get(op.name.removeprefix("relay."))
        if schema is None:
            raise RelayPrintError(f"Relay text has no words for {op.name}")
        words = [self.texts[operand] for operand in op.operands]
        if self.tvm_compatible:
            beside = BESIDE_OPERANDS.get(schema.name, {})
            words.extend(f"{name}={text}" for name, text in beside.items() if text is not None)
        for name, definition in schema.properties.items():
            value = op.properties.get(name)
            if value is None:
                if self.tvm_compatible and name in schema.nullable:
                    words.append(f"{name}=None")
                continue
            if value == definition.default_value:
                continue
            text = self._attribute(value)
            if text is None:
                raise RelayPrintError(f"Relay text has no words for {name} = {value} of {op.name}")
            words.append(f"{name}={text}")
        return f"{schema.name}({', '.join(words)})"

    def _closure(self, op: functional.ClosureOp, begin: Callable[[], str], end: str) -> Step[None]:
        names = tuple(name.data for name in op.type_params or ())
        start = begin()
        words = [*self._params(op.params), *self._attributes(op.attributes)]
        result = ""
        if op.recursive or names:
            result = f" -> {type_text(op.yielded.type)}"
        self._line(f"{start}fn {_type_params(names)}({', '.join(words)}){result} {{\n")
        yield self._block(op.block)
        self._line(f"}}{end}")

    def _in_place(
        self, op: core.FusedOp | core.CompositeOp, begin: Callable[[], str], end: str
    ) -> Step[None]:
        """A function, and a call of it."""
        words = self._params(op.block.args)
        if isinstance(op, core.FusedOp):
            words.append("Primitive=1")
            if op.reshape_only is not None:
                words.append("relay.reshape_only=1")
        else:
            if op.partitioned_from_pattern is not None:
                words.append(f"PartitionedFromPattern={quoted(op.partitioned_from_pattern.data)}")
            words.append(f"Composite={quoted(op.composite.data)}")
        words.extend(self._attributes(op.attributes))
        name = self._graph_name(())
        self._line(f"{name} = fn ({', '.join(words)}) -> {type_text(op.yielded.type)} {{\n")
        yield self._block(op.block)
        self._line("};\n")
        self._line(f"{begin()}{name}({self._list(op.args)}){end}")

    def _if(self, op: scf.IfOp, begin: Callable[[], str], end: str) -> Step[None]:
        condition = self.texts.get(op.cond)
        if condition is None or not op.false_region.blocks:
            raise RelayPrintError(
                "Relay text has no words for scf.if without an else, or with a condition that is "
                "not extracted from a tensor"
            )
        self._line(f"{begin()}if ({condition}) {{\n")
        yield self._block(op.true_region.block)
        self._line("} else {\n")
        yield self._block(op.false_region.block)
        self._line(f"}}{end}")

    def _match(self, op: adt.MatchOp, begin: Callable[[], str], end: str) -> Step[None]:
        word = "match" if op.complete else "match?"
        self._line(f"{begin()}{word} ({self.texts[op.data]}) {{\n")
        self.depth += 1
        for pattern, region in zip(op.patterns, op.clauses, strict=True):
            params = iter(self._params(region.block.args))
            self._line(f"{run(_pattern(pattern, params))} => {{\n")
            yield self._block(region.block)
            self._line("},\n")
        self.depth -= 1
        self._line(f"}}{end}")


def _pattern(pattern: Attribute, params: Iterator[str]) -> Step[str]:
    """A pattern, whose variables are the next of `params`."""
    match pattern:
        case adt.WildcardPatternAttr():
            return "_"
        case adt.VarPatternAttr():
            return next(params)
        case adt.ConstructorPatternAttr():
            name, fields = adt.constructor_name(pattern.constructor), pattern.fields
        case adt.TuplePatternAttr():
            name, fields = "", pattern.fields
        case _:
            raise RelayPrintError(f"Relay text has no words for the pattern {pattern}")
    words: list[str] = []
    for field in fields:
        words.append((yield _pattern(field, params)))
    return f"{name}({', '.join(words)})" if words or not name else name


def _global(name: str) -> str:
    """The name of a function of the module: in quotes, unless it is a word."""
    word = re.fullmatch(r"[^\W\d]\w*(\.\w+)*", name)
    return f"@{name if word else quoted(name)}"


def _tuple(fields: Sequence[str]) -> str:
    return f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"


def _type_params(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]" if names else ""
