"""Small steps, which one thread runs alone: what is small, and where the threads wait for each other."""

from collections.abc import Callable
from dataclasses import replace

import entry_runs
import numpy as np
import pytest
from entry_runs import Run, simulated
from graphs import Graph
from texts import parsed
from xdsl.dialects import func, llvm, scf
from xdsl.ir import SSAValue

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import kernel_options, run_passes
from xrelay.dialects.core.values import FusedOp, TupleOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.pool.pool import MaxPool2DOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.einsum import EinsumOp
from xrelay.dialects.tensor.sort import SortOp
from xrelay.dialects.tensor.unary import ExpOp
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.relay import interpret
from xrelay.lowering.emit.context import BARRIER
from xrelay.lowering.emit.group import group_of
from xrelay.lowering.program.program import Program, lower_function
from xrelay.lowering.program.small import is_small_copy, threads_of
from xrelay.options import CompileOptions
from xrelay.transforms.fuse_ops import FuseOpsPass

T = "tensor<3x4xf32>"


def program(body: str, parameters: str = "") -> str:
    """Lines `c = exp a` stand for operators on tensors of 3x4; they are not fused. Those of `exp` are shared."""
    lines: list[str] = []
    for line in map(str.strip, body.strip().splitlines()):
        result, equal, call = line.partition(" = ")
        if equal and not line.startswith("%"):
            name, *operands = call.split()
            values = ", ".join(f"%{each}" for each in operands)
            types = ", ".join(T for _ in operands)
            line = f"%{result} = relay.{name} {values} : ({types}) -> {T}"
        lines.append(line)
    constants = "".join(f"%{i} = arith.constant {i} : index\n" for i in range(4))
    text = "\n".join(lines)
    return f"func.func @main(%x: {T}{parameters}) -> {T} {{\n{constants}{text}\n}}"


LOOP = f"""
    %r = scf.for %i = %0 to %3 step %1 iter_args(%s = %x) -> ({T}) {{
      a = negative s
      b = BODY a
      scf.yield %b : {T}
    }}
"""
CASES = {
    "between shared ones": ("a = exp x\nb = tanh a\nc = negative b\nd = exp c\nfunc.return %d : T", 2),
    "at the end": ("a = exp x\nb = tanh a\nc = negative b\nfunc.return %c : T", 1),
    "at the beginning": ("a = tanh x\nb = negative a\nc = exp b\nfunc.return %c : T", 1),
    "alone": ("a = tanh x\nb = negative a\nc = tanh b\nfunc.return %c : T", 0),
    "in a loop": (LOOP.replace("BODY", "tanh") + "y = exp r\nfunc.return %y : T", 1),
    "in a loop behind a shared one": (
        "x2 = exp x\n" + LOOP.replace("BODY", "tanh").replace("%x)", "%x2)") + "y = negative r\nfunc.return %y : T",
        1,
    ),
    # Before and behind the shared one of each round, at the end of the round, and before the loop.
    "beside shared ones in a loop": (LOOP.replace("BODY", "exp") + "y = negative r\nfunc.return %y : T", 4),
}  # fmt: skip


def functions(lowered: Program) -> list[func.FuncOp]:
    return [op for op in lowered.module.ops if isinstance(op, func.FuncOp)]


def barriers(lowered: Program) -> int:
    """The calls of the barrier, which simulated kernels have none of."""
    calls = (op for each in functions(lowered) for op in each.walk())
    names = (op.callee for op in calls if isinstance(op, llvm.CallOp) and op.callee is not None)
    return sum(name.string_value() == BARRIER for name in names)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The programs that are simulated."""
    found: list[Program] = []

    class Noted(Run):
        def run(self) -> None:
            found.append(self.program)
            super().run()

    monkeypatch.setattr(entry_runs, "Run", Noted)
    return found


def run(text: str, inputs: list[Array], patch: pytest.MonkeyPatch, threads: int) -> None:
    """Nothing is read before it is there, and results are those of the interpreter."""
    module = parsed(text)
    expected = interpret(module, inputs)
    found = simulated(entry_function(module), inputs, threads, patch, lambda n: "exp" not in n)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("case", CASES)
def test_threads_wait_where_they_must(
    case: str, runs: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    body, count = CASES[case]
    text = program(body.replace(": T", f": {T}"))
    for threads in (3, 1):
        run(text, [X], monkeypatch, threads)
    assert list(map(barriers, runs)) == [count, 0]


BRANCH = """
    %c = tensor.extract %q[] : tensor<i1>
    %r = scf.if %c -> (T) {
      THEN
      scf.yield %then : T
    } else {
      ELSE
      scf.yield %else : T
    }
    y = BEHIND r
    func.return %y : T
"""


@pytest.mark.parametrize("behind", ["negative", "exp"])
@pytest.mark.parametrize("one", ["then = tanh x", "then = exp x", "a = exp x\nthen = tanh a"])
@pytest.mark.parametrize("other", ["else = tanh x", "else = exp x", "a = tanh x\nelse = exp a"])
def test_branches(
    one: str, other: str, behind: str, runs: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one side leaves undone counts behind both."""
    body = BRANCH.replace("THEN", one).replace("ELSE", other).replace("BEHIND", behind)
    text = program(body.replace("T)", f"{T})").replace(": T", f": {T}"), ", %q: tensor<i1>")
    for taken in (True, False):
        run(text, [X, np.array(taken)], monkeypatch, 2)
    assert len(runs) == 2


