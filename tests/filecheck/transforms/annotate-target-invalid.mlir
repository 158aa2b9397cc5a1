// RUN: xdsl-opt -p 'annotate-target{targets=default}' --verify-diagnostics %s | filecheck %s --check-prefix=DEFAULT
// RUN: xdsl-opt -p 'annotate-target{targets=a operators="b:add"}' --verify-diagnostics %s | filecheck %s --check-prefix=OTHER
// RUN: xdsl-opt -p 'annotate-target{targets=a operators=add}' --verify-diagnostics %s | filecheck %s --check-prefix=FORM
// RUN: xdsl-opt -p 'annotate-target{targets=a operators="a:nn.rleu"}' --verify-diagnostics %s | filecheck %s --check-prefix=UNKNOWN
// RUN: xdsl-opt -p 'merge-composite' --verify-diagnostics %s | filecheck %s --check-prefix=NOBODY

builtin.module {
}

// DEFAULT: 'targets' is default, expected names of compilers other than default
// OTHER: 'operators' has 'b:add', expected compiler:operator, where the compiler is one of a
// FORM: 'operators' has 'add', expected compiler:operator, where the compiler is one of a
// UNKNOWN: 'operators' has 'a:nn.rleu': there is no operator nn.rleu
// NOBODY: 'targets' is empty, expected names of compilers
