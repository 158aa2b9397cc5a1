// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @dyn(%x: tensor<1x2x3x4xf32>, %n: tensor<4xi64>, %one: tensor<1xi64>, %s: tensor<f32>, %i: tensor<2xi32>, %w: tensor<4x2xi64>, %v: tensor<2xf32>, %roi: tensor<4xf32>, %volume: tensor<1x1x2x3x4xf32>) {
// CHECK-LABEL: func.func @dyn(%x: tensor<1x2x3x4xf32>, %n: tensor<4xi64>, %one: tensor<1xi64>, %s: tensor<f32>, %i: tensor<2xi32>, %w: tensor<4x2xi64>, %v: tensor<2xf32>, %roi: tensor<4xf32>, %volume: tensor<1x1x2x3x4xf32>) {
  %shape = relay.constant dense<[2, 3]> : tensor<2xi64>
  // CHECK-NEXT: %shape = relay.constant dense<[2, 3]> : tensor<2xi64>
  %ones = relay.dyn.ones %shape {dtype = f32} : (tensor<2xi64>) -> tensor<2x3xf32>
  // CHECK-NEXT: %ones = relay.dyn.ones %shape {dtype = f32} : (tensor<2xi64>) -> tensor<2x3xf32>
  %zeros = relay.dyn.zeros %n {dtype = i8} : (tensor<4xi64>) -> tensor<?x?x?x?xi8>
  // CHECK-NEXT: %zeros = relay.dyn.zeros %n {dtype = i8} : (tensor<4xi64>) -> tensor<?x?x?x?xi8>
  %full = relay.dyn.full %s, %shape : (tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  // CHECK-NEXT: %full = relay.dyn.full %s, %shape : (tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  %broadcast = relay.dyn.broadcast_to %s, %shape : (tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  // CHECK-NEXT: %broadcast = relay.dyn.broadcast_to %s, %shape : (tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
  %expand = relay.dyn.expand_dims %v, %one : (tensor<2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %expand = relay.dyn.expand_dims %v, %one : (tensor<2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  %reshape = relay.dyn.reshape %x, %n : (tensor<1x2x3x4xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  // CHECK-NEXT: %reshape = relay.dyn.reshape %x, %n : (tensor<1x2x3x4xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  %squeeze = relay.dyn.squeeze %x, %one : (tensor<1x2x3x4xf32>, tensor<1xi64>) -> tensor<?x?x?xf32>
  // CHECK-NEXT: %squeeze = relay.dyn.squeeze %x, %one : (tensor<1x2x3x4xf32>, tensor<1xi64>) -> tensor<?x?x?xf32>
  %slice = relay.dyn.strided_slice %x, %one, %one, %one {axes = array<i64: 1>} : (tensor<1x2x3x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?x3x4xf32>
  // CHECK-NEXT: %slice = relay.dyn.strided_slice %x, %one, %one, %one {axes = array<i64: 1>} : (tensor<1x2x3x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?x3x4xf32>
  %tile = relay.dyn.tile %x, %one : (tensor<1x2x3x4xf32>, tensor<1xi64>) -> tensor<1x2x3x?xf32>
  // CHECK-NEXT: %tile = relay.dyn.tile %x, %one : (tensor<1x2x3x4xf32>, tensor<1xi64>) -> tensor<1x2x3x?xf32>
  %hot = relay.dyn.one_hot %i, %s, %s, %one : (tensor<2xi32>, tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2x?xf32>
  // CHECK-NEXT: %hot = relay.dyn.one_hot %i, %s, %s, %one : (tensor<2xi32>, tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2x?xf32>
  %pad = relay.dyn.nn.pad %x, %w, %s {pad_mode = "edge"} : (tensor<1x2x3x4xf32>, tensor<4x2xi64>, tensor<f32>) -> tensor<?x?x?x?xf32>
  // CHECK-NEXT: %pad = relay.dyn.nn.pad %x, %w, %s {pad_mode = "edge"} : (tensor<1x2x3x4xf32>, tensor<4x2xi64>, tensor<f32>) -> tensor<?x?x?x?xf32>
  %large = relay.dyn.nn.upsampling %x, %s, %s : (tensor<1x2x3x4xf32>, tensor<f32>, tensor<f32>) -> tensor<1x2x?x?xf32>
  // CHECK-NEXT: %large = relay.dyn.nn.upsampling %x, %s, %s : (tensor<1x2x3x4xf32>, tensor<f32>, tensor<f32>) -> tensor<1x2x?x?xf32>
  %dense = relay.dyn.sparse_to_dense %i, %v, %s, %one : (tensor<2xi32>, tensor<2xf32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  // CHECK-NEXT: %dense = relay.dyn.sparse_to_dense %i, %v, %s, %one : (tensor<2xi32>, tensor<2xf32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  %image = relay.dyn.image.resize2d %x, %shape, %roi {method = "cubic"} : (tensor<1x2x3x4xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<1x2x2x3xf32>
  // CHECK-NEXT: %image = relay.dyn.image.resize2d %x, %shape, %roi {method = "cubic"} : (tensor<1x2x3x4xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<1x2x2x3xf32>
  %large3 = relay.dyn.nn.upsampling3d %volume, %s, %s, %s : (tensor<1x1x2x3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?x?xf32>
  // CHECK-NEXT: %large3 = relay.dyn.nn.upsampling3d %volume, %s, %s, %s : (tensor<1x1x2x3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<1x1x?x?x?xf32>
  %top = relay.dyn.topk %x, %one : (tensor<1x2x3x4xf32>, tensor<1xi64>) -> tuple<tensor<1x2x3x?xf32>, tensor<1x2x3x?xi32>>
  // CHECK-NEXT: %top = relay.dyn.topk %x, %one : (tensor<1x2x3x4xf32>, tensor<1xi64>) -> tuple<tensor<1x2x3x?xf32>, tensor<1x2x3x?xi32>>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
