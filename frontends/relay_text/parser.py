"""
The parser of TVM's Relay text format 0.0.5: from tokens to the syntax tree.

Expressions nest without limit: steps that contain others are driven by `steps.run`, so that
Python's stack does not grow with them.
"""

from xrelay.analysis.facts.steps import Step, run
from xrelay.frontends.relay_text.attribute_parser import global_name
from xrelay.frontends.relay_text.errors import Source
from xrelay.frontends.relay_text.expressions import ExpressionParser
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.syntax import Constructor, Function, Module, TypeDefinition
from xrelay.frontends.relay_text.tokens import Kind
from xrelay.frontends.relay_text.types import Type


def parse_module(text: str, name: str, *, check_types: bool = False) -> tuple[Module, Metadata]:
    """
    The definitions in a text, and its metadata section. With `check_types` expressions keep the
    type that a comment `/* ty=… */` behind them states.

    Raises RelayTextError.
    """
    parser = Parser(Source(text, name), check_types=check_types)
    return parser.module(), parser.metadata


class Parser(ExpressionParser):
    """The definitions in a text."""

    def module(self) -> Module:
        """All of the text."""
        cursor, module = self.cursor, self.module_
        while cursor.kinds[cursor.index] is not Kind.END:
            if cursor.accept("def"):
                self._definition()
            elif cursor.accept("extern"):
                cursor.expect("type")
                self._type_definition(external=True)
            elif cursor.accept("type"):
                self._type_definition(external=False)
            elif not module.functions and not module.types:
                # An expression alone is the body of @main.
                module.functions["main"] = run(self._bare_expression())
            else:
                cursor.unexpected("'def', 'type' or the end of the text")
        self._check_types()
        return module

    def _check_types(self) -> None:
        """Every data type that the text names is defined, with as many type parameters."""
        for (name, count), position in self.types.used_types.items():
            definition = self.module_.types.get(name)
            if definition is None:
                if name == "Storage":  # what memory.alloc_storage returns; TVM knows it by itself
                    self.module_.types[name] = TypeDefinition(position, name, (), None)
                    continue
                raise self.cursor.error(f"'{name}' is no type", position)
            if len(definition.type_params) != count:
                raise self.cursor.error(
                    f"type {name} has {count} arguments, expected {len(definition.type_params)}",
                    position,
                )

    def _definition(self) -> None:
        cursor = self.cursor
        position = cursor.position
        name = global_name(cursor.take(Kind.GLOBAL, "the name of a function: '@name'"))
        if name in self.module_.functions:
            raise cursor.error(f"function @{name} is defined twice", position)
        self.module_.functions[name] = run(self.function(position))

    def _type_definition(self, external: bool) -> None:
        cursor, types = self.cursor, self.types
        position = cursor.position
        name = cursor.take(Kind.NAME, "the name of a type")
        if name in self.module_.types:
            raise cursor.error(f"type {name} is defined twice", position)
        params = types.type_params()
        definition = TypeDefinition(position, name, params, None if external else [])
        self.module_.types[name] = definition
        types.scopes.append(params)
        if cursor.accept("{"):
            constructors = definition.constructors = []
            for _ in cursor.items("}"):
                constructor = self._constructor(name)
                constructors.append(constructor)
                if constructor.name in self.module_.constructors:
                    raise cursor.error(
                        f"constructor {constructor.name} is defined twice", constructor.position
                    )
                self.module_.constructors[constructor.name] = constructor
        types.scopes.pop()

    def _constructor(self, type_name: str) -> Constructor:
        cursor = self.cursor
        position = cursor.position
        name = cursor.take(Kind.NAME, "the name of a constructor")
        fields: list[Type] = []
        if cursor.accept("("):
            fields = [run(self.types.type_()) for _ in cursor.items(")")]
        return Constructor(name, fields, type_name, position)

    def _bare_expression(self) -> Step[Function]:
        """A text that is an expression: the parameters are its `free_var`s."""
        function = Function(self.cursor.position, ())
        self.names.enter(function)
        function.body = yield self.sequence("")
        self.names.leave()
        return function
