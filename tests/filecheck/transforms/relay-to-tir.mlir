// RUN: xrelay-opt -p relay-to-tir %s | filecheck %s
// RUN: xrelay-opt -p relay-to-tir,relay-to-tir %s | filecheck %s
// Compilers with a hook are in tests/unit/transforms/test_relay_to_tir.py.

// Functions of compilers that nobody has registered, or that lower nothing, stay: as values, and of the module.
// CHECK-LABEL: func.func @keep_literal
// CHECK-NEXT: relay.closure {{.*}}Compiler = "a"
// CHECK: relay.apply
// CHECK-NEXT: func.call @keep_outlined
func.func @keep_literal(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = relay.closure attributes {Compiler = "a", Primitive} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%y: tensor<2xf32>):
    %1 = relay.exp %y : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %1 : tensor<2xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  %2 = func.call @keep_outlined(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
// CHECK: func.func private @keep_outlined({{.*}}attributes {{.*}}Compiler = "a"
func.func private @keep_outlined(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a", Primitive} {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
