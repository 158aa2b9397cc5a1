"""
What the command line tools print and write: the texts in `tests/unit/tools/outputs`, which a change of tables,
explanations, pictures, messages or of what they are about changes.

`make pages` writes them anew: the difference shows what people read otherwise.
"""

import json
import re
import shlex
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from run_lines import Done, run_tool
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from benchmarks.placement_networks import detector, two_towers, unet
from xrelay.collector import collector_paused
from xrelay.dialects.tensor.binary import AddOp, SubtractOp
from xrelay.engines import Engines
from xrelay.options import CompileOptions, Progress, silent
from xrelay.placement.confirmation import Verdict
from xrelay.placement.costs.cost import Cost, Estimator, invalid
from xrelay.placement.costs.key import Machine
from xrelay.placement.explain import explanation, explanation_data
from xrelay.placement.placing import place
from xrelay.placement.plan_file import EngineFacts, plan_data
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.placement.rules.defaults import OWN_KERNELS
from xrelay.placing import Placed, Settings
from xrelay.sources import Source
from xrelay.tools import instruments, partition, run_model
from xrelay.tools import place as place_command
from xrelay.tools.opt import XRelayOptMain

FOLDER = Path(__file__).parents[2] / "unit" / "tools" / "outputs"
MOST_LINES = 60
"""Of what is printed: more than these are a few lines and a digest."""
FIRST_LINES = 12
TEXTS = (".dot", ".html", ".json", ".mlir", ".svg")
PICTURES = "pictures"
"""The name of the text that is about layouts, which depend on the version of igraph."""
RUN = "run"
"""The name of the text that is about machine code of x86-64 that runs."""
PLAN = Path("kept.json")
"""Where the last plan lies."""
LONGEST_LINE = 300

ENVIRONMENT = {"COLUMNS": "160", "LINES": "50", "XRELAY_CACHE_SIZE": "0"}
"""What the tools go by, whatever the user has."""
UNSET = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "CLICOLOR_FORCE")

# -- what the commands read -----------------------------------------------------------------------

X = "tensor<2x8xf32>"
STEPS = f"""\
func.func @main(%x: {X}, %y: {X}) -> ({X}, {X}) {{
  %half = relay.constant dense<0.5> : tensor<f32>
  %a = relay.subtract %x, %y : ({X}, {X}) -> {X}
  %b = relay.nn.relu %a : ({X}) -> {X}
  %c = relay.multiply %b, %half : ({X}, tensor<f32>) -> {X}
  %d = relay.add %c, %y : ({X}, {X}) -> {X}
  %e = relay.subtract %d, %a : ({X}, {X}) -> {X}
  %f = relay.maximum %e, %x : ({X}, {X}) -> {X}
  %s = relay.nn.softmax %f : ({X}) -> {X}
  func.return %f, %s : {X}, {X}
}}
"""
EXACT = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32], %y: Tensor[(2, 8), float32]) -> Tensor[(2, 8), float32] {
  %0 = subtract(%x, %y);
  %1 = nn.relu(%0);
  %2 = add(%1, %y);
  negative(%2)
}
"""
TYPES = "(tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>"
OPEN = f"""\
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {{
  %a = relay.add %x, %y : {TYPES}
  func.return %a : tensor<?x8xf32>
}}
"""
SIBLINGS = f"""\
func.func @main(%x: {X}, %y: {X}) -> ({X}, {X}) {{
  %a = relay.add %x, %y : ({X}, {X}) -> {X}
  %b = relay.multiply %x, %y : ({X}, {X}) -> {X}
  func.return %a, %b : {X}, {X}
}}
"""
PARTS = f"""\
func.func @main(%x: {X}, %y: {X}, %c: i1) -> ({X}, {X}) {{
  %a = func.call @inside(%x, %y) : ({X}, {X}) -> {X}
  %b = relay.fused %a, %y : ({X}, {X}) -> {X} {{
  ^bb0(%p: {X}, %q: {X}):
    %0 = relay.exp %p : ({X}) -> {X}
    %1 = relay.add %0, %q : ({X}, {X}) -> {X}
    relay.yield %1 : {X}
  }}
  %d = scf.if %c -> ({X}) {{
    %2 = relay.tanh %b : ({X}) -> {X}
    %3 = relay.sigmoid %2 : ({X}) -> {X}
    scf.yield %3 : {X}
  }} else {{
    scf.yield %a : {X}
  }}
  func.return %b, %d : {X}, {X}
}}
func.func private @inside(%x: {X}, %y: {X}) -> {X}
    attributes {{Compiler = "npu", Primitive = 1 : i32, global_symbol = "inside"}} {{
  %0 = relay.multiply %x, %y : ({X}, {X}) -> {X}
  %1 = relay.negative %0 : ({X}) -> {X}
  func.return %1 : {X}
}}
"""


def long_program(length: int = 30) -> str:
    """A chain of softmax, and an edge past all of it."""
    steps = [f"  %0 = relay.nn.softmax %x : ({X}) -> {X}"]
    steps += [f"  %{n} = relay.nn.softmax %{n - 1} : ({X}) -> {X}" for n in range(1, length)]
    end = f"  %{length} = relay.add %0, %{length - 1} : ({X}, {X}) -> {X}"
    body = "\n".join([*steps, end])
    return f"func.func @main(%x: {X}) -> {X} {{\n{body}\n  func.return %{length} : {X}\n}}\n"


NPU = """\
name = "npu"
flops = 2e10
bandwidth = 3e9
launch = 20e-6

