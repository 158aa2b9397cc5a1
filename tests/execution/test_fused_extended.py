"""
Kernels of the groups that rules beyond Relay's make: several reductions, several results, copies.

The oracle is the interpreter.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from cases.kernel import in_turn
from fusion_graphs import random_program
from raw_calls import RawCode
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xrelay.compiler import compile_code
from xrelay.dialects.core.values import FusedOp
from xrelay.dialects.relay import Relay
from xrelay.interpreters.relay import interpret
from xrelay.options import CompileOptions
from xrelay.transforms.fuse_ops import FuseOpsPass

PROGRAMS = {
    "softmax": """
    func.func @main(%x: tensor<5x37xf32>) -> tensor<5x37xf32> {
      %m = relay.max %x {axis = array<i64: 1>, keepdims = true} : (tensor<5x37xf32>) -> tensor<5x1xf32>
      %d = relay.subtract %x, %m : (tensor<5x37xf32>, tensor<5x1xf32>) -> tensor<5x37xf32>
      %e = relay.exp %d : (tensor<5x37xf32>) -> tensor<5x37xf32>
      %s = relay.sum %e {axis = array<i64: 1>, keepdims = true} : (tensor<5x37xf32>) -> tensor<5x1xf32>
      %r = relay.divide %e, %s : (tensor<5x37xf32>, tensor<5x1xf32>) -> tensor<5x37xf32>
      func.return %r : tensor<5x37xf32>
    }""",
    "normalisation of columns": """
    func.func @main(%x: tensor<7x19xf32>, %g: tensor<19xf32>) -> tensor<7x19xf32> {
      %eps = relay.constant dense<1.0e-5> : tensor<f32>
      %m = relay.mean %x {axis = array<i64: 0>} : (tensor<7x19xf32>) -> tensor<19xf32>
      %d = relay.subtract %x, %m : (tensor<7x19xf32>, tensor<19xf32>) -> tensor<7x19xf32>
      %q = relay.multiply %d, %d : (tensor<7x19xf32>, tensor<7x19xf32>) -> tensor<7x19xf32>
      %v = relay.mean %q {axis = array<i64: 0>} : (tensor<7x19xf32>) -> tensor<19xf32>
      %a = relay.add %v, %eps : (tensor<19xf32>, tensor<f32>) -> tensor<19xf32>
      %i = relay.rsqrt %a : (tensor<19xf32>) -> tensor<19xf32>
      %n = relay.multiply %d, %i : (tensor<7x19xf32>, tensor<19xf32>) -> tensor<7x19xf32>
      %r = relay.multiply %n, %g : (tensor<7x19xf32>, tensor<19xf32>) -> tensor<7x19xf32>
      func.return %r : tensor<7x19xf32>
    }""",
    "transposed rows of a softmax": """
    func.func @main(%x: tensor<9x21xf32>) -> tensor<21x9xf32> {
      %t = relay.transpose %x : (tensor<9x21xf32>) -> tensor<21x9xf32>
      %e = relay.tanh %t : (tensor<21x9xf32>) -> tensor<21x9xf32>
      %r = relay.nn.softmax %e : (tensor<21x9xf32>) -> tensor<21x9xf32>
      func.return %r : tensor<21x9xf32>
    }""",
    "results of several types": """
    func.func @main(%x: tensor<3x35xf32>, %y: tensor<35xf32>)
        -> (tensor<3x35xf32>, tensor<3x35xi1>, tensor<3x35xf32>, tensor<3x35xf64>) {
      %a = relay.multiply %x, %y : (tensor<3x35xf32>, tensor<35xf32>) -> tensor<3x35xf32>
      %b = relay.less %x, %y : (tensor<3x35xf32>, tensor<35xf32>) -> tensor<3x35xi1>
      %c = relay.exp %a : (tensor<3x35xf32>) -> tensor<3x35xf32>
      %d = relay.cast %c {dtype = f64} : (tensor<3x35xf32>) -> tensor<3x35xf64>
      func.return %c, %b, %a, %d : tensor<3x35xf32>, tensor<3x35xi1>, tensor<3x35xf32>, tensor<3x35xf64>
    }""",
}


def parse(text: str) -> ModuleOp:
    ctx = Context()
    ctx.load_dialect(Relay)
    ctx.load_dialect(func.Func)
    return Parser(ctx, text).parse_module()


def check(module: ModuleOp, inputs: Sequence[np.ndarray], target: str, tolerance: float) -> None:
    expected = interpret(module, inputs)
    code = RawCode(compile_code(module, "test", CompileOptions(2, target)))
    for team in (1, 2):
        for result, value in zip(code.run(inputs, team), expected, strict=True):
            np.testing.assert_allclose(result, value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "target"), in_turn(PROGRAMS), indirect=["target"])
def test_programs(name: str, target: str) -> None:
    module = parse(PROGRAMS[name])
    function = next(op for op in module.walk() if isinstance(op, func.FuncOp))
    FuseOpsPass(rules="extended").apply(Context(), module)
    module.verify()
    assert sum(isinstance(op, FusedOp) for op in function.walk()) == 1
    rng = np.random.default_rng(0)
    shapes = [arg.type.get_shape() for arg in function.body.block.args]
    check(module, [rng.standard_normal(shape, np.float32) for shape in shapes], target, 1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    module, inputs = random_program(seed)
    FuseOpsPass(rules="extended").apply(Context(), module)
    check(module, inputs, "native", 2e-4)
