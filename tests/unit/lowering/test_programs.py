"""The steps of programs with control flow, when their tensors are in use, and outputs that grow over inputs."""

import pytest
from xdsl.dialects import func, llvm
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import context, kernel_options, run_passes
from xrelay.lowering.program.program import Program, lower_function
from xrelay.options import CompileOptions
from xrelay.runtime.layouts import ROW_MAJOR, Growth, Layouts
from xrelay.transforms.fuse_ops import FuseOpsPass

V = "tensor<100xf32>"


def lowered(text: str, layouts: Layouts = ROW_MAJOR, *, profile: bool = False) -> Program:
    """The program of a function; V stands for the type of most tensors."""
    module = Parser(context(), text.replace("V", V)).parse_module()
    module.verify()
    if layouts != ROW_MAJOR:
        run_passes(module, [FuseOpsPass()])
    options = kernel_options(CompileOptions(1, "x86-64"))
    return lower_function(entry_function(module), options, profile=profile, layouts=layouts)


def uses(program: Program) -> list[tuple[int, int, int, list[str]]]:
    """Of each buffer of tensors its bytes, its first and last step, and what lies in it."""
    return [
        (each.size, each.first, each.last, [tensor.relation for tensor in each.tensors])
        for each in program.buffers
        if each.tensors
    ]


CHOICE = """func.func @main(%x: V, %k: tensor<f32>) -> V {
    %l = relay.less %k, %k : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a = relay.exp %x : (V) -> V
    %b = relay.nn.softmax %a : (V) -> V
    %d = relay.nn.softmax %b : (V) -> V
    %c = tensor.extract %l[] : tensor<i1>
    %r = scf.if %c -> (V) {
      %e = relay.nn.softmax %d : (V) -> V
      scf.yield %e : V
    } else {
      scf.yield %d : V
    }
    func.return %r : V
}"""


def test_what_a_branch_asks_for_stays_until_then() -> None:
    """The condition is read between the steps 3 and 4, when the tensors of step 3 are there already."""
    program = lowered(CHOICE)
    assert [step.name for step in program.steps] == [
        "fused_less",
        "fused_exp",
        "fused_nn_softmax",
        "fused_nn_softmax",
        "fused_nn_softmax",
        "copy",
    ]
    assert uses(program) == [
        (1, 0, 3, ["own"]),
        (400, 1, 2, ["own"]),
        (400, 2, 3, ["own"]),
        (400, 3, 5, ["own"]),
    ]


def test_what_is_asked_for_before_any_step() -> None:
    text = """func.func @main(%l: tensor<i1>, %x: V) -> V {
        %c = tensor.extract %l[] : tensor<i1>
        %r = scf.if %c -> (V) {
          %e = relay.exp %x : (V) -> V
          scf.yield %e : V
        } else {
          scf.yield %x : V
        }
        func.return %r : V
    }"""
    program = lowered(text)
    assert [step.name for step in program.steps] == ["fused_exp", "copy"]


LOOP = """func.func @main(%x: V) -> V {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %a = relay.exp %x : (V) -> V
    %b = relay.tanh %x : (V) -> V
    %p, %q = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = {0}, %t = {1}) -> (V, V) {{
      %0 = relay.add %s, %t : (V, V) -> V
      %1 = relay.multiply %s, %t : (V, V) -> V
      scf.yield %0, %1 : V, V
    }}
    %z = relay.add %p, %q : (V, V) -> V
    func.return %z : V
}}"""
ROUND = ["fused_add", "fused_multiply", "copy", "copy"]


@pytest.mark.parametrize(
    ("initial", "before", "found"),
    [
        (("%a", "%b"), [], [(400, 0, 6, 3), (400, 1, 6, 2), (400, 2, 5, 1)]),
        (
            ("%a", "%a"),
            ["copy", "copy"],
            [(400, 0, 3, 1), (400, 1, 1, 1), (400, 2, 8, 2), (400, 2, 8, 1), (400, 4, 7, 1)],
        ),
        (
            ("%x", "%a"),
            ["copy"],
            [(400, 0, 7, 2), (400, 1, 1, 1), (400, 2, 7, 2), (400, 3, 6, 1)],
        ),
    ],
)
def test_what_a_loop_begins_with(
    initial: tuple[str, str], before: list[str], found: list[tuple[int, int, int, int]]
) -> None:
    """It carries the memory of an initial value that is its own and nobody else's; else a copy."""
    program = lowered(LOOP.format(*initial))
    steps = ["fused_exp", "fused_tanh", *before, *ROUND, "fused_add"]
    assert [step.name for step in program.steps] == steps
    counts = [(size, first, last, len(inside)) for size, first, last, inside in uses(program)]
    assert counts == found


CALLS = """func.func @main(%x: V) -> V {
    %a = relay.exp %x : (V) -> V
    %b = func.call @f(%a) : (V) -> V
    %c = relay.tanh %b : (V) -> V
    func.return %c : V
}
func.func @f(%x: V) -> V {
    %a = relay.nn.softmax %x : (V) -> V
    %b = relay.nn.softmax %a : (V) -> V
    func.return %b : V
}"""


def stamps(function: func.FuncOp) -> list[int]:
    """The numbers of the steps whose end is noted, in order."""
    found: list[int] = []
    for op in function.walk():
        if isinstance(op, llvm.CallOp) and op.callee and op.callee.string_value() == "xrelay_stamp":
            number = op.args[1].owner
            assert isinstance(number, llvm.ConstantOp)
            found.append(int(str(number.value).split(" ")[0]))
    return found