READ = """
    a = tanh x
    %s = relay.sum %a : (T) -> tensor<f32>
    %z = relay.zeros_like %s : (tensor<f32>) -> tensor<f32>
    %l = relay.less %s, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c = tensor.extract %l[] : tensor<i1>
    %r = scf.if %c -> (T) {
      b = negative a
      scf.yield %b : T
    } else {
      scf.yield %a : T
    }
    d = negative r
    e = negative d
    f = exp e
    func.return %f : T
"""


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_that_all_threads_read(
    sign: int, runs: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first thread may not go on to write over what another one has not read."""
    text = program(READ.replace("(T)", f"({T})").replace(": T", f": {T}"))
    run(text, [sign * (X + 0.5)], monkeypatch, 3)
    assert len(runs) == 1


def graph(build: Callable[[Graph], SSAValue]) -> Graph:
    found = Graph()
    build(found)
    return found


def dense(g: Graph, rows: int, columns: int) -> SSAValue:
    x, w = g.input(np.ones((rows, 64), np.float32)), g.input(np.ones((columns, 64), np.float32))
    return g.op(DenseOp(x, w))


def product(g: Graph) -> SSAValue:
    x, y = g.input(np.ones((4, 5), np.float32)), g.input(np.ones((5, 4), np.float32))
    return g.op(EinsumOp(g.op(TupleOp([x, y])), "ij,jk->ik"))


@pytest.mark.parametrize(
    ("build", "small"),
    [
        (lambda g: g.op(ExpOp(g.input(np.ones(8000, np.float32)))), True),
        (lambda g: g.op(ExpOp(g.input(np.ones(10000, np.float32)))), False),  # Too many bytes.
        (lambda g: g.op(AddOp(*[g.input(np.ones(7000, np.float32))] * 2)), True),
        (lambda g: dense(g, 1, 200), True),
        (lambda g: dense(g, 8, 80), False),  # Too much arithmetic.
        (lambda g: g.op(SoftmaxOp(g.input(np.ones((8, 100), np.float32)))), True),
        # What does more than its sizes tell.
        (lambda g: g.op(SortOp(g.input(np.ones((4, 9), np.float32)))), False),
        (lambda g: product(g), False),
        (lambda g: g.op(MaxPool2DOp(g.input(np.ones((1, 4, 9, 9), np.float32)), (9, 9))), False),
    ],
)
def test_what_is_small(build: Callable[[Graph], SSAValue], small: bool) -> None:
    module = graph(build).module().clone()
    run_passes(module, [FuseOpsPass()])
    op = next(each for each in module.walk() if isinstance(each, FusedOp))
    options = kernel_options(CompileOptions(threads=2))
    assert threads_of(group_of(op), options) == (1 if small else 2)
    assert threads_of(group_of(op), replace(options, shares_all=True)) == 2
    assert threads_of(group_of(op), replace(options, threads=1)) == 1
    lowered = lower_function(entry_function(module), options)
    assert is_for_first(lowered) is small
    assert lowered.is_shared is not small


@pytest.mark.parametrize(
    "build",
    [
        lambda g: g.op(MaxPool2DOp(g.input(np.ones((1, 1, 99, 99), np.float32)), (99, 99))),
        lambda g: g.op(SortOp(g.input(np.ones((1, 10_000), np.float32)))),
    ],
)
def test_what_cannot_be_shared(build: Callable[[Graph], SSAValue]) -> None:
    """There is one round of work: one thread does it alone, however long that takes."""
    module = graph(build).module().clone()
    run_passes(module, [FuseOpsPass()])
    options = kernel_options(CompileOptions(threads=2))
    lowered = lower_function(entry_function(module.clone()), options)
    assert is_for_first(lowered)
    assert not lowered.is_shared
    assert lower_function(entry_function(module), replace(options, shares_all=True)).is_shared


def test_threads_of_programs_with_small_and_other_steps() -> None:
    """One step that is shared is enough to wake them."""
    g = Graph()
    x = g.input(np.ones((4, 9), np.float32))
    g.op(SortOp(g.op(ExpOp(x))))
    module = g.module().clone()
    run_passes(module, [FuseOpsPass()])
    options = kernel_options(CompileOptions(threads=2))
    assert lower_function(entry_function(module), options).is_shared


def is_for_first(lowered: Program) -> bool:
    """Whether the first thread alone does something in the entry function."""
    entry = next(each for each in functions(lowered) if each.sym_name.data == lowered.name)
    return any(isinstance(op, scf.IfOp) for op in entry.walk())


@pytest.mark.parametrize(("size", "small"), [(0, True), (70_000, True), (80_000, False)])
def test_copies(size: int, small: bool) -> None:
    options = kernel_options(CompileOptions(threads=2))
    assert is_small_copy(size, options) is small
    assert not is_small_copy(size, replace(options, shares_all=True))
    assert not is_small_copy(size, replace(options, threads=1))
