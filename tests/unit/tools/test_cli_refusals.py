"""
Bad input of `xrelay` gets a sentence and an exit code, never a traceback, and leaves nothing behind.
See also test_run_inputs.py and test_unwritable.py.
"""

import subprocess
from pathlib import Path
from textwrap import dedent

import numpy as np
import onnx
import pytest
from commands.runs import Command, MakeModel, Snapshot
from engines.needed import CC, needs_cc
from onnx import TensorProto, helper
from onnx_models import PERCEPTRON

import xrelay
from xrelay.tools.errors import BAD_INPUT, FAILED

# -- models that cannot be read ---------------------------------------------------------------


def write_truncated(folder: Path) -> None:
    content = (folder / "conv.onnx").read_bytes()
    (folder / "bad.onnx").write_bytes(content[: len(content) // 2])


def write_text(folder: Path) -> None:
    (folder / "bad.onnx").write_text("This is no model.\n")


def write_empty(folder: Path) -> None:
    (folder / "bad.onnx").touch()


def write_directory(folder: Path) -> None:
    (folder / "bad.onnx").mkdir()


def write_nothing(folder: Path) -> None:
    """The file is missing."""


UNREADABLE = {
    "missing": (write_nothing, "there is no such file"),
    "truncated": (write_truncated, "cut off"),
    "text": (write_text, "not an ONNX"),
    "empty": (write_empty, "the file is empty"),
    "directory": (write_directory, "it is a directory"),
}
ACTIONS = {
    "run": ["run"],
    "compile": ["compile", "-o", "out.so"],
    "explain": ["explain"],
}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("action", ACTIONS)
def test_unreadable_model(
    cmd: Command, inside: Path, action: str, kind: str, files: Snapshot
) -> None:
    write, reason = UNREADABLE[kind]
    write(inside)
    before = files(inside)
    result = cmd(*ACTIONS[action], "bad.onnx")
    result.refused("cannot read model 'bad.onnx'", reason)
    assert result.err.count("\n") == 1
    assert files(inside) == before


def test_truncated_anywhere(cmd: Command, inside: Path) -> None:
    """A cut may leave a model that is only shorter; then something is missing in it."""
    content = (inside / "conv.onnx").read_bytes()
    for end in range(1, len(content), 37):
        (inside / "bad.onnx").write_bytes(content[:end])
        cmd("explain", "bad.onnx").refused("bad.onnx")


def test_unsupported_operators_are_listed_at_once(
    cmd: Command, inside: Path, files: Snapshot, model_of: MakeModel
) -> None:
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], "first"),
        helper.make_node("Relu", ["x"], ["b"], "fine"),
        helper.make_node("Twist", ["b"], ["c"], "second", domain="com.example"),
        helper.make_node("Concat", ["a", "b", "c"], ["y"], "last", axis=0),
    ]
    model = model_of(nodes, {"x": (np.float32, [4])}, ["y"])
    model.opset_import.append(helper.make_opsetid("com.example", 7))
    onnx.save(model, inside / "bad.onnx")
    before = files(inside)
    for arguments in ACTIONS.values():
        result = cmd(*arguments, "bad.onnx")
        result.refused(
            "2 nodes are not supported",
            "node 'first': op type Frobnicate, domain 'ai.onnx', opset 13: ",
            "node 'second': op type Twist, domain 'com.example', opset 7: ",
        )
        assert "fine" not in result.err
    assert files(inside) == before


@pytest.mark.parametrize("opset", [1, 9999])
def test_unsupported_opset(cmd: Command, inside: Path, opset: int, model_of: MakeModel) -> None:
    nodes = [helper.make_node("Dropout", ["x"], ["y"], "drop")]
    if opset == 1:
        nodes = [helper.make_node("Selu", ["x"], ["y"], "drop")]
    onnx.save(model_of(nodes, {"x": (np.float32, [4])}, ["y"], opset=opset), inside / "bad.onnx")
    reason = f"node 'drop': op type {nodes[0].op_type}, domain 'ai.onnx', opset {opset}: "
    cmd("run", "bad.onnx").refused(reason)