[operators]
"nn.conv2d" = {}
"nn.dense" = {}
"nn.bias_add" = {}
"nn.relu" = {}
"add" = {}

[composites]
"dense_add" = ["nn.dense", "add"]
"add_relu" = ["add", "nn.relu"]
"""
RULES = """\
always = ["nn.matmul", "take"]
never = ["nn.dense"]
"""
STEP_NAMES = ("fused_subtract_nn_relu_multiply_add_subtract_maximum", "fused_nn_softmax")
EVENTS = [
    {"ph": "X", "name": name, "ts": 0, "dur": 10.5 * (number + 1)}
    for number, name in enumerate(STEP_NAMES)
]


def open_model() -> ModelProto:
    """relu(x w) + softmax of x w, of a batch that is not known."""
    weights = numpy_helper.from_array(np.arange(64, dtype=np.float32).reshape(8, 8), "w")
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 8]) for name in ("x", "y")
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], "product"),
        helper.make_node("Relu", ["p"], ["r"], "relu"),
        helper.make_node("Softmax", ["p"], ["s"], "softmax"),
        helper.make_node("Add", ["r", "s"], ["y"], "sum"),
    ]
    graph = helper.make_graph(nodes, "open", [x], [y], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_inputs() -> None:
    """Writes the models, and other files that the commands read, into the working directory."""
    for name, model in {
        "unet": unet(32),
        "detector": detector(32),
        "towers": two_towers(16),
        "open": open_model(),
    }.items():
        Path(f"{name}.onnx").write_bytes(model.SerializeToString())
    texts = {
        "steps.mlir": STEPS,
        "exact.relay": EXACT,
        "open.mlir": OPEN,
        "parts.mlir": PARTS,
        "siblings.mlir": SIBLINGS,
        "long.mlir": long_program(),
        "npu.toml": NPU,
        "rules.toml": RULES,
        "trace.json": json.dumps({"traceEvents": EVENTS}),
        "other.json": json.dumps({"traceEvents": EVENTS[:1]}),
        "broken.mlir": "func.func @main(",
        "empty.mlir": "",
    }
    for name, text in texts.items():
        Path(name).write_text(text)


# -- the commands ---------------------------------------------------------------------------------

V3 = "--target x86-64-v3"
COMMANDS: dict[str, Sequence[str]] = {
    "explain": (
        f"xrelay explain towers.onnx {V3}",
        f"xrelay explain unet.onnx {V3} --limit 3 --max-depth 4",
        f"xrelay explain steps.mlir {V3} --no-simplify --opt-level 0",
        f"xrelay explain steps.mlir {V3} --rules relay --plan-json plan.json",
        f"xrelay explain detector.onnx {V3} --rules extended --limit 2 --max-function-args 4",
        f"xrelay explain detector.onnx {V3} --why conv0 conv2",
        f"xrelay explain steps.mlir {V3} --why a f",
        f"xrelay explain detector.onnx {V3} --why '#4' @main:relu5",
        f"xrelay explain steps.mlir {V3} --why e s --rules relay --max-depth 2",
        f"xrelay explain siblings.mlir {V3} --rules extended",
        f"xrelay explain siblings.mlir {V3} --rules extended --why a b",
        f"xrelay explain siblings.mlir {V3} --rules extended --what-if add=opaque",
        f"xrelay explain parts.mlir {V3}",
        f"xrelay explain parts.mlir {V3} --what-if tanh=opaque --what-if add=opaque",
        f"xrelay explain steps.mlir {V3} --what-if c=opaque",
        f"xrelay explain steps.mlir {V3} --what-if add=broadcast",
        f"xrelay explain detector.onnx {V3} --what-if nn.relu=opaque",
        f"xrelay explain steps.mlir {V3} --what-if nn.softmax=injective",
        f"xrelay explain open.mlir {V3}",
        f"xrelay explain open.onnx {V3} --shape batch=1,64",
    ),
    "estimates": (
        f"xrelay explain towers.onnx {V3} --memory --json memory.json",
        f"xrelay explain detector.onnx {V3} --memory --threads 4 --limit 5",
        "xrelay explain unet.onnx --target x86-64-v4-amx --memory --limit 8",
        f"xrelay explain towers.onnx {V3} --strategies --json strategies.json",
        "xrelay explain unet.onnx --target x86-64-v4 --strategies --threads 2 --limit 3 --no-winograd",
        f"xrelay explain detector.onnx {V3} --operators --json operators.json",
        f"xrelay explain unet.onnx {V3} --operators --limit 2",
        f"xrelay explain towers.onnx {V3} --precision bf16 --types --json types.json",
        "xrelay explain detector.onnx --target x86-64-v4-amx --precision f16 --types",
        f"xrelay explain towers.onnx {V3} --precision bf16 --precision-rules rules.toml --types --limit 4",
        f"xrelay explain open.onnx {V3} --memory --shape batch=2,8",
        f"xrelay explain open.onnx {V3} --strategies --shape batch=16,16",
        f"xrelay explain open.onnx {V3} --operators --json open.json",
        f"xrelay explain open.onnx {V3} --memory --shape batch=1,1 --json open.json",
    ),
    "view": (
        f"xrelay view steps.mlir {V3} -o steps.dot",
        f"xrelay view steps.mlir {V3} -o steps.dot --fused",
        f"xrelay view steps.mlir {V3} -o steps.dot --no-simplify --opt-level 0",
        f"xrelay view towers.onnx {V3} -o towers.dot --fused --strategies",
        f"xrelay view unet.onnx {V3} -o unet.dot",
        f"xrelay view open.onnx {V3} -o open.dot --fused",
        f"xrelay view parts.mlir {V3} -o parts.dot",
        f"xrelay view parts.mlir {V3} -o parts.dot --fused --no-simplify",
    ),
    "pictures": (
        f"xrelay view steps.mlir {V3} -o steps.html",
        f"xrelay view towers.onnx {V3} -o towers.html --strategies",
        f"xrelay view detector.onnx {V3} -o detector.svg",
        f"xrelay view unet.onnx {V3} -o unet.svg --fused --strategies",
        f"xrelay view steps.mlir {V3} -o times.html --profile trace.json",
        f"xrelay view steps.mlir {V3} -o times.svg --fused --profile trace.json",
        f"xrelay view open.onnx {V3} -o open.html",
        f"xrelay view parts.mlir {V3} -o parts.html",
        f"xrelay view long.mlir {V3} -o long.svg",
        f"xrelay view long.mlir {V3} -o long.html",
        f"xrelay view siblings.mlir {V3} -o siblings.html --rules extended",
        f"xrelay place steps.mlir {V3} --backend numpy",
        f"xrelay view steps.mlir {V3} -o placed.html --placement kept.json",
    ),
    "partition": (
        f"xrelay partition detector.onnx {V3} --backend simulated:npu.toml --json coverage.json",
        f"xrelay partition unet.onnx {V3} --backend simulated:npu.toml --limit 3",
        f"xrelay partition towers.onnx {V3} --backend numpy -o towers.mlir",
        f"xrelay partition towers.onnx {V3} --backend simulated:npu.toml --backend numpy",
        f"xrelay partition exact.relay {V3} --backend simulated:npu.toml --limit 2 -o exact.mlir",
        f"xrelay partition open.mlir {V3} --backend numpy",
    ),
    "place": (
        f"xrelay place steps.mlir {V3} --backend numpy -o plan.json --explain --pareto",
        f"xrelay view steps.mlir {V3} -o placed.dot --placement kept.json",
        f"xrelay place steps.mlir {V3} --backend numpy --pin nn.relu=numpy --explain why.json",
        f"xrelay place steps.mlir {V3} --backend numpy --method shortest-path --program out.mlir",
        f"xrelay place steps.mlir {V3} --backend simulated:npu.toml --prune --explain --no-confirm",
        f"xrelay place exact.relay {V3} --backend numpy,simulated:npu.toml --explain",
        f"xrelay place exact.relay {V3} --backend numpy,simulated:npu.toml --pin add=npu --no-confirm",
        f"xrelay view exact.relay {V3} -o placed.dot --placement kept.json",
        f"xrelay place exact.relay {V3} --backend simulated:npu.toml --explain --no-confirm --pareto",
        f"xrelay place exact.relay {V3} --backend simulated:npu.toml --pin relu=npu --no-confirm",
        f"xrelay place steps.mlir {V3} --backend numpy --memory 0",
        f"xrelay place steps.mlir {V3} --backend numpy --measure-seconds -1",
        f"xrelay place steps.mlir {V3} --backend numpy --refine -1",
        f"xrelay place steps.mlir {V3} --backend numpy --refine 1 --no-confirm",
        f"xrelay place steps.mlir {V3} --backend numpy --program out.txt",
        f"xrelay place steps.mlir {V3} --backend numpy --workers 0",
        f"xrelay place open.mlir {V3} --backend numpy",
        f"xrelay place steps.mlir {V3} --backend numpy --pin nn.dense=default",
        f"xrelay place steps.mlir {V3} --backend numpy --memory -1",
    ),
    "run": (
        "xrelay run towers.onnx --target x86-64 --precision bf16 --compare towers.onnx --json far.json",
        "xrelay run exact.relay --target x86-64 --compare exact.relay --seed 3 --verify",
        "xrelay run exact.relay --interpret --seed 3 --output-dir results",
        "xrelay partition exact.relay --target x86-64 --backend simulated:npu.toml --run --seed 3",
        "xrelay run exact.relay --target x86-64 --backend numpy --output-dir results",
        "xrelay run open.onnx --target x86-64 --shape batch=3 --precision bf16 --compare open.onnx",
        "xrelay run exact.relay --target x86-64 --compare steps.mlir",
        "xrelay run exact.relay --target x86-64 --compare towers.onnx",
    ),
    "lists": (
        "xrelay ops",
        "xrelay ops nn.conv2d 'dyn.*'",
        "xrelay ops --unsupported",
        "xrelay ops nn.conv3",
        "xrelay passes",
        "xrelay passes fold-constant 'merge-*'",
        "xrelay passes fuse-op",
    ),
    "opt": (
        "xrelay-opt steps.mlir -p fuse-ops --statistics",
        "xrelay-opt towers.onnx -p cpu-pipeline,fuse-ops --statistics -o towers.mlir",
        "xrelay-opt exact.relay -p fold-constant,fuse-ops --timing",
        "xrelay-opt exact.relay -p simplify-expr,fuse-ops --print-between-passes",
        "xrelay-opt exact.relay -p simplify-expr,fuse-ops --verify-semantics",
        "xrelay-opt steps.mlir -p fuse-ops,swap-operands --verify-semantics",
        "xrelay-opt steps.mlir -p simplify-expr,swap-operands,fuse-ops --bisect small.mlir",
        "xrelay-opt exact.relay -t relay-text",
        "xrelay-opt exact.relay -p simplify-expr --statistics --bisect small.mlir",
        "xrelay-opt exact.relay -p simplify-expr --bisect small.txt",
        "xrelay-opt open.mlir -p simplify-expr --verify-semantics",
        "xrelay-opt steps.mlir -p convert-relay-to-kernel",
        "xrelay-opt steps.mlir -p fuse-ops{opt-levl=2}",
        "xrelay-opt steps.mlir -p fuse-ops{opt-level=two}",
        "xrelay-opt broken.mlir",
        "xrelay-opt missing.mlir",
    ),
    "refusals": (
        "xrelay explain missing.onnx",
        "xrelay explain ''",
        "xrelay explain broken.mlir",
        "xrelay explain npu.toml",
        f"xrelay explain empty.mlir {V3}",
        "xrelay explain steps.mlir --target x86-64-v5",
        "xrelay explain steps.mlir --threads 0",
        "xrelay explain steps.mlir --limit -1",
        "xrelay explain steps.mlir --opt-level 9",
        "xrelay explain steps.mlir --rules none",
        "xrelay explain steps.mlir --json out.json",
        "xrelay explain steps.mlir --memory --what-if add=opaque",
        "xrelay explain steps.mlir --what-if add=none",
        "xrelay explain steps.mlir --what-if nn.rel=opaque",
        f"xrelay explain steps.mlir {V3} --why a nowhere",
        f"xrelay explain steps.mlir {V3} --why x a",
        f"xrelay explain steps.mlir {V3} --why @other:a b",
        f"xrelay explain steps.mlir {V3} --what-if #0=opaque --what-if a",
        "xrelay explain steps.mlir --chart chart.svg",
        "xrelay explain steps.mlir --memory --chart chart.gif",
        "xrelay explain steps.mlir --shape x=1,2",
        "xrelay explain towers.onnx --shape z=1,2",
        "xrelay explain steps.mlir --max-nodes 3",
        "xrelay explain steps.mlir --max-bytes 3x",
        "xrelay view steps.mlir -o steps.png",
        "xrelay view steps.mlir -o steps.html --fused",
        "xrelay view empty.mlir -o empty.dot",
        "xrelay view steps.mlir -o nowhere/steps.dot",
        f"xrelay view steps.mlir {V3} -o steps.dot --profile other.json",
        "xrelay view steps.mlir -o steps.dot --profile rules.toml",
        "xrelay view steps.mlir -o steps.dot --placement trace.json",
        "xrelay view steps.mlir -o steps.dot --placement trace.json --strategies",
        "xrelay partition steps.mlir --backend simulated:missing.toml",
        "xrelay partition steps.mlir --backend numpy --limit -1",
        "xrelay partition steps.mlir --backend numpy -o out.txt",
        "xrelay run steps.mlir --trace trace.json",
        "xrelay run steps.mlir --json out.json",
        "xrelay run steps.mlir --interpret --verify",
        "xrelay run steps.mlir --input x",
        "xrelay run steps.mlir --seed -1",
        "xrelay compile steps.mlir -o steps.txt",
        "xrelay compile steps.mlir -o steps.mlir --emit-after fuse-op",
        "xrelay compile steps.mlir -o steps.ll --emit-after fuse-ops",
        "xrelay compile steps.mlir -o steps.mlir --external-data",
        f"xrelay compile steps.mlir {V3} -o fused.mlir",
        f"xrelay compile steps.mlir {V3} -o kernels.mlir --emit-after convert-relay-to-kernels",
    ),
}
"""The command lines, by the name of the text that says what becomes of them."""

# -- what stands in for measurements, and for a pass with a mistake -----------------------------------


class TableCosts(Estimator):
    """Costs that nobody measured: so much for a region, and so much for each of its operators."""

    def estimate(self, candidate: Candidate) -> Cost:
        """Other engines cost more to enter, and less for each operator; one has no softmax."""
        ops = [node.op for node in candidate.part.graph.nodes if candidate.inside >> node.index & 1]
        names = [op.name for op in ops if is_call(op) and op is not None]
        if candidate.engine == OWN:
            return Cost(2.5e-6 * len(names), "table")
        if "relay.nn.softmax" in names:
            return invalid("no softmax", "table")
        return Cost(4e-6 + 0.75e-6 * len(names), "table")


def placed_by_table(
    source: Source,
    engines: Engines,
    options: CompileOptions,
    settings: Settings,
    progress: Progress = silent,
) -> Placed:
    """In place of `find_placement`: the same search by costs of a table."""
    graph = source.prepared(options, progress)
    placement = place(graph, engines.rules(OWN_KERNELS), TableCosts(), settings.request)
    facts = {name: EngineFacts("1") for name in engines.facts()}
    plan = plan_data(placement, Machine("cpu", "features", 1, "1"), facts)
    reasons = explanation_data(explanation(placement))
    PLAN.write_text(json.dumps({**plan, "explanation": reasons}))
    if not settings.is_confirmed:
        return Placed(placement, plan, None, {}, {}, 0)
    seconds = {"plan 1": 1.25e-5, "only default": 1.5e-5}
    verdict = Verdict("plan 1", "only default", seconds, {"plan 1": 0.875})
    return Placed(placement, plan, verdict, {"only numpy": "no softmax"}, {}, 7)


@dataclass(frozen=True)
class SwapOperandsPass(ModulePass):
    """Wrong: a - b becomes b - a where a is a sum."""

    name = "swap-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, SubtractOp) and isinstance(each.lhs.owner, AddOp):
                each.operands = [each.rhs, each.lhs]


class Clock:
    """In place of the module `time`: a 1024th of a second passes from one look to the next."""

    def __init__(self) -> None:
        self.looks = 0

    def perf_counter(self) -> float:
        """Seconds."""
        self.looks += 1
        return self.looks / 1024


@contextmanager
def prepared() -> Generator[None]:
    """A working directory with all that the commands read, and settings that are the same everywhere."""
    register = XRelayOptMain.register_all_passes

    def more(tool: XRelayOptMain) -> None:
        register(tool)
        tool.register_pass(SwapOperandsPass.name, lambda: SwapOperandsPass)

    with TemporaryDirectory() as folder, chdir(folder), pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        for name in UNSET:
            patch.delenv(name, raising=False)
        patch.setattr(XRelayOptMain, "register_all_passes", more)
        patch.setattr(place_command, "find_placement", placed_by_table)
        for module in (instruments, partition, run_model):
            patch.setattr(module, "time", Clock())
        write_inputs()
        yield


# -- what is on record --------------------------------------------------------------------------------


def digest(text: str | bytes) -> str:
    """Stands for a text."""
    content = text.encode() if isinstance(text, str) else text
    return sha256(content).hexdigest()[:8]


def excerpt(text: str) -> Iterator[str]:
    """The lines of a text, or of a long one the first, and a digest of all."""
    lines = text.splitlines()
    is_whole = len(lines) <= MOST_LINES and all(len(line) <= LONGEST_LINE for line in lines)
    for line in lines if is_whole else lines[:FIRST_LINES]:
        yield line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} …"
    if not is_whole:
        yield f"… {counted(len(lines), 'line')} in all, digest {digest(text)}"


def counted(number: int, what: str) -> str:
    """So many of a thing."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def written(path: Path) -> Iterator[str]:
    """What a command wrote into a file."""
    content = path.read_bytes()
    if path.suffix not in TEXTS:
        yield f"{path}: {counted(len(content), 'byte')}, digest {digest(content)}"
    elif path.suffix in (".html", ".svg"):
        tags = Counter(re.findall(r"<([a-z]+)", content.decode()))
        counts = ", ".join(f"{count} {tag}" for tag, count in sorted(tags.items()))
        yield f"{path}: {counts}; digest {digest(content)}"
    else:
        yield f"{path}:"
        yield from (f"  {line}" for line in excerpt(content.decode()))


