// RUN: xdsl-opt -p 'legalize-quantized-products{rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p 'legalize-quantized-products{rules=cpu},legalize-quantized-products{rules=cpu}' %s | filecheck %s

// CHECK-LABEL: func.func @convolution(%x: tensor<1x1x3x3xui8>, %s: tensor<f32>) -> tensor<1x2x3x3xi32> {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<[[[[1, 2, 3]]], [[[-1, 0, 4]]]]> : tensor<2x1x1x3xi8>
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<5> : tensor<i32>
// CHECK-NEXT: [[V2:%.*]] = relay.nn.pad %x, [[V1]] {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 1>]} : (tensor<1x1x3x3xui8>, tensor<i32>) -> tensor<1x1x3x5xui8>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.conv2d [[V2]], [[V0]] {padding = array<i64: 0, 0, 0, 0>, out_dtype = i32} : (tensor<1x1x3x5xui8>, tensor<2x1x1x3xi8>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.constant dense<[[[[6]], [[3]]]]> : tensor<1x2x1x1xi32>
// CHECK-NEXT: [[V5:%.*]] = relay.constant dense<[[[[30]], [[15]]]]> : tensor<1x2x1x1xi32>
// CHECK-NEXT: [[V6:%.*]] = relay.constant dense<[-30, -15]> : tensor<2xi32>
// CHECK-NEXT: [[V7:%.*]] = relay.nn.bias_add [[V3]], [[V6]] : (tensor<1x2x3x3xi32>, tensor<2xi32>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: func.return [[V7]] : tensor<1x2x3x3xi32>
func.func @convolution(%x: tensor<1x1x3x3xui8>, %s: tensor<f32>) -> tensor<1x2x3x3xi32> {
  %w = relay.constant dense<[[[[1, 2, 3]]], [[[-1, 0, 4]]]]> : tensor<2x1x1x3xi8>
  %zx = relay.constant dense<5> : tensor<i32>
  %zw = relay.constant dense<0> : tensor<i32>
  %y = relay.qnn.conv2d %x, %w, %zx, %zw, %s, %s {padding = array<i64: 0, 1, 0, 1>} : (tensor<1x1x3x3xui8>, tensor<2x1x1x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x2x3x3xi32>
  return %y : tensor<1x2x3x3xi32>
}

// CHECK-LABEL: func.func @shifted_weight(%x: tensor<2x3xi8>, %s: tensor<f32>) -> (tensor<2x2xi32>, tensor<2x2xi32>) {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<[[128, 0, 255], [3, 130, 7]]> : tensor<2x3xui8>
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<[[0, -128, 127], [-125, 2, -121]]> : tensor<2x3xi8>
// CHECK-NEXT: [[V2:%.*]] = relay.nn.dense %x, [[V1]] {out_dtype = i32} : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<2x2xi32>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.dense %x, [[V0]] {out_dtype = i32} : (tensor<2x3xi8>, tensor<2x3xui8>) -> tensor<2x2xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.constant dense<1> : tensor<1x3xui8>
// CHECK-NEXT: [[V5:%.*]] = relay.nn.dense %x, [[V4]] {out_dtype = i32} : (tensor<2x3xi8>, tensor<1x3xui8>) -> tensor<2x1xi32>
// CHECK-NEXT: [[V6:%.*]] = relay.constant dense<[[128, 1]]> : tensor<1x2xi32>
// CHECK-NEXT: [[V7:%.*]] = relay.multiply [[V5]], [[V6]] : (tensor<2x1xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
// CHECK-NEXT: [[V8:%.*]] = relay.subtract [[V3]], [[V7]] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
// CHECK-NEXT: func.return [[V2]], [[V8]] : tensor<2x2xi32>, tensor<2x2xi32>
func.func @shifted_weight(%x: tensor<2x3xi8>, %s: tensor<f32>) -> (tensor<2x2xi32>, tensor<2x2xi32>) {
  %w = relay.constant dense<[[128, 0, 255], [3, 130, 7]]> : tensor<2x3xui8>
  %zero = relay.constant dense<0> : tensor<i32>
  %zw = relay.constant dense<128> : tensor<i32>
  %zv = relay.constant dense<[128, 1]> : tensor<2xi32>
  %y = relay.qnn.dense %x, %w, %zero, %zw, %s, %s : (tensor<2x3xi8>, tensor<2x3xui8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x2xi32>
  %z = relay.qnn.dense %x, %w, %zero, %zv, %s, %s : (tensor<2x3xi8>, tensor<2x3xui8>, tensor<i32>, tensor<2xi32>, tensor<f32>, tensor<f32>) -> tensor<2x2xi32>
  return %y, %z : tensor<2x2xi32>, tensor<2x2xi32>
}

// CHECK-LABEL: func.func @sums(%x: tensor<2x3xui8>, %s: tensor<f32>) -> tensor<2x2xi32> {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<[[255, 0, 1], [3, 130, 7]]> : tensor<2x3xui8>
// CHECK-NEXT: [[V1:%.*]] = relay.nn.dense %x, [[V0]] {out_dtype = i32} : (tensor<2x3xui8>, tensor<2x3xui8>) -> tensor<2x2xi32>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<[[256, 140]]> : tensor<1x2xi32>
// CHECK-NEXT: [[V3:%.*]] = relay.constant dense<1> : tensor<1x3xui8>
// CHECK-NEXT: [[V4:%.*]] = relay.nn.dense %x, [[V3]] {out_dtype = i32} : (tensor<2x3xui8>, tensor<1x3xui8>) -> tensor<2x1xi32>
// CHECK-NEXT: [[V5:%.*]] = relay.constant dense<1> : tensor<1x1xi32>
// CHECK-NEXT: [[V6:%.*]] = relay.constant dense<3> : tensor<i32>
// CHECK-NEXT: [[V7:%.*]] = relay.constant dense<3> : tensor<1x1xi32>
// CHECK-NEXT: [[V8:%.*]] = relay.constant dense<[[253, 137]]> : tensor<1x2xi32>
// CHECK-NEXT: [[V9:%.*]] = relay.constant dense<[[2277, 1233]]> : tensor<1x2xi32>
// CHECK-NEXT: [[V10:%.*]] = relay.constant dense<[-2277, -1233]> : tensor<2xi32>
// CHECK-NEXT: [[V11:%.*]] = relay.nn.bias_add [[V1]], [[V10]] : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
// CHECK-NEXT: [[V12:%.*]] = relay.multiply [[V4]], [[V5]] : (tensor<2x1xi32>, tensor<1x1xi32>) -> tensor<2x1xi32>
// CHECK-NEXT: [[V13:%.*]] = relay.subtract [[V11]], [[V12]] : (tensor<2x2xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
// CHECK-NEXT: func.return [[V13]] : tensor<2x2xi32>
func.func @sums(%x: tensor<2x3xui8>, %s: tensor<f32>) -> tensor<2x2xi32> {
  %w = relay.constant dense<[[255, 0, 1], [3, 130, 7]]> : tensor<2x3xui8>
  %zx = relay.constant dense<9> : tensor<i32>
  %zw = relay.constant dense<1> : tensor<i32>
  %y = relay.qnn.dense %x, %w, %zx, %zw, %s, %s : (tensor<2x3xui8>, tensor<2x3xui8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x2xi32>
  return %y : tensor<2x2xi32>
}

// CHECK-LABEL: func.func @attention(%x: tensor<2x3x4xui8>, %y: tensor<2x5x4xui8>, %s: tensor<f32>) -> tensor<2x3x5xi32> {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<9> : tensor<i32>
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<1> : tensor<i32>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<1> : tensor<1x1x4xui8>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.batch_matmul [[V2]], %y {transpose_b = true, out_dtype = i32} : (tensor<1x1x4xui8>, tensor<2x5x4xui8>) -> tensor<2x1x5xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.constant dense<1> : tensor<1x1x4xui8>
// CHECK-NEXT: [[V5:%.*]] = relay.nn.batch_matmul %x, [[V4]] {transpose_b = true, out_dtype = i32} : (tensor<2x3x4xui8>, tensor<1x1x4xui8>) -> tensor<2x3x1xi32>
// CHECK-NEXT: [[V6:%.*]] = relay.nn.batch_matmul %x, %y {transpose_b = true, out_dtype = i32} : (tensor<2x3x4xui8>, tensor<2x5x4xui8>) -> tensor<2x3x5xi32>
// CHECK-NEXT: [[V7:%.*]] = relay.constant dense<4> : tensor<i32>
// CHECK-NEXT: [[V8:%.*]] = relay.constant dense<4> : tensor<i32>
// CHECK-NEXT: [[V9:%.*]] = relay.subtract [[V3]], [[V8]] : (tensor<2x1x5xi32>, tensor<i32>) -> tensor<2x1x5xi32>
// CHECK-NEXT: [[V10:%.*]] = relay.multiply [[V9]], [[V0]] : (tensor<2x1x5xi32>, tensor<i32>) -> tensor<2x1x5xi32>
// CHECK-NEXT: [[V11:%.*]] = relay.subtract [[V6]], [[V10]] : (tensor<2x3x5xi32>, tensor<2x1x5xi32>) -> tensor<2x3x5xi32>
// CHECK-NEXT: [[V12:%.*]] = relay.multiply [[V5]], [[V1]] : (tensor<2x3x1xi32>, tensor<i32>) -> tensor<2x3x1xi32>
// CHECK-NEXT: [[V13:%.*]] = relay.subtract [[V11]], [[V12]] : (tensor<2x3x5xi32>, tensor<2x3x1xi32>) -> tensor<2x3x5xi32>
// CHECK-NEXT: func.return [[V13]] : tensor<2x3x5xi32>
func.func @attention(%x: tensor<2x3x4xui8>, %y: tensor<2x5x4xui8>, %s: tensor<f32>) -> tensor<2x3x5xi32> {
  %zx = relay.constant dense<9> : tensor<i32>
  %zy = relay.constant dense<1> : tensor<i32>
  %z = relay.qnn.batch_matmul %x, %y, %zx, %zy, %s, %s {transpose_b = true} : (tensor<2x3x4xui8>, tensor<2x5x4xui8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x3x5xi32>
  return %z : tensor<2x3x5xi32>
}

// CHECK-LABEL: func.func @keep_wide(%x: tensor<1x3x3x1xui8>, %v: tensor<1x1x3x3xui8>, %w: tensor<2x1x1x3xi8>, %h: tensor<1x3x1x2xi8>, %z: tensor<i32>, %s: tensor<f32>) -> (tensor<1x2x3x3xi32>, tensor<1x3x1x2xi32>) {
// CHECK-NEXT: [[V0:%.*]] = relay.cast %v {dtype = i32} : (tensor<1x1x3x3xui8>) -> tensor<1x1x3x3xi32>
// CHECK-NEXT: [[V1:%.*]] = relay.subtract [[V0]], %z : (tensor<1x1x3x3xi32>, tensor<i32>) -> tensor<1x1x3x3xi32>
// CHECK-NEXT: [[V2:%.*]] = relay.cast %w {dtype = i32} : (tensor<2x1x1x3xi8>) -> tensor<2x1x1x3xi32>
// CHECK-NEXT: [[V3:%.*]] = relay.subtract [[V2]], %z : (tensor<2x1x1x3xi32>, tensor<i32>) -> tensor<2x1x1x3xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.nn.conv2d [[V1]], [[V3]] {padding = array<i64: 0, 1, 0, 1>, out_dtype = i32} : (tensor<1x1x3x3xi32>, tensor<2x1x1x3xi32>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: [[V5:%.*]] = relay.cast %x {dtype = i32} : (tensor<1x3x3x1xui8>) -> tensor<1x3x3x1xi32>
// CHECK-NEXT: [[V6:%.*]] = relay.subtract [[V5]], %z : (tensor<1x3x3x1xi32>, tensor<i32>) -> tensor<1x3x3x1xi32>
// CHECK-NEXT: [[V7:%.*]] = relay.cast %h {dtype = i32} : (tensor<1x3x1x2xi8>) -> tensor<1x3x1x2xi32>
// CHECK-NEXT: [[V8:%.*]] = relay.subtract [[V7]], %z : (tensor<1x3x1x2xi32>, tensor<i32>) -> tensor<1x3x1x2xi32>
// CHECK-NEXT: [[V9:%.*]] = relay.nn.conv2d [[V6]], [[V8]] {data_layout = "NHWC", kernel_layout = "HWIO", out_dtype = i32} : (tensor<1x3x3x1xi32>, tensor<1x3x1x2xi32>) -> tensor<1x3x1x2xi32>
// CHECK-NEXT: func.return [[V4]], [[V9]] : tensor<1x2x3x3xi32>, tensor<1x3x1x2xi32>
// CHECK-NEXT: }
func.func @keep_wide(%x: tensor<1x3x3x1xui8>, %v: tensor<1x1x3x3xui8>, %w: tensor<2x1x1x3xi8>, %h: tensor<1x3x1x2xi8>, %z: tensor<i32>, %s: tensor<f32>) -> (tensor<1x2x3x3xi32>, tensor<1x3x1x2xi32>) {
  %y = relay.qnn.conv2d %v, %w, %z, %z, %s, %s {padding = array<i64: 0, 1, 0, 1>} : (tensor<1x1x3x3xui8>, tensor<2x1x1x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x2x3x3xi32>
  %n = relay.qnn.conv2d %x, %h, %z, %z, %s, %s {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x3x3x1xui8>, tensor<1x3x1x2xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x3x1x2xi32>
  return %y, %n : tensor<1x2x3x3xi32>, tensor<1x3x1x2xi32>
}