def test_symbolic_dimension_without_a_shape(cmd: Command, inside: Path, files: Snapshot) -> None:
    before = files(inside)
    for arguments in (["run"], ["compile", "-o", "out.mlir"], ["compile", "-o", "out.onnx"]):
        cmd(*arguments, "symbolic.onnx").refused(
            "input 'x' has the unknown dimension 0 ('batch'), 2 ('side'), 3 ('side'): "
            'use shapes={"batch": …, "side": …}, or --shape batch=… --shape side=…'
        )
    cmd("run", "symbolic.onnx", "--shape", "batch=1,8").refused(
        "input 'x' has the unknown dimension 0 ('batch', somewhere from 1 to 8), 2 ('side'), 3 ('side'): "
        'use one length, as in shapes={"batch": 8, "side": …}, or --shape batch=8 --shape side=…'
    )
    assert files(inside) == before


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("x", "--shape is 'x', expected NAME=1,3,224,224"),
        ("x=", "--shape is 'x=', expected NAME=1,3,224,224"),
        ("=1", "--shape is '=1', expected NAME=1,3,224,224"),
        ("x=1,a", "--shape of 'x' is '1,a', expected numbers"),
        ("x=1,,2", "--shape of 'x' is '1,,2', expected numbers"),
        ("x=-1,3,8,8", "expected no negative number"),
        ("x=1,3,8", "the shape [1, 3, 8] of rank 3, the model states [batch, 3, side, side]"),
        ("x=1,4,8,8", "dimension 1 is 3"),
        ("x=1,3,8,9", "symbol 'side'"),
        ("z=1,3,8,8", "'z', which is neither an input nor an unknown dimension"),
        ("x=1,3,9223372036854775807,9223372036854775807", "x"),
    ],
)
def test_bad_shapes(cmd: Command, inside: Path, option: str, reason: str) -> None:
    cmd("run", "symbolic.onnx", "--shape", option).refused(reason)


def test_a_shape_is_given_once(cmd: Command, inside: Path) -> None:
    result = cmd("run", "symbolic.onnx", "--shape", "x=1,3,8,8", "--shape", "x=2,3,8,8")
    result.refused("--shape names 'x' twice")


def test_a_program_states_its_shapes(cmd: Command, inside: Path) -> None:
    cmd("run", "add.mlir", "--shape", "x=2,5").refused("the program states tensor<2x4xf32>")


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("../secret.bin", "contains '..', which is not allowed"),
        ("/etc/hostname", "is an absolute path, which is not allowed"),
        ("link.bin", "leads out of the folder of the model"),
        ("absent.bin", "there is no file 'absent.bin' beside the model"),
    ],
)
def test_external_data_stay_inside(
    cmd: Command, inside: Path, location: str, reason: str, files: Snapshot
) -> None:
    model = onnx.load(inside / "conv.onnx")
    weight = model.graph.initializer[0]
    data = weight.raw_data
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    entry = weight.external_data.add()
    entry.key, entry.value = "location", location
    (inside / "models").mkdir()
    (inside / "secret.bin").write_bytes(data)
    (inside / "models" / "link.bin").symlink_to(inside / "secret.bin")
    (inside / "models" / "conv.onnx").write_bytes(model.SerializeToString())
    before = files(inside)
    result = cmd("compile", "models/conv.onnx", "-o", "out.so")
    result.refused("external data of tensor 'w'", reason)
    assert files(inside) == before


# -- programs that cannot be read -------------------------------------------------------------

