// RUN: xdsl-opt -p 'fake-quantization-to-integer{rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p 'fake-quantization-to-integer{rules=cpu},fake-quantization-to-integer{rules=cpu}' %s | filecheck %s

// CHECK-LABEL: func.func @convolution(%x: tensor<1x1x3x3xui8>) -> tensor<1x2x3x3xui8> {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<[[[[1]]], [[[-1]]]]> : tensor<2x1x1x1xi8>
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<[30, -40]> : tensor<2xi32>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V3:%.*]] = relay.constant dense<[2.500000e-01, 1.250000e-01]> : tensor<2xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.constant dense<0> : tensor<i32>
// CHECK-NEXT: [[V5:%.*]] = relay.constant dense<0> : tensor<2xi32>
// CHECK-NEXT: [[V6:%.*]] = relay.qnn.conv2d %x, [[V0]], [[V4]], [[V5]], [[V2]], [[V3]] {out_dtype = i32} : (tensor<1x1x3x3xui8>, tensor<2x1x1x1xi8>, tensor<i32>, tensor<2xi32>, tensor<f32>, tensor<2xf32>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: [[V7:%.*]] = relay.constant dense<[1.250000e-01, 6.250000e-02]> : tensor<2xf32>
// CHECK-NEXT: [[V8:%.*]] = relay.constant dense<0> : tensor<2xi32>
// CHECK-NEXT: [[V9:%.*]] = relay.nn.bias_add [[V6]], [[V1]] : (tensor<1x2x3x3xi32>, tensor<2xi32>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: [[V10:%.*]] = relay.qnn.requantize [[V9]], [[V7]], [[V8]], [[V2]], [[V4]] {axis = 1 : i64, rounding = "TONEAREST_EVEN", compute_dtype = "float32", out_dtype = ui8} : (tensor<1x2x3x3xi32>, tensor<2xf32>, tensor<2xi32>, tensor<f32>, tensor<i32>) -> tensor<1x2x3x3xui8>
// CHECK-NEXT: func.return [[V10]] : tensor<1x2x3x3xui8>
func.func @convolution(%x: tensor<1x1x3x3xui8>) -> tensor<1x2x3x3xui8> {
  %w = relay.constant dense<[[[[1]]], [[[-1]]]]> : tensor<2x1x1x1xi8>
  %b = relay.constant dense<[30, -40]> : tensor<2xi32>
  %s = relay.constant dense<0.5> : tensor<f32>
  %t = relay.constant dense<[0.25, 0.125]> : tensor<2xf32>
  %u = relay.constant dense<[0.125, 0.0625]> : tensor<2xf32>
  %z = relay.constant dense<0> : tensor<i32>
  %zs = relay.constant dense<0> : tensor<2xi32>
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x1x3x3xui8>, tensor<f32>, tensor<i32>) -> tensor<1x1x3x3xf32>
  %1 = relay.qnn.dequantize %w, %t, %zs {axis = 0 : i64} : (tensor<2x1x1x1xi8>, tensor<2xf32>, tensor<2xi32>) -> tensor<2x1x1x1xf32>
  %2 = relay.qnn.dequantize %b, %u, %zs {axis = 0 : i64} : (tensor<2xi32>, tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  %3 = relay.nn.conv2d %0, %1 : (tensor<1x1x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x3x3xf32>
  %4 = relay.nn.bias_add %3, %2 : (tensor<1x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32>
  %5 = relay.nn.relu %4 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %6 = relay.qnn.quantize %5, %s, %z {out_dtype = ui8} : (tensor<1x2x3x3xf32>, tensor<f32>, tensor<i32>) -> tensor<1x2x3x3xui8>
  return %6 : tensor<1x2x3x3xui8>
}

// CHECK-LABEL: func.func @last_product(%x: tensor<2x3xi8>) -> tensor<2x2xf32> {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<0> : tensor<i32>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<[[1, 3, 5], [2, 4, 6]]> : tensor<2x3xi8>
// CHECK-NEXT: [[V3:%.*]] = relay.qnn.dense %x, [[V2]], [[V1]], [[V1]], [[V0]], [[V0]] {out_dtype = i32} : (tensor<2x3xi8>, tensor<2x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x2xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: [[V5:%.*]] = relay.constant dense<0> : tensor<i32>
// CHECK-NEXT: [[V6:%.*]] = relay.qnn.dequantize [[V3]], [[V4]], [[V5]] {axis = 1 : i64} : (tensor<2x2xi32>, tensor<f32>, tensor<i32>) -> tensor<2x2xf32>
// CHECK-NEXT: [[V7:%.*]] = relay.tanh [[V6]] : (tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: func.return [[V7]] : tensor<2x2xf32>
func.func @last_product(%x: tensor<2x3xi8>) -> tensor<2x2xf32> {
  %w = relay.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>
  %s = relay.constant dense<0.5> : tensor<f32>
  %z = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %1 = relay.qnn.dequantize %w, %s, %z : (tensor<3x2xi8>, tensor<f32>, tensor<i32>) -> tensor<3x2xf32>
  %2 = relay.nn.matmul %0, %1 : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %3 = relay.tanh %2 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @moves(%x: tensor<1x4x4x4xui8>) -> tensor<1x4x2x2xui8> {
// CHECK-NEXT: [[V0:%.*]] = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x4x4x4xui8>) -> tensor<1x4x2x2xui8>
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<3> : tensor<ui8>
// CHECK-NEXT: [[V2:%.*]] = relay.maximum [[V0]], [[V1]] : (tensor<1x4x2x2xui8>, tensor<ui8>) -> tensor<1x4x2x2xui8>
// CHECK-NEXT: func.return [[V2]] : tensor<1x4x2x2xui8>
func.func @moves(%x: tensor<1x4x4x4xui8>) -> tensor<1x4x2x2xui8> {
  %s = relay.constant dense<0.5> : tensor<f32>
  %z = relay.constant dense<3> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x4x4x4xui8>, tensor<f32>, tensor<i32>) -> tensor<1x4x4x4xf32>
  %1 = relay.nn.max_pool2d %0 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x2x2xf32>
  %2 = relay.nn.relu %1 : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %3 = relay.qnn.quantize %2, %s, %z {out_dtype = ui8} : (tensor<1x4x2x2xf32>, tensor<f32>, tensor<i32>) -> tensor<1x4x2x2xui8>
  return %3 : tensor<1x4x2x2xui8>
}

// CHECK-LABEL: func.func @keep_numbers(%x: tensor<1x2x4x4xui8>, %u: tensor<f32>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x2x4x4xui8>, tensor<1x2x1x1xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<3> : tensor<i32>
// CHECK-NEXT: [[V3:%.*]] = relay.qnn.dequantize %x, [[V0]], [[V2]] : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<i32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.qnn.quantize [[V3]], [[V1]], [[V2]] {out_dtype = ui8} : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i32>) -> tensor<1x2x4x4xui8>
// CHECK-NEXT: [[V5:%.*]] = relay.qnn.dequantize %x, %u, [[V2]] : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<i32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.nn.global_max_pool2d [[V5]] : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT: [[V7:%.*]] = relay.nn.conv2d [[V3]], %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V8:%.*]] = relay.nn.avg_pool2d [[V3]] {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return [[V4]], [[V6]], [[V7]], [[V8]] : tensor<1x2x4x4xui8>, tensor<1x2x1x1xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
// CHECK-NEXT: }
func.func @keep_numbers(%x: tensor<1x2x4x4xui8>, %u: tensor<f32>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x2x4x4xui8>, tensor<1x2x1x1xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %s = relay.constant dense<0.5> : tensor<f32>
  %t = relay.constant dense<0.25> : tensor<f32>
  %z = relay.constant dense<3> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<i32>) -> tensor<1x2x4x4xf32>
  %1 = relay.qnn.quantize %0, %t, %z {out_dtype = ui8} : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i32>) -> tensor<1x2x4x4xui8>
  %2 = relay.qnn.dequantize %x, %u, %z : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<i32>) -> tensor<1x2x4x4xf32>
  %3 = relay.nn.global_max_pool2d %2 : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  %4 = relay.nn.conv2d %0, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %5 = relay.nn.avg_pool2d %0 {pool_size = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %1, %3, %4, %5 : tensor<1x2x4x4xui8>, tensor<1x2x1x1xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// Means are sums with a smaller scale, of windows those of a convolution by ones.
// CHECK-LABEL: func.func @means
// CHECK: [[WIDE:%.*]] = relay.cast %x {dtype = i32}
// CHECK-NEXT: [[SUM:%.*]] = relay.sum [[WIDE]] {axis = array<i64: 2, 3>, keepdims = true} : (tensor<1x2x4x4xi32>) -> tensor<1x2x1x1xi32>
// CHECK: [[ZEROS:%.*]] = relay.constant dense<48> : tensor<i32>
// CHECK-NEXT: [[TOTAL:%.*]] = relay.subtract [[SUM]], [[ZEROS]]
// CHECK: [[SMALL:%.*]] = relay.constant dense<3.125000e-02> : tensor<f32>
// CHECK-NEXT: {{%.*}} = relay.qnn.requantize [[TOTAL]], [[SMALL]]
// CHECK: [[ONES:%.*]] = relay.constant dense<1> : tensor<2x1x2x2xi8>
// CHECK: [[SUMS:%.*]] = relay.qnn.conv2d %x, [[ONES]], {{.*}} {out_dtype = i32, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, groups = 2 : i64}
// CHECK: [[SMALL:%.*]] = relay.constant dense<1.250000e-01> : tensor<f32>
// CHECK: {{%.*}} = relay.qnn.requantize [[SUMS]], [[SMALL]]
func.func @means(%x: tensor<1x2x4x4xui8>) -> (tensor<1x2x1x1xui8>, tensor<1x2x2x2xui8>) {
  %s = relay.constant dense<0.5> : tensor<f32>
  %t = relay.constant dense<0.25> : tensor<f32>
  %z = relay.constant dense<3> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<i32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.global_avg_pool2d %0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  %2 = relay.qnn.quantize %1, %t, %z {out_dtype = ui8} : (tensor<1x2x1x1xf32>, tensor<f32>, tensor<i32>) -> tensor<1x2x1x1xui8>
  %3 = relay.nn.avg_pool2d %0 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %4 = relay.qnn.quantize %3, %t, %z {out_dtype = ui8} : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i32>) -> tensor<1x2x2x2xui8>
  return %2, %4 : tensor<1x2x1x1xui8>, tensor<1x2x2x2xui8>
}

// The largest of no elements is an infinity.
// CHECK-LABEL: func.func @keep_reductions_of_nothing
// CHECK: relay.qnn.dequantize
// CHECK-NEXT: relay.max {{.*}} -> tensor<3xf32>
func.func @keep_reductions_of_nothing(%x: tensor<0x3xui8>) -> tensor<3xf32> {
  %s = relay.constant dense<0.5> : tensor<f32>
  %z = relay.constant dense<3> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %s, %z : (tensor<0x3xui8>, tensor<f32>, tensor<i32>) -> tensor<0x3xf32>
  %1 = relay.max %0 {axis = array<i64: 0>} : (tensor<0x3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
