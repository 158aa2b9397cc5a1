"""
The expressions in Relay text.

Expressions nest without limit: steps that contain others are driven by `steps.run`, so that
Python's stack does not grow with them.
"""

from typing import TypeVar

from xdsl.ir import Attribute

from xrelay.analysis.facts.steps import Step, run
from xrelay.frontends.relay_text import literals
from xrelay.frontends.relay_text.attribute_parser import AttributeParser, global_name
from xrelay.frontends.relay_text.cursor import Cursor
from xrelay.frontends.relay_text.errors import Source
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.names import Names
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


class ExpressionParser:
    """The state of parsing one text, and its expressions."""

    def __init__(self, source: Source, *, check_types: bool = False):
        tokens = tokenize(source, stated=check_types)
        self.cursor = Cursor(tokens)
        self.metadata = Metadata(source, tokens.metadata)
        self.types = TypeParser(self.cursor)
        self.attributes = AttributeParser(self.cursor)
        self.stated = tokens.stated
        self.names = Names(self.cursor)
        self.module_ = Module()

    def function(self, position: int) -> Step[Function]:
        """What follows `fn` or `def @name`."""
        cursor = self.cursor
        type_params = self.types.type_params()
        self.types.scopes.append(type_params)
        function = Function(position, type_params)
        if type_params:
            self.module_.untyped = True
        names = self.names
        mark = len(names.locals.hidden)
        depth = names.depth + 1
        cursor.expect("(")
        for _ in cursor.items(")"):
            if cursor.kinds[cursor.index] is Kind.LOCAL:
                if function.attrs:
                    cursor.unexpected("an attribute or ')': parameters stand before attributes")
                param = yield self._parameter(depth)
                function.params.append(param)
            else:
                self.attributes.attribute(
                    function.attrs, "a parameter '%name: type', an attribute 'name=value' or ')'"
                )
        names.define_pending()
        names.define_parameters(function.params)
        if not all(isinstance(param.annotation, Attribute) for param in function.params):
            self.module_.untyped = True
        if cursor.accept("->"):
            function.result = yield self.types.type_()
        names.enter(function)
        function.body = yield self.block()
        names.leave()
        names.locals.close(mark)
        self.types.scopes.pop()
        return self._with_stated(function)

    def _parameter(self, depth: int) -> Step[Variable]:
        cursor = self.cursor
        position = cursor.position
        name = cursor.take(Kind.LOCAL, "a parameter")[1:]
        attrs: Attrs = {}
        if cursor.accept("{"):
            for _ in cursor.items("}"):
                self.attributes.attribute(attrs)
        annotation = (yield self.types.type_()) if cursor.accept(":") else None
        return Variable(position, name, annotation, depth, attrs)

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
        position, names = cursor.position, self.names
        mark, graph_mark = len(names.locals.hidden), len(names.graph.hidden)
        depth = names.depth
        bindings: list[tuple[Variable, Expr]] = []
        while True:
            if cursor.accept("let"):
                variable = yield self._parameter(depth)
                cursor.expect("=")
                names.begin_value(variable)
                value = yield self.expression()
                if names.end_value(variable, value):
                    self.module_.untyped = True
                names.locals.define(variable.name, variable)
                bindings.append((variable, value))
                cursor.expect(";")
            elif kinds[cursor.index] is Kind.GRAPH and texts[cursor.index + 1] == "=":
                name = texts[cursor.index]
                cursor.index += 2
                value = yield self.expression()
                names.graph.define(name, (value, depth))
                cursor.expect(";")
            elif cursor.accept("free_var"):
                variable = yield self._parameter(depth)
                if depth != 1 or end:
                    raise cursor.error(
                        "found 'free_var' in a function, expected it before an expression alone",
                        variable.position,
                    )
                names.functions[0].params.append(variable)
                names.locals.define(variable.name, variable)
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
        names.locals.close(mark)
        names.graph.close(graph_mark, keep_new=True)
        return Bindings(position, bindings, value) if bindings else value

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
        kind, text, position = cursor.next_token()
        cursor.index += 1
        if kind is Kind.LOCAL:
            return self.names.variable(text[1:], position)
        if kind is Kind.GRAPH:
            return self.names.binding(text, position)
        return self._constant(literals.scalar(text, False), text, position)

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
        kind, text, position = cursor.next_token()
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
        names, depth = self.names, self.names.depth
        for _ in cursor.items("}"):
            mark = len(names.locals.hidden)
            pattern = yield self._pattern(depth)
            cursor.expect("=>")
            body = (yield self.block()) if cursor.at("{") else (yield self.expression())
            names.locals.close(mark)
            clauses.append((pattern, body))
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
            self.names.locals.define(variable.name, variable)
            return Pattern(position, variable=variable)
        if cursor.accept("_"):
            return Pattern(position)
        name = None
        if not cursor.at("("):
            name = cursor.take(Kind.NAME, "a pattern: '_', '%x', a constructor or a tuple")
        fields: list[Pattern] = []
        if cursor.accept("("):
            for _ in cursor.items(")"):
                fields.append((yield self._pattern(depth, nesting + 1)))
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
        for _ in cursor.items(")"):
            named = kinds[cursor.index] is Kind.NAME
            if named and texts[cursor.index + 1] == "=":
                self.attributes.attribute(attrs)
            elif named and self._at_meta_attributes():
                position = cursor.position
                cursor.index += 1
                meta_attrs = self.attributes.meta_ref(position)
            else:
                if attrs:
                    cursor.unexpected("an attribute or ')': arguments stand before attributes")
                args.append((yield self.expression()))
                if not cursor.at(")") and not cursor.at(","):
                    cursor.unexpected("',' or ')'")
        if isinstance(callee, NameRef) and not callee.is_global and callee.name in _REFERENCES:
            return self._with_stated(self._reference(callee, args))
        return self._with_stated(Call(callee.position, callee, args, attrs, meta_attrs))

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
