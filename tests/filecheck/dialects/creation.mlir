// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @creation(%x: tensor<2x?xf32>, %value: tensor<i32>) {
// CHECK-LABEL: func.func @creation(%x: tensor<2x?xf32>, %value: tensor<i32>) {
  %zeros = relay.zeros {shape = array<i64: 2, 0>, dtype = f32} : tensor<2x0xf32>
  // CHECK-NEXT: %zeros = relay.zeros {shape = array<i64: 2, 0>, dtype = f32} : tensor<2x0xf32>
  %ones = relay.ones {shape = array<i64>, dtype = ui8} : tensor<ui8>
  // CHECK-NEXT: %ones = relay.ones {shape = array<i64>, dtype = ui8} : tensor<ui8>
  %full = relay.full %value {shape = array<i64: 3>} : (tensor<i32>) -> tensor<3xi32>
  // CHECK-NEXT: %full = relay.full %value {shape = array<i64: 3>} : (tensor<i32>) -> tensor<3xi32>
  %real = relay.full %value {shape = array<i64: 3>, dtype = f32} : (tensor<i32>) -> tensor<3xf32>
  // CHECK-NEXT: %real = relay.full %value {shape = array<i64: 3>, dtype = f32} : (tensor<i32>) -> tensor<3xf32>
  %zeros_like = relay.zeros_like %x : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %zeros_like = relay.zeros_like %x : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %ones_like = relay.ones_like %x : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %ones_like = relay.ones_like %x : (tensor<2x?xf32>) -> tensor<2x?xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
