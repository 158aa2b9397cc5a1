// RUN: xdsl-opt -p 'annotate-target{targets=default}' --verify-diagnostics %s | filecheck %s --check-prefix=DEFAULT
// RUN: xdsl-opt -p 'annotate-target{targets=a operators="b:add"}' --verify-diagnostics %s | filecheck %s --check-prefix=OTHER
// RUN: xdsl-opt -p 'annotate-target{targets=a operators=add}' --verify-diagnostics %s | filecheck %s --check-prefix=FORM

builtin.module {
}

// DEFAULT: 'targets' is default, expected names of compilers other than default
// OTHER: 'operators' has 'b:add', expected compiler:operator, where the compiler is one of a
// FORM: 'operators' has 'add', expected compiler:operator, where the compiler is one of a
