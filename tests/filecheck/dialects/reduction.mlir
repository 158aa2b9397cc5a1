// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @reduction(%x: tensor<2x3x4xf32>, %c: tensor<2x3x4xi1>) {
// CHECK-LABEL: func.func @reduction(%x: tensor<2x3x4xf32>, %c: tensor<2x3x4xi1>) {
  %sum = relay.sum %x : (tensor<2x3x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %sum = relay.sum %x : (tensor<2x3x4xf32>) -> tensor<f32>
  %prod = relay.prod %x : (tensor<2x3x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %prod = relay.prod %x : (tensor<2x3x4xf32>) -> tensor<f32>
  %max = relay.max %x : (tensor<2x3x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %max = relay.max %x : (tensor<2x3x4xf32>) -> tensor<f32>
  %min = relay.min %x : (tensor<2x3x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %min = relay.min %x : (tensor<2x3x4xf32>) -> tensor<f32>
  %mean = relay.mean %x : (tensor<2x3x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %mean = relay.mean %x : (tensor<2x3x4xf32>) -> tensor<f32>
  %all = relay.all %c {axis = array<i64: -1>} : (tensor<2x3x4xi1>) -> tensor<2x3xi1>
  // CHECK-NEXT: %all = relay.all %c {axis = array<i64: -1>} : (tensor<2x3x4xi1>) -> tensor<2x3xi1>
  %any = relay.any %c {axis = array<i64: -1>} : (tensor<2x3x4xi1>) -> tensor<2x3xi1>
  // CHECK-NEXT: %any = relay.any %c {axis = array<i64: -1>} : (tensor<2x3x4xi1>) -> tensor<2x3xi1>
  %argmax = relay.argmax %x {axis = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xi32>
  // CHECK-NEXT: %argmax = relay.argmax %x {axis = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xi32>
  %argmin = relay.argmin %x {axis = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xi32>
  // CHECK-NEXT: %argmin = relay.argmin %x {axis = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xi32>
  %kept = relay.sum %x {axis = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // CHECK-NEXT: %kept = relay.sum %x {axis = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %excluded = relay.sum %x {axis = array<i64: 0, 2>, exclude = true} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %excluded = relay.sum %x {axis = array<i64: 0, 2>, exclude = true} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %last = relay.argmax %x {axis = array<i64: 2>, select_last_index = true, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x3x1xi32>
  // CHECK-NEXT: %last = relay.argmax %x {axis = array<i64: 2>, select_last_index = true, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x3x1xi32>
  %none = relay.max %x {axis = array<i64>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %none = relay.max %x {axis = array<i64>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
