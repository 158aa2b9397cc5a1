// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @dense(%x: tensor<2x5x4xf32>, %w: tensor<3x4xf32>, %a: tensor<4x2xf32>, %n: tensor<?x4xi8>, %m: tensor<3x4xi8>, %b: tensor<1x3x4xf32>) {
// CHECK-LABEL: func.func @dense(%x: tensor<2x5x4xf32>, %w: tensor<3x4xf32>, %a: tensor<4x2xf32>, %n: tensor<?x4xi8>, %m: tensor<3x4xi8>, %b: tensor<1x3x4xf32>) {
  %dense = relay.nn.dense %x, %w : (tensor<2x5x4xf32>, tensor<3x4xf32>) -> tensor<2x5x3xf32>
  // CHECK-NEXT: %dense = relay.nn.dense %x, %w : (tensor<2x5x4xf32>, tensor<3x4xf32>) -> tensor<2x5x3xf32>
  %units = relay.nn.dense %n, %m {units = 3 : i64, out_dtype = i32} : (tensor<?x4xi8>, tensor<3x4xi8>) -> tensor<?x3xi32>
  // CHECK-NEXT: %units = relay.nn.dense %n, %m {units = 3 : i64, out_dtype = i32} : (tensor<?x4xi8>, tensor<3x4xi8>) -> tensor<?x3xi32>
  %matmul = relay.nn.matmul %w, %a : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: %matmul = relay.nn.matmul %w, %a : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %flipped = relay.nn.matmul %a, %w {units = 3 : i64, transpose_a = true, transpose_b = true} : (tensor<4x2xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %flipped = relay.nn.matmul %a, %w {units = 3 : i64, transpose_a = true, transpose_b = true} : (tensor<4x2xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %batch = relay.nn.batch_matmul %x, %b {transpose_b = true} : (tensor<2x5x4xf32>, tensor<1x3x4xf32>) -> tensor<2x5x3xf32>
  // CHECK-NEXT: %batch = relay.nn.batch_matmul %x, %b {transpose_b = true} : (tensor<2x5x4xf32>, tensor<1x3x4xf32>) -> tensor<2x5x3xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
