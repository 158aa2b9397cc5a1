// RUN: xdsl-opt -p 'fuse-ops{opt-level=-1}' --verify-diagnostics %s | filecheck %s --check-prefix=LEVEL
// RUN: xdsl-opt -p 'fuse-ops{max-depth=0}' --verify-diagnostics %s | filecheck %s --check-prefix=DEPTH
// RUN: xdsl-opt -p 'fuse-ops{rules=relax}' --verify-diagnostics %s | filecheck %s --check-prefix=RULES
// RUN: xdsl-opt -p 'fuse-ops{max-function-args=-1}' --verify-diagnostics %s | filecheck %s --check-prefix=ARGS

builtin.module {
}

// LEVEL: 'opt-level' is -1, expected at least 0
// DEPTH: 'max-depth' is 0, expected at least 1
// RULES: 'rules' is 'relax', expected one of relay, cpu, extended
// ARGS: 'max-function-args' is -1, expected at least 0
