"""
Random cases of every implementation of convolutions, matrix products and pooling.

    python tests/conformance/strategies.py [--cases N] [--seed S] [implementation ...]

Each is forced in turn, on every target that this processor can run, for one thread and for two or
three; results are compared with the interpreter's, and have to be the same bits for any number of
threads. Prints the largest error relative to its bound, and every case that fails; the exit code
is 1 when one does. 100 cases of each, the default, take about ten minutes.
"""

import argparse
import sys
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from cases.strategies.draws import draws, implementations
from strategy_checks import Trial
from vector_functions import targets_here

from xrelay.lowering.emit.target import TARGETS

TOGETHER = 10
"""Cases in a model."""


def check(implementation: str, target: str, count: int, seed: int) -> int:
    """Checks `count` cases, prints a line, and returns how many fail."""
    cases = draws(implementation, seed, TARGETS[target].lanes(4))
    worst, failed = 0.0, 0
    for number in range(0, count, TOGETHER):
        drawn = list(islice(cases, min(TOGETHER, count - number)))
        threads = 1, 2 + number // TOGETHER % 2
        found = Trial(drawn, target, *threads, seed=seed + number).outcomes()
        for case, outcome in zip(drawn, found, strict=True):
            worst = max(worst, outcome.error / case.bound if case.bound else outcome.error)
            if outcome.problem:
                failed += 1
                print(outcome.problem, flush=True)
    print(f"{target:10} {implementation:14} {count} cases, {failed} fail, "
          f"largest error {worst:.2f} of the bound", flush=True)  # fmt: skip
    return failed


def main() -> int:
    """Checks the named implementations, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("implementations", nargs="*", default=implementations())
    parser.add_argument("--cases", type=int, default=100, help="of each implementation and target")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = sum(
        check(implementation, target, options.cases, options.seed)
        for target in targets_here()
        for implementation in options.implementations
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
