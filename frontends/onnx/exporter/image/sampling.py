"""Emitters of sampling at given places."""

from xrelay.dialects.image import sampling
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor


def grid_sample(graph: OutputGraph, op: sampling.GridSampleOp) -> Tensor:
    """GridSample, whose grid has the coordinates of a place last."""
    rank = op.data.type.get_num_dims()
    if rank != 4:
        raise NotExpressible(f"'data' has rank {rank}, onnxruntime and OpenVINO sample images only")
    grid = graph.transpose(graph.tensor(op.grid), [0, *range(2, rank), 1])
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(op.method.data, op.method.data)
    return graph.node(
        "GridSample",
        graph.tensor(op.data),
        grid,
        mode=mode,
        padding_mode=op.padding_mode.data,
        align_corners=int(bool(op.align_corners.value.data)),
    )


EMITTERS: EmitterTable = {
    sampling.GridSampleOp: grid_sample,
}
