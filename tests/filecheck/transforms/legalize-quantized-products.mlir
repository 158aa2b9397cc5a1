// RUN: xdsl-opt -p legalize-quantized-products %s | filecheck %s
// RUN: xdsl-opt -p legalize-quantized-products,legalize-quantized-products %s | filecheck %s

// CHECK-LABEL: func.func @convolution(%x: tensor<1x4x5x5xui8>, %w: tensor<6x2x3x3xi8>, %zx: tensor<i32>, %zw: tensor<6xi32>, %s: tensor<f32>) -> tensor<1x6x5x5xi32> {
// CHECK-NEXT: [[V0:%.*]] = relay.cast %x {dtype = i32} : (tensor<1x4x5x5xui8>) -> tensor<1x4x5x5xi32>
// CHECK-NEXT: [[V1:%.*]] = relay.subtract [[V0]], %zx : (tensor<1x4x5x5xi32>, tensor<i32>) -> tensor<1x4x5x5xi32>
// CHECK-NEXT: [[V2:%.*]] = relay.cast %w {dtype = i32} : (tensor<6x2x3x3xi8>) -> tensor<6x2x3x3xi32>
// CHECK-NEXT: [[V3:%.*]] = relay.reshape %zw {newshape = array<i64: -1, 1, 1, 1>} : (tensor<6xi32>) -> tensor<6x1x1x1xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.subtract [[V2]], [[V3]] : (tensor<6x2x3x3xi32>, tensor<6x1x1x1xi32>) -> tensor<6x2x3x3xi32>
// CHECK-NEXT: [[V5:%.*]] = relay.nn.conv2d [[V1]], [[V4]] {padding = array<i64: 1, 1>, groups = 2 : i64, channels = 6 : i64, out_dtype = i32} : (tensor<1x4x5x5xi32>, tensor<6x2x3x3xi32>) -> tensor<1x6x5x5xi32>
// CHECK-NEXT: func.return [[V5]] : tensor<1x6x5x5xi32>
// CHECK-NEXT: }
func.func @convolution(%x: tensor<1x4x5x5xui8>, %w: tensor<6x2x3x3xi8>, %zx: tensor<i32>, %zw: tensor<6xi32>, %s: tensor<f32>) -> tensor<1x6x5x5xi32> {
  %y = relay.qnn.conv2d %x, %w, %zx, %zw, %s, %s {padding = array<i64: 1, 1>, groups = 2 : i64, channels = 6 : i64} : (tensor<1x4x5x5xui8>, tensor<6x2x3x3xi8>, tensor<i32>, tensor<6xi32>, tensor<f32>, tensor<f32>) -> tensor<1x6x5x5xi32>
  return %y : tensor<1x6x5x5xi32>
}

// CHECK-LABEL: func.func @transposed(%x: tensor<1x4x5x5xui8>, %w: tensor<3x4x3x3xi8>, %z: tensor<i32>, %s: tensor<f32>) -> tensor<1x3x11x11xi16> {
// CHECK-NEXT: [[V0:%.*]] = relay.cast %x {dtype = i32} : (tensor<1x4x5x5xui8>) -> tensor<1x4x5x5xi32>
// CHECK-NEXT: [[V1:%.*]] = relay.subtract [[V0]], %z : (tensor<1x4x5x5xi32>, tensor<i32>) -> tensor<1x4x5x5xi32>
// CHECK-NEXT: [[V2:%.*]] = relay.cast %w {dtype = i32} : (tensor<3x4x3x3xi8>) -> tensor<3x4x3x3xi32>
// CHECK-NEXT: [[V3:%.*]] = relay.subtract [[V2]], %z : (tensor<3x4x3x3xi32>, tensor<i32>) -> tensor<3x4x3x3xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.nn.conv2d_transpose [[V1]], [[V3]] {strides = array<i64: 2, 2>, out_dtype = i16} : (tensor<1x4x5x5xi32>, tensor<3x4x3x3xi32>) -> tensor<1x3x11x11xi16>
// CHECK-NEXT: func.return [[V4]] : tensor<1x3x11x11xi16>
// CHECK-NEXT: }
func.func @transposed(%x: tensor<1x4x5x5xui8>, %w: tensor<3x4x3x3xi8>, %z: tensor<i32>, %s: tensor<f32>) -> tensor<1x3x11x11xi16> {
  %y = relay.qnn.conv2d_transpose %x, %w, %z, %z, %s, %s {strides = array<i64: 2, 2>, out_dtype = i16} : (tensor<1x4x5x5xui8>, tensor<3x4x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x3x11x11xi16>
  return %y : tensor<1x3x11x11xi16>
}

// A zero point that is known to be 0 is not subtracted.
// CHECK-LABEL: func.func @dense(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %z: tensor<1xi32>, %s: tensor<f32>) -> tensor<2x4xi32> {
// CHECK-NEXT: %zero = relay.constant dense<0> : tensor<i32>
// CHECK-NEXT: [[V0:%.*]] = relay.cast %x {dtype = i32} : (tensor<2x3xi8>) -> tensor<2x3xi32>
// CHECK-NEXT: [[V1:%.*]] = relay.cast %w {dtype = i32} : (tensor<4x3xi8>) -> tensor<4x3xi32>
// CHECK-NEXT: [[V2:%.*]] = relay.reshape %z {newshape = array<i64: 1, 1>} : (tensor<1xi32>) -> tensor<1x1xi32>
// CHECK-NEXT: [[V3:%.*]] = relay.subtract [[V1]], [[V2]] : (tensor<4x3xi32>, tensor<1x1xi32>) -> tensor<4x3xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.nn.dense [[V0]], [[V3]] {units = 4 : i64, out_dtype = i32} : (tensor<2x3xi32>, tensor<4x3xi32>) -> tensor<2x4xi32>
// CHECK-NEXT: func.return [[V4]] : tensor<2x4xi32>
// CHECK-NEXT: }
func.func @dense(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %z: tensor<1xi32>, %s: tensor<f32>) -> tensor<2x4xi32> {
  %zero = relay.constant dense<0> : tensor<i32>
  %y = relay.qnn.dense %x, %w, %zero, %z, %s, %s {units = 4 : i64} : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<1xi32>, tensor<f32>, tensor<f32>) -> tensor<2x4xi32>
  return %y : tensor<2x4xi32>
}

