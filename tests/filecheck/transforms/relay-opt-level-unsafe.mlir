// RUN: xdsl-opt -p relay-opt-level-0{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p relay-opt-level-0 %s | filecheck %s --check-prefix=KEEP
// RUN: xdsl-opt -p relay-opt-level-1{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p relay-opt-level-1 %s | filecheck %s --check-prefix=KEEP
// RUN: xdsl-opt -p relay-opt-level-2{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p relay-opt-level-2 %s | filecheck %s --check-prefix=KEEP
// RUN: xdsl-opt -p relay-opt-level-3{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p relay-opt-level-3 %s | filecheck %s --check-prefix=KEEP

// The original takes x + 0 for x, which is not so for -0, and adds what may be infinities of both signs. With the option so
// do the levels.
// CHECK-LABEL: func.func @main
// CHECK-NOT: dense<0.000000e+00>
// CHECK-NOT: relay.subtract
// CHECK: func.return
// KEEP-LABEL: func.func @main
// KEEP: dense<0.000000e+00>
// KEEP: relay.subtract
// KEEP: func.return
func.func @main(%x: tensor<2x4xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.add %x, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = relay.nn.batch_norm %0, %c, %c, %c, %c : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
  %2 = relay.tuple_get_item %1[0] : (tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
