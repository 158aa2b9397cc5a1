// RUN: xrelay-opt -p fuse-ops %s | filecheck %s
// RUN: xrelay-opt -p fold-constant %s | filecheck %s
// RUN: xrelay-opt -p simplify-inference,simplify-expr,eliminate-common-subexpr %s | filecheck %s

// The body of a function that is primitive is a kernel's, also where the function is a value.
// CHECK-LABEL: func.func @main
// CHECK: relay.closure
// CHECK-NOT: relay.fused
// CHECK: relay.exp
// CHECK-NEXT: relay.exp
// CHECK-NEXT: relay.add
// CHECK-NEXT: relay.yield