def complaint(done: Done) -> Iterator[str]:
    """What a command says on standard error; without the usage, which argparse words as it likes."""
    lines = done.err.splitlines()
    yield from (f"! {line}" for line in (lines[-1:] if done.err.startswith("usage: ") else lines))


def files() -> set[Path]:
    """All in the working directory, without the last plan of `placed_by_table`."""
    return {path for path in Path().rglob("*") if path.is_file() and path != PLAN}


@collector_paused()
def lines(command: str) -> Iterator[str]:
    """What becomes of a command line: its exit code unless that is 0, what it prints and writes."""
    before = files()
    done = run_tool(shlex.split(command), b"")
    if done.code:
        yield f"exit code {done.code}"
    yield from complaint(done)
    yield from excerpt(done.out.decode())
    for path in sorted(files() - before):
        yield from written(path)
        path.unlink()


def entry(command: str) -> str:
    """What is on record of a command line, in a folder that is `prepared`."""
    return "".join(f"  {line}".rstrip() + "\n" for line in lines(command))


def entries(name: str) -> dict[str, str]:
    """What is on record of the command lines of a text."""
    with prepared():
        return {command: entry(command) for command in COMMANDS[name]}


def text(name: str) -> str:
    """All that is on record in a text."""
    first = f"igraph {version_of_layout()}\n" if name == PICTURES else ""
    return first + "".join(f"{command}\n{found}" for command, found in entries(name).items())


def version_of_layout() -> str:
    """That of igraph, which says where boxes of pictures stand."""
    return version("igraph")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in COMMANDS:
        (FOLDER / f"{each}.txt").write_text(text(each))
