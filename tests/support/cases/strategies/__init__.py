"""
Random uses of operators that have several implementations, one implementation at a time.

A *case* adds one use of an operator to a graph, such that a named implementation can compute it:
in blocks of as many channels as the target has lanes, with constant weights, and so on. The sizes
are those that do not divide: channels just below and above whole vectors, odd images, windows
that reach beyond them on any side.

Images in blocks come in three ways: transformed from NCHW or computed by another kernel, which
write them with the zeros around them that the reader wants; or as a parameter, which is used as it
is. The lanes after the last channel of a parameter are NaN: nothing may depend on them.
"""
