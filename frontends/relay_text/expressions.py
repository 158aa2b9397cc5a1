"""
The expressions in Relay text.

Expressions nest without limit: steps that contain others are driven by `cursor.run`, so that
Python's stack does not grow with them.
"""

from typing import Generic, TypeVar

from xdsl.ir import Attribute

from xrelay.analysis.facts.steps import Step, run
from xrelay.frontends.relay_text import literals
from xrelay.frontends.relay_text.attribute_parser import AttributeParser, global_name
from xrelay.frontends.relay_text.cursor import Cursor
from xrelay.frontends.relay_text.errors import Source
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.syntax import (
    Attrs,
    Bindings,
    Call,
    Constant,
    Expr,
    Function,
    If,
    Match,
    MetaRef,
    Module,
    NameRef,
    Pattern,
    Projection,
    Reference,
    TupleExpr,
    Variable,
)
from xrelay.frontends.relay_text.tokens import Kind, tokenize
from xrelay.frontends.relay_text.type_parser import TypeParser
from xrelay.frontends.relay_text.types import resolve

V = TypeVar("V")
E = TypeVar("E", bound=Expr)

BINARY: dict[str, tuple[int, str]] = {
    "*": (12, "multiply"),
    "/": (12, "divide"),
    "+": (10, "add"),
    "-": (10, "subtract"),
    "<": (8, "less"),
    "<=": (8, "less_equal"),
    ">": (8, "greater"),
    ">=": (8, "greater_equal"),
    "==": (7, "equal"),
    "!=": (7, "not_equal"),
}
"""The operators between two expressions: precedence, and what they call. All associate left."""

_REFERENCES = {"ref": 1, "ref_read": 1, "ref_write": 2}


class Scope(Generic[V]):
    """Names that a nested part of the text may use again for something else, and what they mean."""

    def __init__(self) -> None:
        self.values: dict[str, V] = {}
        self.hidden: list[tuple[str, V | None]] = []

    def define(self, name: str, value: V) -> None:
        """Lets `name` mean `value` until the scope that is open ends."""
        self.hidden.append((name, self.values.get(name)))
        self.values[name] = value

    def close(self, mark: int, *, keep_new: bool = False) -> None:
        """
        Lets names mean what they did when `hidden` had `mark` entries. With `keep_new`, names
        that meant nothing then stay.
        """
        while len(self.hidden) > mark:
            name, value = self.hidden.pop()
            if value is not None:
                self.values[name] = value
            elif not keep_new:
                del self.values[name]


