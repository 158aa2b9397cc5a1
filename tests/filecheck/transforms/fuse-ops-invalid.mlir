// RUN: xdsl-opt -p 'fuse-ops{opt-level=-1}' --verify-diagnostics %s | filecheck %s --check-prefix=LEVEL
// RUN: xdsl-opt -p 'fuse-ops{max-depth=0}' --verify-diagnostics %s | filecheck %s --check-prefix=DEPTH

builtin.module {
}

// LEVEL: 'opt-level' is -1, expected at least 0
// DEPTH: 'max-depth' is 0, expected at least 1