def test_times_of_steps_in_functions() -> None:
    """The entry function notes when it begins, and each function the ends of its own steps and calls."""
    program = lowered(CALLS, profile=True)
    names = ["fused_exp", "call", "fused_tanh", "fused_nn_softmax", "fused_nn_softmax"]
    assert [step.name for step in program.steps] == names
    found = {
        op.sym_name.data: stamps(op)
        for op in program.module.ops
        if isinstance(op, func.FuncOp) and stamps(op)
    }
    assert found == {"main": [0, 1, 2, 3], "called_0": [4, 5]}


# -- outputs that grow over inputs --------------------------------------------------------------------


OLD, NEW, GROWN = "tensor<3x5xf32>", "tensor<2x5xf32>", "tensor<5x5xf32>"
HEAD = f"func.func @main(%old: {OLD}, %x: {NEW}) -> {GROWN} {{"
TAIL = f"\nfunc.return %r : {GROWN}\n}}"
JOINED = f"""%t = relay.tuple %old, %x : ({OLD}, {NEW}) -> tuple<{OLD}, {NEW}>
    %r = relay.concatenate %t {{axis = 0 : i64}} : (tuple<{OLD}, {NEW}>) -> {GROWN}"""


def over_old(axis: int = 0) -> Layouts:
    """The output lies where the input %old does, and goes on along an axis."""
    return Layouts(growing=(Growth("output0", "old", axis),))


def test_what_is_appended_is_taken() -> None:
    """One kernel that joins, and begins behind what is there already."""
    plain, growing = lowered(HEAD + JOINED + TAIL), lowered(HEAD + JOINED + TAIL, over_old())
    assert len(plain.steps) == len(growing.steps) == 1
    assert str(plain.module) != str(growing.module)


def test_rows_that_are_appended_are_vectors() -> None:
    """Rows are counted, and no places in all of them, of which each would be divided into a row and a column."""
    text = str(lowered(HEAD + JOINED + TAIL, over_old()).module)
    assert "vector<4xf32>" in text
    assert "arith.divui" not in text


NOT_APPENDED = {
    "an input": (
        f"func.func @main(%old: {OLD}, %x: {NEW}) -> {OLD} {{\nfunc.return %old : {OLD}\n}}",
        0,
    ),
    "a row-major operator": (
        f"func.func @main(%old: {OLD}, %x: {OLD}) -> {OLD} {{\n%r = relay.add %old, %x : ({OLD}, {OLD}) -> {OLD}\nfunc.return %r : {OLD}\n}}",
        0,
    ),
    "an operator with loops": (
        f"func.func @main(%old: {OLD}, %x: {NEW}) -> {OLD} {{\n%r = relay.nn.softmax %old : ({OLD}) -> {OLD}\nfunc.return %r : {OLD}\n}}",
        0,
    ),
    "the other way round": (
        HEAD
        + JOINED.replace(
            "%old, %x : (" + f"{OLD}, {NEW}", "%x, %old : (" + f"{NEW}, {OLD}"
        ).replace(f"tuple<{OLD}, {NEW}>", f"tuple<{NEW}, {OLD}>")
        + TAIL,
        0,
    ),
    "something computed": (
        HEAD + f"%o = relay.exp %old : ({OLD}) -> {OLD}\n" + JOINED.replace("%old,", "%o,") + TAIL,
        0,
    ),
    "along another axis": (
        """func.func @main(%old: tensor<3x5xf32>, %x: tensor<3x2xf32>) -> tensor<3x7xf32> {
        %t = relay.tuple %old, %x : (tensor<3x5xf32>, tensor<3x2xf32>) -> tuple<tensor<3x5xf32>, tensor<3x2xf32>>
        %r = relay.concatenate %t {axis = 1 : i64} : (tuple<tensor<3x5xf32>, tensor<3x2xf32>>) -> tensor<3x7xf32>
        func.return %r : tensor<3x7xf32>
        }""",
        0,
    ),
    "a loop": (
        f"""func.func @main(%old: {OLD}, %x: {NEW}) -> {OLD} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %old) -> ({OLD}) {{
          scf.yield %s : {OLD}
        }}
        func.return %r : {OLD}\n}}""",
        0,
    ),
}


@pytest.mark.parametrize("name", NOT_APPENDED)
def test_outputs_that_append_nothing(name: str) -> None:
    """They are refused, with the input, the output and the axis."""
    text, axis = NOT_APPENDED[name]
    with pytest.raises(DiagnosticException) as found:
        lowered(text, over_old(axis))
    assert str(found.value) == (
        "input 'old' and output 'output0' share memory, but the program does not compute the output by appending "
        f"to the input along axis {axis}; expected arrays apart"
    )


SHIFT = """func.func @main(%x: V) -> V {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %a = relay.exp %x : (V) -> V
    %b = relay.tanh %x : (V) -> V
    %c = relay.sin %x : (V) -> V
    %p, %q, %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %a, %t = %b, %u = %c) -> (V, V, V) {{
      %0 = relay.add %s, %t : (V, V) -> V
      scf.yield {0} : V, V, V
    }}
    %z = relay.add %p, %q : (V, V) -> V
    %w = relay.add %z, %r : (V, V) -> V
    func.return %w : V
}}"""


@pytest.mark.parametrize(
    ("given", "copies"),
    [
        ("%s, %t, %u", 0),
        ("%0, %s, %t", 3),
        ("%t, %u, %0", 4),
        ("%t, %s, %u", 3),
        ("%t, %u, %s", 4),
        ("%s, %s, %t", 2),
        ("%u, %u, %u", 2),
        ("%t, %s, %s", 4),
    ],
)
def test_what_a_round_hands_to_the_next(given: str, copies: int) -> None:
    """Each tensor that moves is copied once, before its place is written; circles take one copy more. The sum lies where %s did."""
    program = lowered(SHIFT.format(given))
    assert [step.name for step in program.steps].count("copy") == copies