class ExpressionParser:
    """The state of parsing one text, and its expressions."""

    def __init__(self, source: Source, *, check_types: bool = False):
        tokens = tokenize(source, stated=check_types)
        self.cursor = Cursor(tokens)
        self.metadata = Metadata(source, tokens.metadata)
        self.types = TypeParser(self.cursor)
        self.attributes = AttributeParser(self.cursor)
        self.stated = tokens.stated
        self.locals: Scope[Variable] = Scope()
        self.graph: Scope[tuple[Expr, int]] = Scope()
        """Graph bindings, and within how many function literals they were made."""
        self.pending: list[Variable] = []
        """Variables of `let` whose values are being read."""
        self.functions: list[Function] = []
        """The functions around this place, outermost first."""
        self.shallowest: list[int] = []
        """For each of `functions`, the least depth of what it uses."""
        self.module_ = Module()

    def function(self, position: int) -> Step[Function]:
        """What follows `fn` or `def @name`."""
        cursor = self.cursor
        type_params = self.types.type_params()
        self.types.scopes.append(type_params)
        function = Function(position, type_params, [])
        if type_params:
            self.module_.untyped = True
        mark = len(self.locals.hidden)
        depth = len(self.functions) + 1
        cursor.expect("(")
        while not cursor.accept(")"):
            if cursor.kinds[cursor.index] is Kind.LOCAL:
                if function.attrs:
                    cursor.unexpected("an attribute or ')': parameters stand before attributes")
                param = yield self._parameter(depth)
                function.params.append(param)
            else:
                self.attributes.attribute(
                    function.attrs, "a parameter '%name: type', an attribute 'name=value' or ')'"
                )
            if not cursor.at(")"):
                cursor.expect(",")
        for variable in reversed(self.pending):  # `let %f = fn …` may use %f within the function.
            if variable.depth != depth - 1:
                break
            self.locals.define(variable.name, variable)
        seen: set[str] = set()
        for param in function.params:
            if param.name in seen:
                raise cursor.error(f"parameter %{param.name} is named twice", param.position)
            seen.add(param.name)
            if not isinstance(param.annotation, Attribute):
                self.module_.untyped = True
            self.locals.define(param.name, param)
        if cursor.accept("->"):
            function.result = yield self.types.type_()
        self.functions.append(function)
        self.shallowest.append(depth)
        function.body = yield self.block()
        self.functions.pop()
        least = self.shallowest.pop()
        function.captures = least < depth
        if self.shallowest:
            self.shallowest[-1] = min(self.shallowest[-1], least)
        self.locals.close(mark)
        self.types.scopes.pop()
        return self._with_stated(function)

    def _parameter(self, depth: int) -> Step[Variable]:
        cursor = self.cursor
        position = cursor.position
        name = cursor.take(Kind.LOCAL, "a parameter")[1:]
        attrs: Attrs = {}
        if cursor.accept("{"):
            while not cursor.accept("}"):
                self.attributes.attribute(attrs)
                if not cursor.at("}"):
                    cursor.expect(",")
        annotation = (yield self.types.type_()) if cursor.accept(":") else None
        variable = Variable(position, name, annotation, depth)
        variable.attrs = attrs
        return variable

    # -- expressions -----------------------------------------------------------------------------

    def block(self) -> Step[Expr]:
        """`{ … }`"""
        self.cursor.expect("{")
        return (yield self.sequence("}"))

    def sequence(self, end: str, *, inner: bool = False) -> Step[Expr]:
        """
        Bindings and an expression, up to `end`. An `inner` one stands where an expression does:
        what follows its expression belongs to the outer one.
        """
        cursor = self.cursor
        kinds, texts = cursor.kinds, cursor.texts
        position = cursor.position
        mark, graph_mark = len(self.locals.hidden), len(self.graph.hidden)
        depth = len(self.functions)
        bindings: list[tuple[Variable, Expr]] = []
        while True:
            if cursor.accept("let"):
                variable = yield self._parameter(depth)
                cursor.expect("=")
                variable.pending = True
                self.pending.append(variable)
                value = yield self.expression()
                self.pending.pop()
                variable.pending = False
                self._bind_recursion(variable, value)
                self.locals.define(variable.name, variable)
                bindings.append((variable, value))
                cursor.expect(";")
            elif kinds[cursor.index] is Kind.GRAPH and texts[cursor.index + 1] == "=":
                name = texts[cursor.index]
                cursor.index += 2
                value = yield self.expression()
                self.graph.define(name, (value, depth))
                cursor.expect(";")
            elif cursor.accept("free_var"):
                variable = yield self._parameter(depth)
                if depth != 1 or end:
                    raise cursor.error(
                        "found 'free_var' in a function, expected it before an expression alone",
                        variable.position,
                    )
                self.functions[0].params.append(variable)
                self.locals.define(variable.name, variable)
                cursor.expect(";")
            else:
                value = yield self.expression()
                if inner or not cursor.accept(";"):
                    break
                bindings.append((Variable(value.position, "", None, depth), value))
        if end:
            if not cursor.at(end):
                cursor.unexpected(f"'{end}', or ';' and another expression")
            cursor.index += 1
        self.locals.close(mark)
        self.graph.close(graph_mark, keep_new=True)
        return Bindings(position, bindings, value) if bindings else value

    def _bind_recursion(self, variable: Variable, value: Expr) -> None:
        """A function that uses the variable that it is bound to is recursive."""
        if variable.used_within is None:
            return
        while isinstance(value, Call) and len(value.args) == 1:  # on_device(fn …)
            value = value.args[0]
        if not isinstance(value, Function):
            raise self.cursor.error(
                f"%{variable.name} is used in its own value, which is no function",
                variable.used_within,
            )
        value.recursive = variable
        self.module_.untyped = True

    def expression(self) -> Step[Expr]:
        """Operands with operators between them."""
        cursor = self.cursor
        texts = cursor.texts
        left = self._atom_alone()
        if left is None:
            left = yield self._operand()
        if texts[cursor.index] not in BINARY:
            return left
        operands, operators = [left], list[tuple[int, str]]()
        while (operator := BINARY.get(texts[cursor.index])) is not None and cursor.kinds[
            cursor.index
        ] is Kind.PUNCTUATION:
            while operators and operators[-1][0] >= operator[0]:
                self._reduce(operands, operators)
            operators.append(operator)
            cursor.index += 1
            right = self._atom_alone()
            operands.append((yield self._operand()) if right is None else right)
        while operators:
            self._reduce(operands, operators)
        return operands[0]

    def _reduce(self, operands: list[Expr], operators: list[tuple[int, str]]) -> None:
        _, name = operators.pop()
        right, left = operands.pop(), operands.pop()
        callee = NameRef(left.position, name, is_global=False)
        operands.append(Call(left.position, callee, [left, right], {}))

    def _atom_alone(self) -> Expr | None:
        """A variable, a binding or a number that stands alone: no call, field or operator follows."""
        cursor = self.cursor
        index = cursor.index
        kind = cursor.kinds[index]
        if kind not in _ALONE or cursor.texts[index + 1] == "(":
            return None
        if cursor.kinds[index + 1] is Kind.FIELD:
            return None
        return self._name_or_number()

    def _name_or_number(self) -> Expr:
        cursor = self.cursor
        kind, text, position = (
            cursor.kinds[cursor.index],
            cursor.texts[cursor.index],
            cursor.position,
        )
        cursor.index += 1
        if kind is Kind.LOCAL:
            return self._variable(text[1:], position)
        if kind is Kind.GRAPH:
            found = self.graph.values.get(text)
            if found is None:
                raise cursor.error(f"{text} is not bound before this place", position)
            value, depth = found
            if isinstance(value, Function):
                value.uses += 1
            if not isinstance(value, Constant):
                self._use(depth)
            return value
        return self._constant(literals.scalar(text, False), text, position)

    def _use(self, depth: int) -> None:
        """Notes a use of something within `depth` functions."""
        if self.shallowest and depth < self.shallowest[-1]:
            self.shallowest[-1] = depth

    def _variable(self, name: str, position: int) -> Variable:
        variable = self.locals.values.get(name)
        if variable is None:
            raise self.cursor.error(f"variable %{name} is not defined here", position)
        if variable.pending and variable.used_within is None:
            variable.used_within = position
        self._use(variable.depth)
        return variable

    def _constant(
        self, found: tuple[Attribute, Attribute] | None, text: str, position: int
    ) -> Constant:
        if found is None:
            raise self.cursor.error(
                f"'{text}' is no number of a type that constants have", position
            )
        return self._with_stated(Constant(position, *found))

    def _operand(self) -> Step[Expr]:
        """An expression without operators: an atom, called and projected."""
        cursor = self.cursor
        value = yield self.atom()
        while True:
            if cursor.kinds[cursor.index] is Kind.FIELD:
                position = cursor.position
                index = cursor.take_field()
                value = self._with_stated(Projection(position, value, index))
            elif cursor.at("("):
                value = yield self._call(value)
            else:
                return value

    def atom(self) -> Step[Expr]:
        """An expression without binary operators, unless in parentheses."""
        cursor = self.cursor
        kind, text, position = (
            cursor.kinds[cursor.index],
            cursor.texts[cursor.index],
            cursor.position,
        )
        if kind in _ALONE:
            return self._name_or_number()
        if kind is Kind.GLOBAL:
            cursor.index += 1
            name = global_name(text)
            self.module_.referenced.setdefault(name, position)
            return NameRef(position, name, is_global=True)
        if kind is Kind.PUNCTUATION:
            match text:
                case "(":
                    cursor.index += 1
                    return (yield self._parentheses(position))
                case "{":
                    return (yield self.block())
                case "-":
                    cursor.index += 1
                    number = cursor.texts[cursor.index]
                    if cursor.kinds[cursor.index] is Kind.NUMBER or literals.is_not_finite(number):
                        cursor.index += 1
                        return self._constant(literals.scalar(number, True), "-" + number, position)
                    cursor.unexpected("a number after '-'")
                case _:
                    cursor.unexpected("an expression")
        if kind is not Kind.NAME:
            cursor.unexpected("an expression")
        if text == "let":
            return (yield self.sequence("", inner=True))
        cursor.index += 1
        match text:
            case "True" | "False":
                return self._constant(literals.boolean(text == "True"), text, position)
            case "fn":
                return (yield self.function(position))
            case "if":
                return (yield self._if(position))
            case "match":
                return (yield self._match(position))
            case "meta":
                return self._meta_constant(position)
            case _ if literals.is_not_finite(text):
                return self._constant(literals.scalar(text, False), text, position)
            case _:
                return NameRef(position, text, is_global=False)

    def _meta_constant(self, position: int) -> Expr:
        ref = self.attributes.meta_ref(position)
        if ref.key != "relay.Constant":
            raise self.cursor.error(f"found meta[{ref.key}], expected an expression", position)
        constant = self.metadata.constants.get(ref.index)
        if constant is None:
            constant = Constant(position, *self.metadata.constant(ref))
            self.metadata.constants[ref.index] = constant
        return constant

    def _parentheses(self, position: int) -> Step[Expr]:
        """What follows `(`: an expression, or the fields of a tuple."""
        cursor = self.cursor
        if cursor.accept(")"):
            return self._with_stated(TupleExpr(position, []))
        first = yield self.sequence("")
        if cursor.accept(")"):
            return first
        fields = [first]
        while not cursor.accept(")"):
            if not cursor.at(","):
                cursor.unexpected("',' or ')'")
            cursor.index += 1
            if not cursor.at(")"):
                fields.append((yield self.expression()))
        return self._with_stated(TupleExpr(position, fields))

    def _if(self, position: int) -> Step[Expr]:
        cursor = self.cursor
        cursor.expect("(")
        condition = yield self.sequence(")")
        then = yield self.block()
        cursor.expect("else")
        otherwise = yield self.block()
        return self._with_stated(If(position, condition, then, otherwise))

    def _match(self, position: int) -> Step[Expr]:
        """What follows `match`: the data and the clauses."""
        cursor = self.cursor
        complete = not cursor.accept("?")
        data = yield self.atom()
        cursor.expect("{")
        clauses: list[tuple[Pattern, Expr]] = []
        depth = len(self.functions)
        while not cursor.accept("}"):
            mark = len(self.locals.hidden)
            pattern = yield self._pattern(depth)
            cursor.expect("=>")
            body = (yield self.block()) if cursor.at("{") else (yield self.expression())
            self.locals.close(mark)
            clauses.append((pattern, body))
            if not cursor.at("}"):
                cursor.expect(",")
        if not clauses:
            raise cursor.error("found a match without clauses", position)
        return self._with_stated(Match(position, data, clauses, complete))

    def _pattern(self, depth: int, nesting: int = 0) -> Step[Pattern]:
        """A pattern within `nesting` others, in the innermost of `depth` functions."""
        cursor = self.cursor
        cursor.limit_nesting(nesting, "patterns")
        position = cursor.position
        if cursor.kinds[cursor.index] is Kind.LOCAL:
            variable = yield self._parameter(depth)
            self.locals.define(variable.name, variable)
            return Pattern(position, variable=variable)
        if cursor.accept("_"):
            return Pattern(position)
        name = None
        if not cursor.at("("):
            name = cursor.take(Kind.NAME, "a pattern: '_', '%x', a constructor or a tuple")
        fields: list[Pattern] = []
        if cursor.accept("("):
            while not cursor.accept(")"):
                fields.append((yield self._pattern(depth, nesting + 1)))
                if not cursor.at(")"):
                    cursor.expect(",")
        return Pattern(position, name=name, fields=tuple(fields))

    # -- calls -----------------------------------------------------------------------------------

    def _call(self, callee: Expr) -> Step[Expr]:
        """What follows an expression that is called: `(arguments, attributes)`."""
        cursor = self.cursor
        kinds, texts = cursor.kinds, cursor.texts
        cursor.index += 1
        args: list[Expr] = []
        attrs: Attrs = {}
        meta_attrs: MetaRef | None = None
        while not cursor.accept(")"):
            if kinds[cursor.index] is Kind.NAME:
                position = cursor.position
                if texts[cursor.index + 1] == "=":
                    self.attributes.attribute(attrs)
                    if not cursor.at(")"):
                        cursor.expect(",")
                    continue
                if self._at_meta_attributes():
                    cursor.index += 1
                    meta_attrs = self.attributes.meta_ref(position)
                    if not cursor.at(")"):
                        cursor.expect(",")
                    continue
            if attrs:
                cursor.unexpected("an attribute or ')': arguments stand before attributes")
            args.append((yield self.expression()))
            if not cursor.at(")"):
                if not cursor.at(","):
                    cursor.unexpected("',' or ')'")
                cursor.index += 1
        if isinstance(callee, NameRef) and not callee.is_global and callee.name in _REFERENCES:
            return self._with_stated(self._reference(callee, args))
        call = Call(callee.position, callee, args, attrs)
        call.meta_attrs = meta_attrs
        return self._with_stated(call)

    def _at_meta_attributes(self) -> bool:
        """Whether the attributes of a call are next as an object, and no constant."""
        texts, index = self.cursor.texts, self.cursor.index
        return texts[index : index + 2] == ["meta", "["] and texts[index + 2] != "relay.Constant"

    def _reference(self, callee: NameRef, args: list[Expr]) -> Expr:
        expected = _REFERENCES[callee.name]
        if len(args) != expected:
            raise self.cursor.error(
                f"{callee.name} has {len(args)} arguments, expected {expected}", callee.position
            )
        return Reference(callee.position, callee.name, args)

    # -- comments that state types ---------------------------------------------------------------

    def _with_stated(self, expr: E) -> E:
        """`expr`, which has just ended, with the type that the comment behind it states."""
        if self.stated:
            span = self.stated.get(self.cursor.index - 1)
            if span is not None:
                expr.stated = self._stated_type(*span)
        return expr

    def _stated_type(self, begin: int, end: int) -> Attribute | None:
        source = self.cursor.tokens.source
        types = TypeParser(Cursor(tokenize(Source(source.text[begin:end], source.name))))
        types.scopes = self.types.scopes
        type_ = resolve(run(types.type_()))
        return type_ if isinstance(type_, Attribute) else None


_ALONE = frozenset((Kind.LOCAL, Kind.GRAPH, Kind.NUMBER))
