"""The graph of a function, its sub-graphs, and the functions that these become."""