BAD_PROGRAMS = {
    "does not parse": ("func.func @main(%x: tensor<2xf32> {", ["bad.mlir:1:"]),
    "is empty": ("", ["bad.mlir:1:1"]),
    "is cut in a string": (
        'func.func @main(%x: tensor<2xf32> {onnx.name = "a name that is long and never ends',
        ["'bad.mlir', line 1: expected a complete string literal"],
    ),
    "has a name beyond ASCII": (
        'func.func @main(%x: tensor<2xf32>) attributes {a = "é",\n é = 1 : i64} {}',
        ["'bad.mlir', line 2: the character 'é' is outside of a string"],
    ),
    "has a branch without values": (
        "func.func @main(%c: i1) {\n%0 = scf.if %c -> (tensor<2xf32>) { scf.yield }\nreturn }",
        ["bad.mlir:2:1", "the first branch gives 0 values, expected 1"],
    ),
    "meets an assertion of the parser": (
        "func.func @main(%x: tensor<2xf32>) { %0 = relay.tuple %x, }",
        ["bad.mlir:1:"],
    ),
    "has a property of another kind": (
        "func.func @main() {\n  %0 = relay.zeros {shape = [4], dtype = f32} : tensor<4xf32>\n}",
        ["bad.mlir:2:3", "%0 = relay.zeros", "[4 : i64] should be of base attribute array"],
    ),
    "has an alias that does not verify": (
        "func.func private @f()\n#a = 300 : i8\nfunc.func private @g() attributes {a = #a}",
        ["bad.mlir:2:1", "#a = 300 : i8", "300 is out of range for type i8"],
    ),
    "has a number that its type lacks": (
        "func.func @main() {\n  %0 = relay.constant dense<300> : tensor<3xi8>\n}",
        ["bad.mlir:2:28", "%0 = relay.constant", "300 is out of range for type i8"],
    ),
    "has an unknown operation": (
        "func.func @main() {\n  relay.frobnicate\n  func.return\n}",
        ["bad.mlir:", "relay.frobnicate is not registered"],
    ),
    "does not verify": (
        """\
        func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {
          %0 = relay.nn.relu %x : (tensor<2xf32>) -> tensor<3xf32>
          func.return %0 : tensor<3xf32>
        }
        """,
        ["bad.mlir:2:11", "%0 = relay.nn.relu", "does not verify: ", "tensor<3xf32>"],
    ),
}


@pytest.mark.parametrize("kind", BAD_PROGRAMS)
def test_bad_program(cmd: Command, inside: Path, kind: str, files: Snapshot) -> None:
    text, parts = BAD_PROGRAMS[kind]
    (inside / "bad.mlir").write_text(text)
    before = files(inside)
    for arguments in ACTIONS.values():
        cmd(*arguments, "bad.mlir").refused(*parts)
    assert files(inside) == before


def test_program_without_a_function(cmd: Command, inside: Path) -> None:
    (inside / "bad.mlir").write_text("builtin.module {}")
    cmd("run", "bad.mlir").refused("no function 'main'; the module has none", code=FAILED)


def test_program_that_is_no_text(cmd: Command, inside: Path) -> None:
    (inside / "bad.mlir").write_bytes(bytes(range(256)))
    cmd("run", "bad.mlir").refused("cannot read 'bad.mlir': it is not a text file")
    cmd("run", "absent.mlir").refused("'absent.mlir': No such file or directory")


def test_program_cut_off_anywhere(cmd: Command, inside: Path) -> None:
    assert cmd("compile", "conv.onnx", "-o", "whole.mlir").code == 0
    text = (inside / "whole.mlir").read_text()
    for end in range(1, len(text) - 2, 53):
        (inside / "bad.mlir").write_text(text[:end])
        cmd("explain", "bad.mlir").refused("bad.mlir")


OTHER = """
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = "test.op"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
"""


def test_what_cannot_be_lowered_fails_to_compile(
    cmd: Command, inside: Path, files: Snapshot, program: str
) -> None:
    (inside / "dynamic.mlir").write_text(program.replace("2x4", "?x4"))
    (inside / "other.mlir").write_text(OTHER)
    (inside / "scalar.mlir").write_text(program.replace("(", "(%flag: i1, ", 1))
    before = files(inside)
    cmd("run", "dynamic.mlir").refused("?x4", code=FAILED)
    cmd("compile", "other.mlir", "-o", "out.o").refused("test.op cannot be lowered", code=FAILED)
    cmd("place", "scalar.mlir", "--backend", "numpy").refused(
        "'flag' is i1, which is no tensor", code=FAILED
    )
    assert files(inside) == before


