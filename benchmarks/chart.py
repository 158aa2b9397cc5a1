"""The bar chart of a run."""

from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.engines import ENGINES, REFERENCE
from benchmarks.report import count_threads
from benchmarks.results import Report

COLOURS = {
    "xrelay": "#d55e00",
    "onnxruntime": "#999999",
    "openvino": "#0072b2",
    "openvino-default": "#56b4e9",
    "torch": "#e69f00",
    "tvm": "#009e73",
    "iree": "#cc79a7",
}
"""Of a palette that people with colour blindness can tell apart (Okabe and Ito, 2008)."""

SUFFIXES = (".png", ".svg")


def draw(report: Report, path: Path) -> None:
    """
    Writes a PNG or SVG: for each number of threads, how fast each engine runs each model,
    relative to the reference engine. Models that the reference did not run are left out.
    """
    matplotlib: Any = import_module("matplotlib")
    matplotlib.rcParams["svg.hashsalt"] = "xrelay"  # The same bytes for the same run.
    figure: Any = import_module("matplotlib.figure").Figure(
        figsize=(
            max(8.0, 0.9 * len(report.of_threads(report.threads[0])) + 2),
            0.6 + 3.4 * len(report.threads),
        ),
        layout="constrained",
    )
    rows: Any = figure.subplots(len(report.threads), 1, squeeze=False)
    engines = list(report.engines)
    width = 0.8 / max(1, len(engines))
    for (axes,), threads in zip(rows, report.threads, strict=True):
        cases = [case for case in report.of_threads(threads) if case.timing(REFERENCE)]
        for index, engine in enumerate(engines):
            places: list[float] = []
            heights: list[float] = []
            for position, case in enumerate(cases):
                own, reference = case.timing(engine), case.timing(REFERENCE)
                if own and reference:
                    places.append(position + (index - (len(engines) - 1) / 2) * width)
                    heights.append(reference.median / own.median)
            title = report.title(engine)
            bars = axes.bar(places, heights, width, color=COLOURS[engine], label=title)
            if len(engines) <= 4:
                axes.bar_label(bars, fmt="%.2f", fontsize=6, rotation=90, padding=2)
        axes.axhline(1, color="black", linewidth=0.6)
        axes.margins(y=0.15)
        axes.set_xticks(range(len(cases)), [case.model for case in cases], rotation=25, ha="right")
        axes.set_ylabel(f"speed relative to\n{ENGINES[REFERENCE].title}")
        axes.set_title(f"{count_threads(threads)} (higher is faster)", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    rows[0][0].legend(ncols=len(engines), fontsize=8, frameon=False, loc="upper right")
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=150, metadata=metadata)
