"""Where operations that need no name are moved to."""

from xdsl.dialects import func
from xdsl.parser import Parser

from xrelay.compiler import context
from xrelay.transforms.rules.functional.atoms import settle_atoms

TEXT = """
func.func @main(%x: tensor<2xf32>, %p: tensor<index>, %t: tensor<3xi64>) -> tensor<i64> {
  %place = tensor.extract %p[] : tensor<index>
  %unused = tensor.extract %p[] : tensor<index>
  %one = tensor.extract %t[%place] : tensor<3xi64>
  %other = tensor.extract %t[%place] : tensor<3xi64>
  %a = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = tensor.from_elements %one : tensor<i64>
  %c = relay.exp %a : (tensor<2xf32>) -> tensor<2xf32>
  %d = tensor.from_elements %other : tensor<i64>
  func.return %d : tensor<i64>
}"""


def test_atoms_stand_before_what_needs_them_first() -> None:
    """Each in front of its first user, and what an atom needs in front of the first of these; unused ones go."""
    module = Parser(context(), TEXT).parse_module()
    module.verify()
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    settle_atoms(main)
    module.verify()
    names = [value.name_hint for op in main.body.block.ops for value in op.results]
    assert names == ["a", "place", "one", "b", "c", "other", "d"]