def test_failed_compile_keeps_the_old_output(cmd: Command, inside: Path) -> None:
    (inside / "out.so").write_text("old")
    (inside / "other.mlir").write_text(OTHER)
    assert cmd("compile", "other.mlir", "-o", "out.so").code == FAILED
    assert (inside / "out.so").read_text() == "old"


def test_program_without_its_weights(cmd: Command, inside: Path) -> None:
    assert cmd("compile", "conv.onnx", "-o", "p.mlir").code == 0
    (inside / "p.mlir.weights.npz").unlink()
    parts = "'p.mlir' lacks the bytes of 1 large constant", "'p.mlir.weights.npz', where"
    cmd("run", "p.mlir").refused(*parts)
    cmd("compile", "p.mlir", "-o", "p.ll").refused(*parts)
    with pytest.raises(xrelay.CompileError, match="'p.mlir' lacks the bytes .* is not there"):
        xrelay.compile("p.mlir", cache=False)
    assert cmd("explain", "p.mlir").code == 0
    np.savez(inside / "p.mlir.weights.npz")
    cmd("run", "p.mlir").refused(parts[0], "holds those of another program")


@pytest.mark.slow
def test_damaged_weights(cmd: Command, inside: Path) -> None:
    assert cmd("compile", "conv.onnx", "-o", "p.mlir").code == 0
    weights = inside / "p.mlir.weights.npz"
    whole = weights.read_bytes()
    for start in range(0, len(whole), 23):
        damaged = bytearray(whole)
        damaged[start] ^= 0x55
        weights.write_bytes(damaged)
        result = cmd("run", "p.mlir")
        # A few bytes, such as dates, say nothing about the content.
        if result.code:
            result.refused("weights")
    for end in (0, 1, len(whole) // 2, len(whole) - 1):
        weights.write_bytes(whole[:end])
        cmd("run", "p.mlir").refused("cannot read the weights in 'p.mlir.weights")
    weights.write_bytes(b"some text")
    cmd("run", "p.mlir").refused("cannot read the weights in 'p.mlir.weights.npz': it is no .npz")
    weights.write_bytes(whole)
    assert cmd("run", "p.mlir").code == 0


# -- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["run", "compile"])
def test_unknown_target(cmd: Command, inside: Path, action: str) -> None:
    result = cmd(*ACTIONS[action], "add.mlir", "--target", "z80")
    known = "known targets are native, x86-64, x86-64-v3, x86-64-v4"
    result.refused(f"unknown target 'z80', {known}")


@pytest.mark.parametrize("action", ["run", "compile"])
@pytest.mark.parametrize("threads", [0, 257, -1])
def test_threads(cmd: Command, inside: Path, action: str, threads: int) -> None:
    result = cmd(*ACTIONS[action], "add.mlir", "--threads", threads)
    result.refused(f"threads is {threads}")


@pytest.mark.parametrize("option", ["--threads", "--seed"])
def test_options_that_are_numbers(cmd: Command, inside: Path, option: str) -> None:
    result = cmd("run", "add.mlir", option, "many")
    assert result.code == BAD_INPUT
    assert f"argument {option}: invalid int value: 'many'" in result.err


def test_negative_seed(cmd: Command, inside: Path) -> None:
    cmd("run", "add.mlir", "--seed", "-1").refused("--seed is -1")


# -- saved models that cannot be loaded -------------------------------------------------------


@needs_cc
def test_library_that_is_no_model(cmd: Command, inside: Path) -> None:
    assert CC is not None
    (inside / "empty.c").write_text("int nothing;\n")
    subprocess.run([CC, "-shared", "-o", "other.so", "empty.c"], cwd=inside, check=True)
    cmd("run", "other.so").refused("'other.so' does not end with a checksum of xrelay's")


@needs_cc
def test_library_that_is_cut_off(cmd: Command, inside: Path) -> None:
    """Loading one would end the process with a bus error."""
    assert cmd("compile", "conv.onnx", "-o", "out.so").code == 0
    content = (inside / "out.so").read_bytes()
    for end in (0, 3, 40, 64, 1000, len(content) // 2, len(content) - 1):
        (inside / "bad.so").write_bytes(content[:end])
        cmd("run", "bad.so").refused("bad.so")


def test_library_that_is_none(cmd: Command, inside: Path) -> None:
    (inside / "text.so").write_text("no library")
    (inside / "folder.so").mkdir()
    cmd("run", "text.so").refused("'text.so' does not end with a checksum of xrelay's")
    cmd("run", "absent.so").refused("cannot load 'absent.so': No such file or directory")
    cmd("run", "folder.so").refused("cannot load 'folder.so': Is a directory")


@pytest.mark.parametrize(
    "options",
    [["--verify"], ["--target", "x86-64"], ["--threads", "2"], ["--profile"]],
)
def test_options_that_need_the_model(cmd: Command, inside: Path, options: list[str]) -> None:
    result = cmd("run", "out.so", *options)
    result.refused("need the model; 'out.so' is machine code")


def test_arrays_for_other_names(cmd: Command, inside: Path) -> None:
    """The names that were given are looked at before lengths that nothing says."""
    np.save(inside / "z.npy", np.ones((2, 40), np.float32))
    onnx.save(PERCEPTRON, inside / "open.onnx")
    result = cmd("run", "open.onnx", "--input", "z=z.npy")
    result.refused("--input names 'z', expected inputs of 'x' float32[batch, 40]")


# -- tensors that no memory holds -------------------------------------------------------------

HUGE = "tensor<2x99999999999999999999999999xf32>"
HUGE_PROGRAMS = {
    "huge.mlir": f"""\
        func.func @main(%x: {HUGE}) -> {HUGE} {{
          %0 = relay.exp %x : ({HUGE}) -> {HUGE}
          return %0 : {HUGE}
        }}
        """,
    "huge.relay": "def @main(%x: Tensor[(2, 4611686018427387904), float32]) { exp(%x) }",
    "inside.mlir": """\
        func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
          %0 = relay.zeros {shape = array<i64: 2, 4611686018427387904>, dtype = f32}
            : tensor<2x4611686018427387904xf32>
          %1 = relay.sum %0 {axis = array<i64: 1>}
            : (tensor<2x4611686018427387904xf32>) -> tensor<2xf32>
          %2 = relay.add %x, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          return %2 : tensor<2xf32>
        }
        """,
    "empty.mlir": """\
        func.func @main(%x: tensor<0x4611686018427387904x8xf32>) -> tensor<3xi64> {
          %0 = relay.shape_of %x {dtype = i64}
            : (tensor<0x4611686018427387904x8xf32>) -> tensor<3xi64>
          return %0 : tensor<3xi64>
        }
        """,
}


@pytest.mark.parametrize("name", HUGE_PROGRAMS)
@pytest.mark.parametrize("action", [["run"], ["compile", "-o", "out.so"]])
def test_tensors_that_no_memory_holds(
    cmd: Command, inside: Path, action: list[str], name: str, files: Snapshot
) -> None:
    (inside / name).write_text(dedent(HUGE_PROGRAMS[name]))
    before = files(inside)
    cmd(*action, name).refused("is too large: no processor addresses more", code=FAILED)
    assert files(inside) == before


def test_dimensions_that_onnx_cannot_say(cmd: Command, inside: Path) -> None:
    (inside / "huge.mlir").write_text(dedent(HUGE_PROGRAMS["huge.mlir"]))
    cmd("compile", "huge.mlir", "-o", "out.onnx").refused("ONNX has no dimensions", code=FAILED)
    assert not (inside / "out.onnx").exists()


def test_an_empty_path(cmd: Command) -> None:
    cmd("run", "").refused("the path of the model is empty")
