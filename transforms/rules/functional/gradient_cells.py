"""
The type of tensors that may be zeros or ones which nobody has made yet, and arithmetic on them.

Source: Relay's `gradient.rly`.
"""

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.symbols import Symbols
from xrelay.dialects.core.adt import TypeDefOp
from xrelay.dialects.relay import Relay

CELL, RAW, ONE, ZERO = "GradCell", "Raw", "One", "Zero"
"""The type and its constructors."""
TENSOR_OF, SUM, PRODUCT = "FromGradCell", "AddGradCell", "MultiplyGradCell"
"""The functions on it."""
SCALED = "ScaleGradCell"
"""A product that looks for ones only: zeros times NaN are no zeros. The original has none such."""

_T = '!relay.type_var<"T">'
_CELL = f"!relay.adt<@{CELL}, [{_T}]>"
_MAKER = f"!relay.fn<() -> {_T}>"
_OPERATOR = f"!relay.fn<({_T}, {_T}) -> {_T}>"
_PAIR = f"tuple<{_CELL}, {_CELL}>"
_ANY = "#relay.wildcard_pattern"


def _is(constructor: str, field: str = _ANY) -> str:
    return f"#relay.constructor_pattern<@{CELL}::@{constructor}, [{field}]>"


def _pairs(*patterns: tuple[str, str]) -> str:
    return ", ".join(f"#relay.tuple_pattern<[{l}, {r}]>" for l, r in patterns)


_VARIABLE = "#relay.var_pattern"
_COMPUTE = f"""{{
    %tensor = relay.global_var @{TENSOR_OF} : !relay.fn<({_CELL}) -> {_T}>
    %a = relay.apply %tensor(%l) : (!relay.fn<({_CELL}) -> {_T}>, {_CELL}) -> {_T}
    %b = relay.apply %tensor(%r) : (!relay.fn<({_CELL}) -> {_T}>, {_CELL}) -> {_T}
    %c = relay.apply %f(%a, %b) : ({_OPERATOR}, {_T}, {_T}) -> {_T}
    %raw = relay.construct @{CELL}::@{RAW}(%c) : ({_T}) -> {_CELL}
    relay.yield %raw : {_CELL}
  }}"""


def _choice(value: str) -> str:
    return f"{{ relay.yield {value} : {_CELL} }}"


def _function(name: str, patterns: str, *clauses: str) -> str:
    """A function that looks at both cells before it computes."""
    return f"""
func.func private @{name}(%f: {_OPERATOR}, %l: {_CELL}, %r: {_CELL}) -> {_CELL} attributes {{relay.type_params = ["T"]}} {{
  %pair = relay.tuple %l, %r : ({_CELL}, {_CELL}) -> {_PAIR}
  %cell = relay.match %pair [{patterns}] attributes {{complete}} : ({_PAIR}) -> {_CELL} {" ".join(clauses)}
  func.return %cell : {_CELL}
}}"""


PROGRAM = f"""
relay.type_def @{CELL} ["T"] [#relay.constructor<"{RAW}", [{_T}]>, #relay.constructor<"{ONE}", [{
    _MAKER
}]>, #relay.constructor<"{ZERO}", [{_MAKER}]>]

func.func private @{TENSOR_OF}(%cell: {_CELL}) -> {_T} attributes {{relay.type_params = ["T"]}} {{
  %tensor = relay.match %cell [{_is(RAW, _VARIABLE)}, {_is(ONE, _VARIABLE)}, {
    _is(ZERO, _VARIABLE)
}] attributes {{complete}} : ({_CELL}) -> {_T} {{
  ^bb0(%x: {_T}):
    relay.yield %x : {_T}
  }} {{
  ^bb0(%one: {_MAKER}):
    %x = relay.apply %one() : ({_MAKER}) -> {_T}
    relay.yield %x : {_T}
  }} {{
  ^bb0(%zero: {_MAKER}):
    %x = relay.apply %zero() : ({_MAKER}) -> {_T}
    relay.yield %x : {_T}
  }}
  func.return %tensor : {_T}
}}
{
    _function(
        PRODUCT,
        _pairs(
            (_is(ZERO), _ANY), (_ANY, _is(ZERO)), (_is(ONE), _ANY), (_ANY, _is(ONE)), (_ANY, _ANY)
        ),
        *map(_choice, ("%l", "%r", "%r", "%l")),
        _COMPUTE,
    )
}
{
    _function(
        SCALED,
        _pairs((_is(ONE), _ANY), (_ANY, _is(ONE)), (_ANY, _ANY)),
        *map(_choice, ("%r", "%l")),
        _COMPUTE,
    )
}
{
    _function(
        SUM,
        _pairs((_is(ZERO), _ANY), (_ANY, _is(ZERO)), (_ANY, _ANY)),
        *map(_choice, ("%r", "%l")),
        _COMPUTE,
    )
}
"""
"""The type and the functions as a program."""


def add_cells(module: ModuleOp, unsafe: bool) -> None:
    """
    Adds the type and the functions to a module that does not have them yet. SCALED is for programs that are not `unsafe`.

    Raises PassFailedException when it has something else under one of the names.
    """
    symbols = Symbols()
    for op in _cells().body.ops:
        assert isinstance(op, FuncOp | TypeDefOp)
        name = op.sym_name.data
        if unsafe and name == SCALED:
            continue
        found = symbols.lookup(module, name)
        if found is None:
            module.body.block.add_op(op.clone())
        elif not found.is_structurally_equivalent(op):
            raise PassFailedException(
                f"the module has a @{name} of its own, a name that lazy gradients need"
            )


@cache
def _cells() -> ModuleOp:
    """The parsed program, of which others get copies."""
    context = Context()
    for dialect in (Builtin, Func, Relay):
        context.load_dialect(dialect)
    return Parser(context, PROGRAM).parse_module()
