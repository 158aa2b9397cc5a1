"""Side by side with other inference engines: `python -m benchmarks` at the root of the tree."""
