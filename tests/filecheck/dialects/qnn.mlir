// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: func.func @qnn
func.func @qnn(%data: tuple<tensor<1x2xi8>, tensor<1x3xi8>>, %scales: tuple<tensor<f32>, tensor<f32>>, %zeros: tuple<tensor<i32>, tensor<i32>>, %scale: tensor<f32>, %zero: tensor<i32>) {
  // CHECK-NEXT: %0 = relay.qnn.concatenate %data, %scales, %zeros, %scale, %zero {axis = 1 : i64} : (tuple<tensor<1x2xi8>, tensor<1x3xi8>>, tuple<tensor<f32>, tensor<f32>>, tuple<tensor<i32>, tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1x5xi8>
  %0 = relay.qnn.concatenate %data, %scales, %zeros, %scale, %zero {axis = 1 : i64} : (tuple<tensor<1x2xi8>, tensor<1x3xi8>>, tuple<tensor<f32>, tensor<f32>>, tuple<tensor<i32>, tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1x5xi8>
  func.return
}

// CHECK-LABEL: func.func @conversions
func.func @conversions(%x: tensor<2x3xf32>, %d: tensor<?x3xf32>, %q: tensor<2x3xi8>, %i: tensor<2x3xi32>, %s: tensor<f32>, %z: tensor<i32>, %sc: tensor<3xf32>, %zc: tensor<3xi32>) {
  // CHECK-NEXT: %0 = relay.qnn.quantize %x, %s, %z {out_dtype = i8} : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %0 = relay.qnn.quantize %x, %s, %z {axis = -1 : i64, out_dtype = i8} : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %1 = relay.qnn.quantize %d, %sc, %zc {axis = 1 : i64, out_dtype = ui8} : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xi32>) -> tensor<?x3xui8>
  %1 = relay.qnn.quantize %d, %sc, %zc {axis = 1 : i64, out_dtype = ui8} : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xi32>) -> tensor<?x3xui8>
  // CHECK-NEXT: %2 = relay.qnn.dequantize %q, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %2 = relay.qnn.dequantize %q, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %3 = relay.qnn.requantize %i, %sc, %zc, %s, %z {axis = 1 : i64, rounding = "TONEAREST", compute_dtype = "float32", out_dtype = i8} : (tensor<2x3xi32>, tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %3 = relay.qnn.requantize %i, %sc, %zc, %s, %z {axis = 1 : i64, rounding = "TONEAREST", compute_dtype = "float32", out_dtype = i8} : (tensor<2x3xi32>, tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %4 = relay.qnn.requantize %i, %s, %z, %s, %z : (tensor<2x3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi32>
  %4 = relay.qnn.requantize %i, %s, %z, %s, %z : (tensor<2x3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %5 = relay.qnn.simulated_quantize %x, %z, %s, %z : (tensor<2x3xf32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %5 = relay.qnn.simulated_quantize %x, %z, %s, %z : (tensor<2x3xf32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %6 = relay.qnn.simulated_dequantize %x, %z, %sc, %z {axis = 1 : i64} : (tensor<2x3xf32>, tensor<i32>, tensor<3xf32>, tensor<i32>) -> tensor<2x3xf32>
  %6 = relay.qnn.simulated_dequantize %x, %z, %sc, %z {axis = 1 : i64} : (tensor<2x3xf32>, tensor<i32>, tensor<3xf32>, tensor<i32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%q: tensor<2x3xi8>, %r: tensor<?x1x3xi8>, %s: tensor<f32>, %z: tensor<i32>, %sc: tensor<3xf32>, %zc: tensor<3xi32>) {
  // CHECK-NEXT: %0 = relay.qnn.add %q, %r, %s, %z, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<?x1x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<?x2x3xi8>
  %0 = relay.qnn.add %q, %r, %s, %z, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<?x1x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<?x2x3xi8>
  // CHECK-NEXT: %1 = relay.qnn.subtract %q, %r, %s, %z, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<?x1x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<?x2x3xi8>
  %1 = relay.qnn.subtract %q, %r, %s, %z, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<?x1x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<?x2x3xi8>
  // CHECK-NEXT: %2 = relay.qnn.mul %q, %r, %s, %z, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<?x1x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<?x2x3xi8>
  %2 = relay.qnn.mul %q, %r, %s, %z, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<?x1x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<?x2x3xi8>
  // CHECK-NEXT: %3 = relay.qnn.add %q, %r, %sc, %zc, %s, %z, %s, %z {lhs_axis = 1 : i64} : (tensor<2x3xi8>, tensor<?x1x3xi8>, tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<?x2x3xi8>
  %3 = relay.qnn.add %q, %r, %sc, %zc, %s, %z, %s, %z {lhs_axis = 1 : i64} : (tensor<2x3xi8>, tensor<?x1x3xi8>, tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<?x2x3xi8>
  // CHECK-NEXT: %4 = relay.qnn.abs %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %4 = relay.qnn.abs %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %5 = relay.qnn.erf %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %5 = relay.qnn.erf %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %6 = relay.qnn.exp %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %6 = relay.qnn.exp %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %7 = relay.qnn.hardswish %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %7 = relay.qnn.hardswish %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %8 = relay.qnn.log %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %8 = relay.qnn.log %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %9 = relay.qnn.rsqrt %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %9 = relay.qnn.rsqrt %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %10 = relay.qnn.sigmoid %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %10 = relay.qnn.sigmoid %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %11 = relay.qnn.sqrt %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %11 = relay.qnn.sqrt %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %12 = relay.qnn.tanh %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %12 = relay.qnn.tanh %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %13 = relay.qnn.leaky_relu %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %13 = relay.qnn.leaky_relu %q, %s, %z, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %14 = relay.qnn.leaky_relu %q, %s, %z, %s, %z {alpha = 1.000000e-01 : f64} : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  %14 = relay.qnn.leaky_relu %q, %s, %z, %s, %z {alpha = 1.000000e-01 : f64} : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<?x4x8x8xui8>, %w: tensor<6x4x3x3xi8>, %d: tensor<?x4xi8>, %v: tensor<6x4xi8>, %a: tensor<2x3x4xi8>, %b: tensor<1x5x4xi8>, %z: tensor<i32>, %s: tensor<f32>, %zc: tensor<6xi32>, %sc: tensor<6xf32>) {
  // CHECK-NEXT: %0 = relay.qnn.conv2d %x, %w, %z, %z, %s, %s {strides = array<i64: 2, 1>, padding = array<i64: 1>, kernel_size = array<i64: 3, 3>, channels = 6 : i64} : (tensor<?x4x8x8xui8>, tensor<6x4x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<?x6x4x8xi32>
  %0 = relay.qnn.conv2d %x, %w, %z, %z, %s, %s {strides = array<i64: 2, 1>, padding = array<i64: 1>, kernel_size = array<i64: 3, 3>, channels = 6 : i64} : (tensor<?x4x8x8xui8>, tensor<6x4x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<?x6x4x8xi32>
  // CHECK-NEXT: %1 = relay.qnn.conv2d %x, %w, %z, %zc, %s, %sc {out_dtype = i16} : (tensor<?x4x8x8xui8>, tensor<6x4x3x3xi8>, tensor<i32>, tensor<6xi32>, tensor<f32>, tensor<6xf32>) -> tensor<?x6x6x6xi16>
  %1 = relay.qnn.conv2d %x, %w, %z, %zc, %s, %sc {out_dtype = i16} : (tensor<?x4x8x8xui8>, tensor<6x4x3x3xi8>, tensor<i32>, tensor<6xi32>, tensor<f32>, tensor<6xf32>) -> tensor<?x6x6x6xi16>
  // CHECK-NEXT: %2 = relay.qnn.conv2d_transpose %x, %w, %z, %z, %s, %sc {strides = array<i64: 2, 2>, output_padding = array<i64: 1, 1>} : (tensor<?x4x8x8xui8>, tensor<6x4x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<6xf32>) -> tensor<?x6x18x18xi32>
  %2 = relay.qnn.conv2d_transpose %x, %w, %z, %z, %s, %sc {strides = array<i64: 2, 2>, output_padding = array<i64: 1, 1>, kernel_layout = "OIHW"} : (tensor<?x4x8x8xui8>, tensor<6x4x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<6xf32>) -> tensor<?x6x18x18xi32>
  // CHECK-NEXT: %3 = relay.qnn.dense %d, %v, %z, %z, %s, %s {units = 6 : i64, out_dtype = i32} : (tensor<?x4xi8>, tensor<6x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<?x6xi32>
  %3 = relay.qnn.dense %d, %v, %z, %z, %s, %s {units = 6 : i64, out_dtype = i32} : (tensor<?x4xi8>, tensor<6x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<?x6xi32>
  // CHECK-NEXT: %4 = relay.qnn.batch_matmul %a, %b, %z, %z, %s, %s {transpose_b = true} : (tensor<2x3x4xi8>, tensor<1x5x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x3x5xi32>
  %4 = relay.qnn.batch_matmul %a, %b, %z, %z, %s, %s {transpose_b = true} : (tensor<2x3x4xi8>, tensor<1x5x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x3x5xi32>
  func.return
}

// CHECK-LABEL: func.func @lookup(%q: tensor<2x3xi8>, %table: tensor<256xf32>) -> tensor<2x3xf32> {
func.func @lookup(%q: tensor<2x3xi8>, %table: tensor<256xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %0 = relay.qnn.lookup %q, %table : (tensor<2x3xi8>, tensor<256xf32>) -> tensor<2x3xf32>
  %0 = relay.qnn.lookup %q, %table : (tensor<2x3xi8>, tensor<256xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: tensor<?x3x70xf32>, %w: tensor<5x35xui8>, %s: tensor<5x5xf16>, %z: tensor<5x5xui8>, %one: tensor<ui8>) {
  // CHECK-NEXT: %0 = relay.qnn.dequantize_blocks %w, %s, %z {length = 70 : i64, block_size = 16 : i64} : (tensor<5x35xui8>, tensor<5x5xf16>, tensor<5x5xui8>) -> tensor<5x70xf32>
  %0 = relay.qnn.dequantize_blocks %w, %s, %z {length = 70 : i64, block_size = 16 : i64, bits = 4 : i64} : (tensor<5x35xui8>, tensor<5x5xf16>, tensor<5x5xui8>) -> tensor<5x70xf32>
  // CHECK-NEXT: %1 = relay.qnn.dense_blocks %x, %w, %s, %one {block_size = 16 : i64} : (tensor<?x3x70xf32>, tensor<5x35xui8>, tensor<5x5xf16>, tensor<ui8>) -> tensor<?x3x5xf32>
  %1 = relay.qnn.dense_blocks %x, %w, %s, %one {block_size = 16 : i64} : (tensor<?x3x70xf32>, tensor<5x35xui8>, tensor<5x5xf16>, tensor<ui8>) -> tensor<?x3x5xf32>
  func.return
}
