"""
A backend to learn from: regions become C, and the system's compiler makes machine code of it.

    relay.nn.relu %x : tensor<2x3xf32>   ──►   for (long i0 = 0; i0 < 2; ++i0)
                                               for (long i1 = 0; i1 < 3; ++i1)
                                                 v1[i0 * 3 + i1] = fmaxf(v0[i0 * 3 + i1], 0.0f);

An operator is a loop nest over its result. Tensors between operators lie in one block that the function
allocates, and share their memory when they never live at the same time; it returns 1 when there is no block.
Loops are plain: the compiler vectorises what it can.

f32 only. Constants stay parameters: C text is no place for megabytes of weights.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from xdsl.dialects import func
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.analysis.facts.memory_plan import Lifetime, plan_memory
from xrelay.backends.base import Backend, BackendError, No, ObjectFile, RegionOptions, Support, Yes
from xrelay.backends.regions import field_slice, region_outputs
from xrelay.dialects.conv import conv
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import dense, norm
from xrelay.dialects.shapes import is_tensor_type, leaf_count, shape_of
from xrelay.dialects.tensor import binary, reshape, unary
from xrelay.runtime.elf import is_supported

SYMBOL = "region"

UNARY: dict[type[Operation], str] = {
    unary.AbsOp: "fabsf({})",
    unary.CeilOp: "ceilf({})",
    unary.ExpOp: "expf({})",
    unary.FloorOp: "floorf({})",
    unary.LogOp: "logf({})",
    unary.NegativeOp: "-{}",
    unary.ReluOp: "({0} < 0.0f ? 0.0f : {0})",
    unary.SigmoidOp: "1.0f / (1.0f + expf(-{}))",
    unary.SqrtOp: "sqrtf({})",
    unary.TanhOp: "tanhf({})",
}
"""Expressions of an element."""
BINARY: dict[type[Operation], str] = {
    binary.AddOp: "{} + {}",
    binary.DivideOp: "{} / {}",
    binary.MaximumOp: "({0} > {1} || {0} != {0} ? {0} : {1})",
    binary.MinimumOp: "({0} < {1} || {0} != {0} ? {0} : {1})",
    binary.MultiplyOp: "{} * {}",
    binary.SubtractOp: "{} - {}",
}
"""Expressions of two elements."""
RESHAPES = (reshape.ReshapeOp, reshape.BatchFlattenOp, reshape.ExpandDimsOp, reshape.SqueezeOp)
"""Operators whose result has the elements of the operand, in their order."""


def offset(indices: Sequence[str], shape: Sequence[int]) -> str:
    """The expression for the place of an element, in row-major order."""
    text = "0"
    for index, length in zip(indices, shape, strict=True):
        text = index if text == "0" else f"({text}) * {length} + {index}"
    return text


@dataclass
class LoopNest:
    """The loops of one operator."""

    result: str
    """The variable of the tensor that they compute."""
    size: int
    """Bytes of this tensor."""
    reads: dict[str, None] = field(default_factory=dict[str, None])
    """The variables of the tensors that they read."""
    lines: list[str] = field(default_factory=list[str])


@dataclass
class CFunction:
    """The text of a function under construction."""

    nests: list[LoopNest] = field(default_factory=list[LoopNest])
    names: dict[SSAValue, tuple[str, ...]] = field(default_factory=dict[SSAValue, tuple[str, ...]])
    """The variables of a value: one for a tensor, those of all fields for a tuple."""

    def emit(self, line: str) -> None:
        """Adds a line to the loops of the last operator."""
        self.nests[-1].lines.append(f"  {line}")

    def element(self, value: SSAValue, indices: Sequence[str]) -> str:
        """An element of a tensor; axes of length 1 and missing ones are broadcast."""
        shape = shape_of(value)
        own = list(indices)[len(indices) - len(shape) :]
        own = ["0" if length == 1 else index for index, length in zip(own, shape, strict=True)]
        (name,) = self.names[value]
        self.nests[-1].reads[name] = None
        return f"{name}[{offset(own, shape)}]"

    def nest(self, value: SSAValue, body: Callable[[list[str]], str]) -> None:
        """Loops over the elements of a tensor, which `body` computes from the indices."""
        indices = [f"i{axis}" for axis in range(len(shape_of(value)))]
        for index, length in zip(indices, shape_of(value), strict=True):
            self.emit(f"for (long {index} = 0; {index} < {length}; ++{index})")
        self.emit(f"  {self.element(value, indices)} = {body(indices)};")

    def operator(self, op: Operation) -> None:
        """Adds the loops of an operator."""
        match op:
            case core.CompositeOp():
                for param, arg in zip(op.block.args, op.args, strict=True):
                    self.names[param] = self.names[arg]
                for inner in op.block.ops:
                    if isinstance(inner, core.YieldOp):
                        self.names[op.results[0]] = self.names[inner.value]
                    else:
                        self.operator(inner)
                return
            case core.TupleOp():
                self.names[op.result] = tuple(n for field in op.fields for n in self.names[field])
                return
            case core.TupleGetItemOp():
                self.names[op.result] = self.names[op.tuple_value][field_slice(op)]
                return
            case _ if isinstance(op, RESHAPES):
                self.names[op.results[0]] = self.names[op.operands[0]]
                return
            case _:
                self.begin(op.results[0])
        result = op.results[0]
        if type(op) in UNARY:
            self.nest(result, lambda at: UNARY[type(op)].format(self.element(op.operands[0], at)))
        elif type(op) in BINARY:
            self.nest(
                result,
                lambda at: BINARY[type(op)].format(*(self.element(x, at) for x in op.operands)),
            )
        elif isinstance(op, norm.BiasAddOp):
            axis = op.axis.value.data % len(shape_of(op.data))
            self.nest(
                result,
                lambda at: f"{self.element(op.data, at)} + {self.element(op.bias, [at[axis]])}",
            )
        elif isinstance(op, dense.DenseOp):
            self.dense(op)
        elif isinstance(op, conv.Conv2DOp):
            self.convolution(op)
        else:
            raise BackendError(f"no C for {op.name}")

    def begin(self, value: SSAValue) -> None:
        """Begins the loops that compute a tensor."""
        name = f"v{len(self.names)}"
        self.names[value] = (name,)
        self.nests.append(LoopNest(name, 4 * prod(shape_of(value))))

    def plan(self, returned: Sequence[str]) -> tuple[dict[str, int], int]:
        """The bytes in front of each tensor in the block, and the size of the block."""
        last: dict[str, int] = {}
        for number, nest in enumerate(self.nests):
            last.update(dict.fromkeys((nest.result, *nest.reads), number))
        last.update(dict.fromkeys(returned, len(self.nests)))
        plan = plan_memory(
            [Lifetime(nest.size, i, last[nest.result]) for i, nest in enumerate(self.nests)]
        )
        names = (nest.result for nest in self.nests)
        return dict(zip(names, plan.offsets, strict=True)), plan.size

    def dense(self, op: dense.DenseOp) -> None:
        """A product with a transposed matrix."""
        depth = shape_of(op.data)[-1]
        self.nest(op.result, lambda at: "0.0f")
        rows = [f"i{axis}" for axis in range(len(shape_of(op.data)) - 1)]
        for index, length in zip([*rows, "j", "k"], [*shape_of(op.result), depth], strict=True):
            self.emit(f"for (long {index} = 0; {index} < {length}; ++{index})")
        terms = self.element(op.data, [*rows, "k"]), self.element(op.weight, ["j", "k"])
        self.emit(f"  {self.element(op.result, [*rows, 'j'])} += {terms[0]} * {terms[1]};")

    def convolution(self, op: conv.Conv2DOp) -> None:
        """A convolution of images NCHW with filters OIHW."""
        top, left, _, _ = op.pads
        (down, right), (far_y, far_x) = op.strides.get_values(), op.dilation.get_values()
        groups = op.groups.value.data
        _, _, height, width = shape_of(op.data)
        channels, depth, filter_height, filter_width = shape_of(op.weight)
        self.nest(op.result, lambda at: "0.0f")
        lengths = [*shape_of(op.result), depth, filter_height, filter_width]
        for index, length in zip(("n", "o", "y", "x", "c", "r", "s"), lengths, strict=True):
            self.emit(f"for (long {index} = 0; {index} < {length}; ++{index}) {{")
        self.emit(f"  long row = y * {down} + r * {far_y} - {top};")
        self.emit(f"  long column = x * {right} + s * {far_x} - {left};")
        self.emit(f"  if (row >= 0 && row < {height} && column >= 0 && column < {width})")
        channel = f"o / {channels // groups} * {depth} + c"
        terms = (
            self.element(op.data, ["n", f"({channel})", "row", "column"]),
            self.element(op.weight, ["o", "c", "r", "s"]),
        )
        self.emit(
            f"    {self.element(op.result, ['n', 'o', 'y', 'x'])} += {terms[0]} * {terms[1]};"
        )
        self.emit("}" * len(lengths))


def c_source(function: func.FuncOp) -> str:
    """The C of a region."""
    text = CFunction()
    block = function.body.block
    inputs: list[str] = []
    for arg in block.args:
        names = tuple(f"in{len(inputs) + i}" for i in range(leaf_count(arg.type)))
        inputs.extend(names)
        text.names[arg] = names
    returned: list[str] = []
    for op in block.ops:
        if isinstance(op, func.ReturnOp):
            returned = [name for value in op.arguments for name in text.names[value]]
        else:
            text.operator(op)
    places, size = text.plan(returned)

    def pointer(name: str) -> str:
        return f"(float *)(block + {places[name]})" if name in places else name

    lines = [f"const float *restrict {name} = inputs[{i}];" for i, name in enumerate(inputs)]
    for nest in text.nests:
        # What is written lies apart from what is read: within these braces.
        lines += ["{", f"  float *restrict {nest.result} = {pointer(nest.result)};"]
        for name in nest.reads:
            if name in places and name != nest.result:
                lines.append(f"  const float *{name} = {pointer(name)};")
        lines += [*nest.lines, "}"]
    for i, (name, tensor) in enumerate(zip(returned, region_outputs(function), strict=True)):
        lines.append(f"memcpy(outputs[{i}], {pointer(name)}, {4 * prod(tensor.shape)});")
    return "\n".join(
        (
            "#include <math.h>",
            "#include <stdlib.h>",
            "#include <string.h>",
            f"int {SYMBOL}(const void *const *inputs, void *const *outputs) {{",
            f"  char *block = malloc({max(1, size)});",
            "  if (!block) return 1;",
            *(f"  {line}" for line in lines),
            "  free(block);",
            "  return 0;",
            "}",
            "",
        )
    )


class CSourceBackend(Backend):
    """Runs elementwise operators, matrix products and convolutions of f32."""

    name = "c"
    bind_constants = False

    def __init__(self, argument: str = ""):
        super().__init__(argument)
        if not is_supported():
            raise BackendError("backend 'c' needs Linux on 64-bit x86, to load what it compiles")
        self.command = shlex.split(os.environ.get("CC", "cc"))
        if not self.command or shutil.which(self.command[0]) is None:
            raise BackendError(
                "backend 'c' needs a C compiler: there is no "
                f"'{' '.join(self.command) or 'cc'}' (the environment's CC names another one)"
            )

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        known = (*UNARY, *BINARY, *RESHAPES, norm.BiasAddOp, dense.DenseOp, conv.Conv2DOp)
        if not isinstance(op, known):
            return No("no C is written for it")
        for type_ in (*types, *op.result_types):
            if not is_tensor_type(type_) or type_.element_type != f32:
                return No(f"{type_} is no tensor of f32")
            if not type_.has_static_shape():
                return No(f"{type_} has an unknown dimension")
        if isinstance(op, conv.Conv2DOp):
            layouts = tuple(map(str, op.layouts))
            if layouts != ("NCHW", "OIHW", "NCHW") or op.multiplies_depth:
                return No(f"its layouts are {', '.join(layouts)}, expected NCHW, OIHW, NCHW")
        return Yes()

    def compile(self, function: func.FuncOp, options: RegionOptions) -> ObjectFile:
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder, "region.c"), Path(folder, "region.o")
            source.write_text(c_source(function))
            # Without errno, functions of the C library become instructions where there are any.
            flags = ["-std=c11", "-O3", "-march=native", "-fno-math-errno", "-fPIC", "-c"]
            command = [*self.command, *flags, "-o", str(made), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise BackendError(f"{shlex.join(command)} fails: {done.stderr.strip()}")
            return ObjectFile(made.read_bytes(), SYMBOL)