// CHECK-LABEL: func.func @batches(%x: tensor<2x3x4xi8>, [[V0:%.*]]: tensor<2x5x4xi8>, %z: tensor<i32>, %s: tensor<f32>) -> tensor<2x3x5xi32> {
// CHECK-NEXT: [[V1:%.*]] = relay.cast %x {dtype = i32} : (tensor<2x3x4xi8>) -> tensor<2x3x4xi32>
// CHECK-NEXT: [[V2:%.*]] = relay.subtract [[V1]], %z : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<2x3x4xi32>
// CHECK-NEXT: [[V3:%.*]] = relay.cast [[V0]] {dtype = i32} : (tensor<2x5x4xi8>) -> tensor<2x5x4xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.subtract [[V3]], %z : (tensor<2x5x4xi32>, tensor<i32>) -> tensor<2x5x4xi32>
// CHECK-NEXT: [[V5:%.*]] = relay.nn.batch_matmul [[V2]], [[V4]] {transpose_b = true, out_dtype = i32} : (tensor<2x3x4xi32>, tensor<2x5x4xi32>) -> tensor<2x3x5xi32>
// CHECK-NEXT: func.return [[V5]] : tensor<2x3x5xi32>
// CHECK-NEXT: }
func.func @batches(%x: tensor<2x3x4xi8>, %y: tensor<2x5x4xi8>, %z: tensor<i32>, %s: tensor<f32>) -> tensor<2x3x5xi32> {
  %0 = relay.qnn.batch_matmul %x, %y, %z, %z, %s, %s {transpose_b = true} : (tensor<2x3x4xi8>, tensor<2x5x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x3x5xi32>
  return %0 : tensor<2x3x5xi32>
}

// A backend knows a composite by its shape.
// CHECK-LABEL: func.func @keep_composite(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %z: tensor<i32>, %s: tensor<f32>) -> tensor<2x4xi32> {
// CHECK-NEXT: [[V0:%.*]] = relay.composite "test.dense" %x, %w, %z, %s : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<f32>) -> tensor<2x4xi32> {
// CHECK-NEXT: ^bb0(%p: tensor<2x3xi8>, %q: tensor<4x3xi8>, %r: tensor<i32>, %t: tensor<f32>):
// CHECK-NEXT: [[V1:%.*]] = relay.qnn.dense %p, %q, %r, %r, %t, %t : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x4xi32>
// CHECK-NEXT: relay.yield [[V1]] : tensor<2x4xi32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return [[V0]] : tensor<2x4xi32>
// CHECK-NEXT: }
func.func @keep_composite(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %z: tensor<i32>, %s: tensor<f32>) -> tensor<2x4xi32> {
  %y = relay.composite "test.dense" %x, %w, %z, %s : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<f32>) -> tensor<2x4xi32> {
  ^bb0(%p: tensor<2x3xi8>, %q: tensor<4x3xi8>, %r: tensor<i32>, %t: tensor<f32>):
    %0 = relay.qnn.dense %p, %q, %r, %r, %t, %t : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x4xi32>
    relay.yield %0 : tensor<2x4xi32>
  }
  return %y : tensor<2x4xi32>
}

// CHECK-LABEL: func.func private @keep_external(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %z: tensor<i32>, %s: tensor<f32>) -> tensor<2x4xi32> attributes {Compiler = "test"} {
// CHECK-NEXT: [[V0:%.*]] = relay.qnn.dense %x, %w, %z, %z, %s, %s : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x4xi32>
// CHECK-NEXT: func.return [[V0]] : tensor<2x4xi32>
// CHECK-NEXT: }
func.func private @keep_external(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %z: tensor<i32>, %s: tensor<f32>) -> tensor<2x4xi32> attributes {Compiler = "test"} {
  %y = relay.qnn.dense %x, %w, %z, %z, %s, %s : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x4xi32>
  return %y : tensor<2x4xi32>
}
