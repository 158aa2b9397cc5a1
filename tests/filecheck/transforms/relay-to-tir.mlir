// RUN: xrelay-opt -p relay-to-tir %s | filecheck %s
// RUN: xrelay-opt -p relay-to-tir,relay-to-tir %s | filecheck %s
// Compilers with a hook are in tests/unit/transforms/test_relay_to_tir.py.

// Functions of compilers that nobody has registered, or that lower nothing, stay: as values, and of the module.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: relay.closure {{.*}}Compiler = "a"
// CHECK: relay.apply
// CHECK-NEXT: func.call @outlined
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = relay.closure attributes {Compiler = "a", Primitive} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%y: tensor<2xf32>):
    %1 = relay.exp %y : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %1 : tensor<2xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  %2 = func.call @outlined(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
// CHECK: func.func private @outlined({{.*}}attributes {{.*}}Compiler = "a"
func.func private @outlined(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a", Primitive} {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
