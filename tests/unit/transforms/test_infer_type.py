"""`infer-type` on modules of many functions."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.parser import Parser

from xrelay.compiler import context
from xrelay.transforms.infer_type import InferTypePass, TypeInference

UNKNOWN = "(tensor<2xf32>) -> tensor<?xf32>"


def chain(length: int, *, callers_first: bool) -> ModuleOp:
    """Functions of which each calls the next one."""
    bodies = [f"func.call @f{i + 1}(%x) : {UNKNOWN}" for i in range(length)]
    bodies.append(f"relay.exp %x : {UNKNOWN}")
    functions = [
        f"func.func @f{i}(%x: tensor<2xf32>) -> tensor<?xf32> {{\n"
        f"  %y = {body}\n  func.return %y : tensor<?xf32>\n}}\n"
        for i, body in enumerate(bodies)
    ]
    text = "".join(functions if callers_first else reversed(functions))
    return Parser(context(), text).parse_module()


@pytest.mark.parametrize("callers_first", [True, False])
def test_functions_wait_for_those_that_they_call(
    callers_first: bool, monkeypatch: pytest.MonkeyPatch
):
    sweeps, length = 0, 100
    original = TypeInference.sweep

    def counted(self: TypeInference, block: Block) -> None:
        nonlocal sweeps
        sweeps += 1
        original(self, block)

    monkeypatch.setattr(TypeInference, "sweep", counted)
    module = chain(length, callers_first=callers_first)
    InferTypePass().apply(context(), module)
    module.verify()
    assert "?" not in str(module)
    assert sweeps <= 4 * length


def test_blocks_may_stand_before_those_whose_values_they_use() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> {
      cf.br ^b2
    ^b1:
      %1 = "relay.exp"(%0) : (tensor<?xf32>) -> tensor<?xf32>
      cf.br ^b3
    ^b2:
      %0 = "relay.exp"(%x) : (tensor<4xf32>) -> tensor<?xf32>
      cf.br ^b1
    ^b3:
      func.return %1 : tensor<?xf32>
    }
    """
    module = Parser(context(), text).parse_module()
    InferTypePass().apply(context(), module)
    module.verify()
    assert "?" not in str(module)
