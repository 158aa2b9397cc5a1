"""
The engines that are compared, each behind the same small interface.

All of them run on the same number of threads, one request at a time, and compute in float32, or in the
type with fewer bits that is asked for where they can; engines "as they come" choose a type
themselves. Each tells which one it is (`Session.precision`). An engine is there when its package can be found; what one cannot do is told as a reason (`NotRun`), not hidden.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# No import of the suite here: the process that measures loading must not know onnx or torch yet.

Array = npt.NDArray[Any]

FLOAT32 = "f32"
"""The precision in which engines are compared unless another one is asked for."""


class NotRun(Exception):
    """An engine cannot run a model; the message says why."""


TOLERANCE = 1e-4
"""
How far outputs that are computed in float32 may be from the reference's, relative to the largest
value there.
"""


@dataclass(frozen=True)
class Job:
    """What an engine loads."""

    model: str
    """The name of the model in the suite."""
    path: Path
    """The ONNX file."""
    threads: int
    inputs: Mapping[str, Array]
    """The values to run on, in the order of the model's inputs."""
    tolerance: float = TOLERANCE
    """How far results may be from the reference's."""
    precision: str = FLOAT32
    """The type in which engines that can are to multiply float32 values."""


Runner = Callable[[Mapping[str, Any]], list[Array]]
"""What runs a loaded model on inputs, and returns the outputs in order; they may be the engine's own memory."""


@dataclass(frozen=True)
class Session:
    """A loaded model with its inputs."""

    run: Callable[[], Any]
    """What is timed: one inference, from arrays to results that can be read."""
    outputs: Callable[[Any], list[Array]]
    """The outputs, in the order of the ONNX model, from what `run` returned."""
    precision: str = FLOAT32
    """The type in which the engine multiplies float32 values: `f32`, `bf16` or `f16`."""


@dataclass(frozen=True)
class Engine:
    """An inference engine."""

    name: str
    title: str
    module: str
    """The Python module that it needs."""
    distribution: str
    load: Callable[[Job], Session]

    @property
    def installed(self) -> bool:
        """Whether the module can be found."""
        try:
            return find_spec(self.module) is not None
        except ModuleNotFoundError:  # a package that it is in
            return False

    @property
    def version(self) -> str:
        """The version of the installed distribution."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return "?"


def listed(result: Any) -> list[Any]:
    """The results of a function that returns several or one."""
    return [*result] if isinstance(result, tuple | list) else [result]


def load_xrelay(job: Job) -> Session:
    """This compiler, with its cache of compiled models."""
    import xrelay

    model = xrelay.compile(job.path, threads=job.threads, precision=job.precision)

    def outputs(result: Mapping[str, Array]) -> list[Array]:
        return list(result.values())

    return Session(lambda: model.run(job.inputs), outputs, job.precision)


def load_onnxruntime(job: Job) -> Session:
    """See `onnxruntime_runner`. Its CPU provider keeps to float32."""
    run = onnxruntime_runner(job.path, job.threads)
    return Session(lambda: run(job.inputs), list)


def onnxruntime_runner(path: Path, threads: int) -> Runner:
    """onnxruntime with all graph optimisations, nodes one after the other."""
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def load_openvino(job: Job) -> Session:
    """One stream; the precision is asked for, because it would use bfloat16 units where there are any."""
    session = openvino_session(job, {"INFERENCE_PRECISION_HINT": job.precision})
    if session.precision != job.precision:
        raise NotRun(f"it computes in {session.precision}, not in {job.precision}")
    return session


def load_openvino_default(job: Job) -> Session:
    """One stream; the precision is the one that it chooses for this CPU."""
    return openvino_session(job, {})


def openvino_session(job: Job, hints: Mapping[str, str]) -> Session:
    """See `openvino_runner`. The inputs are tensors of OpenVINO from the start."""
    openvino: Any = import_module("openvino")
    run, precision = openvino_runner(job.path, job.threads, hints)
    tensors = {name: openvino.Tensor(array) for name, array in job.inputs.items()}

    def outputs(result: list[Array]) -> list[Array]:
        return [np.array(each) for each in result]

    return Session(lambda: run(tensors), outputs, precision)


def openvino_runner(path: Path, threads: int, hints: Mapping[str, str]) -> tuple[Runner, str]:
    """OpenVINO on one stream, with hints beside those of latency and threads; and the precision that it chose."""
    openvino: Any = import_module("openvino")
    compiled = openvino.Core().compile_model(
        str(path),
        "CPU",
        {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            **hints,
        },
    )
    precision = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    request = compiled.create_infer_request()
    count = len(compiled.outputs)

    def run(inputs: Mapping[str, Any]) -> list[Array]:
        request.infer(inputs, share_inputs=True, share_outputs=True)
        return [request.get_output_tensor(i).data for i in range(count)]

    return run, precision


def load_torch(job: Job) -> Session:
    """torch.compile with its default backend, on the module that the ONNX file comes from."""
    from benchmarks.suite import NETWORKS

    network = next((network for network in NETWORKS if network.name == job.model), None)
    if network is None:
        raise NotRun("the model exists as ONNX only")
    torch: Any = import_module("torch")
    torch.set_num_threads(job.threads)
    module: Any = network.build()
    compiled = torch.compile(module)
    tensors = [torch.from_numpy(array) for array in job.inputs.values()]

    def run() -> Any:
        with torch.inference_mode():
            return compiled(*tensors)

    def outputs(result: Any) -> list[Array]:
        return [each.numpy() for each in listed(result)]

    run()  # It compiles on the first call.
    return Session(run, outputs)


def load_tvm(job: Job) -> Session:
    """TVM's ONNX importer and its default pipeline for CPUs; no tuning."""
    tvm: Any = import_module("tvm")
    importer: Any = import_module("tvm.relax.frontend.onnx")
    relax: Any = import_module("tvm.relax")
    from onnx import ModelProto

    tvm.get_global_func("runtime.config_threadpool")(1, job.threads)
    target = tvm.target.Target.from_device("cpu")
    module = importer.from_onnx(ModelProto.FromString(job.path.read_bytes()))
    executable = tvm.compile(module, target=target)
    device = tvm.cpu()
    machine = relax.VirtualMachine(executable, device)
    tensors = [tvm.runtime.tensor(array, device) for array in job.inputs.values()]

    def outputs(result: Any) -> list[Array]:
        return [each.numpy() for each in ([result] if hasattr(result, "numpy") else result)]

    return Session(lambda: machine["main"](*tensors), outputs)


