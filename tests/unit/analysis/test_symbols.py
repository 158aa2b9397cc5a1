"""Look-ups of symbols: the table around a place is the innermost one."""

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.parser import Parser

from xrelay.analysis.facts.symbols import Symbols

NESTED = """
builtin.module {
  func.func @f() { func.return }
  func.func @g() {
    "test.op"() {at = "outer"} : () -> ()
    func.return
  }
  builtin.module {
    func.func @f() {
      "test.op"() {at = "inner"} : () -> ()
      func.return
    }
  }
}
"""


def parsed(text: str) -> Operation:
    context = Context()
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    return Parser(context, text).parse_op()


def test_names_mean_what_the_innermost_table_says():
    module = parsed(NESTED)
    inner = next(op for op in module.walk() if op.name == "builtin.module" and op is not module)
    outer_f, outer_g = list(module.regions[0].block.ops)[:2]
    inner_f = inner.regions[0].block.first_op
    places = {
        str(at): op for op in module.walk() if isinstance(at := op.attributes.get("at"), StringAttr)
    }
    symbols = Symbols()
    assert symbols.lookup(places['"outer"'], "f") is outer_f
    assert symbols.lookup(places['"inner"'], "f") is inner_f
    assert symbols.lookup(places['"inner"'], "g") is None
    assert symbols.lookup(places['"outer"'], "g") is outer_g
    # Again, from what was noted on the way.
    assert symbols.lookup(places['"inner"'], "f") is inner_f


def test_outside_of_tables_no_name_means_anything():
    function = parsed('func.func @f() { "test.op"() : () -> () func.return }')
    op = function.regions[0].block.first_op
    assert op is not None
    assert Symbols().lookup(op, "f") is None