def load_iree(job: Job) -> Session:
    """IREE's ONNX importer, and its compiler for this CPU with default options."""
    importer: Any = import_module("iree.compiler.tools.import_onnx.__main__")
    compiler: Any = import_module("iree.compiler.tools")
    runtime: Any = import_module("iree.runtime")

    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "model.mlir")
        arguments = importer.parse_arguments([str(job.path), "-o", str(text)])
        if importer.main(arguments):
            raise NotRun("its ONNX importer failed")
        code = compiler.compile_file(
            str(text),
            target_backends=["llvm-cpu"],
            input_type="onnx",
            extra_args=["--iree-llvmcpu-target-cpu=host"],
        )
    runtime.flags.parse_flags(f"--task_topology_group_count={job.threads}")
    config = runtime.Config("local-task" if job.threads > 1 else "local-sync")
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, code), config)
    # Beside the graph's function there are its asynchronous variant and initialisers.
    (name,) = [
        name
        for name in module.vm_module.function_names
        if not name.startswith("__") and not name.endswith("$async")
    ]
    function = getattr(module, name)
    tensors = [runtime.asdevicearray(config.device, each) for each in job.inputs.values()]

    def outputs(result: Any) -> list[Array]:
        return [np.asarray(each.to_host()) for each in listed(result)]

    return Session(lambda: function(*tensors), outputs)


XRELAY = "xrelay"
REFERENCE = "onnxruntime"
"""The engine whose outputs are the right ones."""
RIVALS = ("onnxruntime", "openvino")
"""The engines whose faster one the ratio compares with. Both compute in float32, as xrelay does."""

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(XRELAY, "xrelay", "xrelay", "xrelay", load_xrelay),
        Engine("onnxruntime", "onnxruntime", "onnxruntime", "onnxruntime", load_onnxruntime),
        Engine("openvino", "OpenVINO", "openvino", "openvino", load_openvino),
        Engine(
            *("openvino-default", "OpenVINO as it comes", "openvino", "openvino"),
            load_openvino_default,
        ),
        Engine("torch", "torch.compile", "torch._inductor", "torch", load_torch),
        Engine("tvm", "TVM", "tvm", "apache-tvm", load_tvm),
        Engine("iree", "IREE", "iree.compiler", "iree-base-compiler", load_iree),
    )
}
"""By name, in the order of reports."""
