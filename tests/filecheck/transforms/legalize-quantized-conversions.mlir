// RUN: xdsl-opt -p 'legalize-quantized-conversions' %s | filecheck %s
// RUN: xdsl-opt -p 'legalize-quantized-conversions,legalize-quantized-conversions' %s | filecheck %s

// CHECK-LABEL: func.func @quantize(%x: tensor<2x3xf32>) -> tensor<2x3xui8> {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<1.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V1:%.*]] = relay.divide %x, [[V0]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.round [[V1]] : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.constant dense<7.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V4:%.*]] = relay.add [[V2]], [[V3]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.cast [[V4]] {dtype = ui8} : (tensor<2x3xf32>) -> tensor<2x3xui8>
// CHECK-NEXT: func.return [[V5]] : tensor<2x3xui8>
func.func @quantize(%x: tensor<2x3xf32>) -> tensor<2x3xui8> {
  %s = relay.constant dense<0.1> : tensor<f32>
  %z = relay.constant dense<7> : tensor<i32>
  %0 = relay.qnn.quantize %x, %s, %z {out_dtype = ui8} : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3xui8>
  return %0 : tensor<2x3xui8>
}

// CHECK-LABEL: func.func @quantize_channels(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %z: tensor<3xi32>) -> (tensor<2x3x4xi8>, tensor<2x3x4xi8>) {
// CHECK-NEXT: [[V0:%.*]] = relay.reshape %s {newshape = array<i64: -1, 1>} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: [[V1:%.*]] = relay.divide %x, [[V0]] : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.round [[V1]] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.reshape %z {newshape = array<i64: -1, 1>} : (tensor<3xi32>) -> tensor<3x1xi32>
// CHECK-NEXT: [[V4:%.*]] = relay.cast [[V3]] {dtype = f32} : (tensor<3x1xi32>) -> tensor<3x1xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.add [[V2]], [[V4]] : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.cast [[V5]] {dtype = i8} : (tensor<2x3x4xf32>) -> tensor<2x3x4xi8>
// CHECK-NEXT: [[V7:%.*]] = relay.round %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[V8:%.*]] = relay.cast [[V7]] {dtype = i8} : (tensor<2x3x4xf32>) -> tensor<2x3x4xi8>
// CHECK-NEXT: func.return [[V6]], [[V8]] : tensor<2x3x4xi8>, tensor<2x3x4xi8>
func.func @quantize_channels(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %z: tensor<3xi32>) -> (tensor<2x3x4xi8>, tensor<2x3x4xi8>) {
  %one = relay.constant dense<1.0> : tensor<f32>
  %zero = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.quantize %x, %s, %z {axis = 1 : i64, out_dtype = i8} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xi32>) -> tensor<2x3x4xi8>
  %1 = relay.qnn.quantize %x, %one, %zero {out_dtype = i8} : (tensor<2x3x4xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3x4xi8>
  return %0, %1 : tensor<2x3x4xi8>, tensor<2x3x4xi8>
}

// CHECK-LABEL: func.func @dequantize(%q: tensor<2x3xui8>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<1.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V1:%.*]] = relay.cast %q {dtype = f32} : (tensor<2x3xui8>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<7.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V3:%.*]] = relay.subtract [[V1]], [[V2]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.multiply [[V3]], [[V0]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.cast %q {dtype = f32} : (tensor<2x3xui8>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.constant dense<7.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V7:%.*]] = relay.subtract [[V5]], [[V6]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V8:%.*]] = relay.multiply [[V7]], [[V0]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V9:%.*]] = relay.tanh [[V4]] : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V10:%.*]] = relay.sqrt [[V8]] : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V9]], [[V10]] : tensor<2x3xf32>, tensor<2x3xf32>
func.func @dequantize(%q: tensor<2x3xui8>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %s = relay.constant dense<0.1> : tensor<f32>
  %z = relay.constant dense<7> : tensor<i32>
  %0 = relay.qnn.dequantize %q, %s, %z : (tensor<2x3xui8>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %1 = relay.tanh %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.sqrt %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @dequantize_sums(%q: tensor<2x3xi32>, %z: tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<1.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V1:%.*]] = relay.cast %q {dtype = f32} : (tensor<2x3xi32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<[1.000000e-01, 2.000000e-01, 3.000000e-01]> : tensor<3xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.multiply [[V1]], [[V2]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.tanh [[V3]] : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.sqrt [[V3]] : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.qnn.dequantize %q, [[V0]], %z : (tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V4]], [[V5]], [[V6]] : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
func.func @dequantize_sums(%q: tensor<2x3xi32>, %z: tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %s = relay.constant dense<[0.1, 0.2, 0.3]> : tensor<3xf32>
  %zeros = relay.constant dense<0> : tensor<3xi32>
  %t = relay.constant dense<0.1> : tensor<f32>
  %0 = relay.qnn.dequantize %q, %s, %zeros {axis = 1 : i64} : (tensor<2x3xi32>, tensor<3xf32>, tensor<3xi32>) -> tensor<2x3xf32>
  %1 = relay.tanh %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.sqrt %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = relay.qnn.dequantize %q, %t, %z : (tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  return %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @requantize(%q: tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xui8> {
// CHECK-NEXT: [[V0:%.*]] = relay.cast %q {dtype = f32} : (tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V3:%.*]] = relay.constant dense<[2.500000e-01, 1.250000e-01]> : tensor<2xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.constant dense<[[[2.500000e-01]], [[1.250000e-01]]]> : tensor<2x1x1xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.multiply [[V0]], [[V4]] : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.round [[V5]] : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: [[V7:%.*]] = relay.constant dense<9.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V8:%.*]] = relay.add [[V6]], [[V7]] : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: [[V9:%.*]] = relay.cast [[V8]] {dtype = ui8} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xui8>
// CHECK-NEXT: func.return [[V9]] : tensor<1x2x3x3xui8>
func.func @requantize(%q: tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xui8> {
  %s = relay.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %zeros = relay.constant dense<0> : tensor<2xi32>
  %t = relay.constant dense<2.0> : tensor<f32>
  %z = relay.constant dense<9> : tensor<i32>
  %0 = relay.qnn.requantize %q, %s, %zeros, %t, %z {axis = 1 : i64, rounding = "TONEAREST_EVEN", compute_dtype = "float32", out_dtype = ui8} : (tensor<1x2x3x3xi32>, tensor<2xf32>, tensor<2xi32>, tensor<f32>, tensor<i32>) -> tensor<1x2x3x3xui8>
  return %0 : tensor<1x2x3x3xui8>
}

// CHECK-LABEL: func.func @keep_fixed_point(%q: tensor<3xi32>, %s: tensor<f32>, %z: tensor<i32>) -> (tensor<3xi8>, tensor<3xi8>) {
// CHECK-NEXT: [[V0:%.*]] = relay.qnn.requantize %q, %s, %z, %s, %z {out_dtype = i8} : (tensor<3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<3xi8>
// CHECK-NEXT: [[V1:%.*]] = relay.qnn.requantize %q, %s, %z, %s, %z {rounding = "TONEAREST", compute_dtype = "float32", out_dtype = i8} : (tensor<3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<3xi8>
// CHECK-NEXT: func.return [[V0]], [[V1]] : tensor<3xi8>, tensor<3xi8>
// CHECK-NEXT: }
func.func @keep_fixed_point(%q: tensor<3xi32>, %s: tensor<f32>, %z: tensor<i32>) -> (tensor<3xi8>, tensor<3xi8>) {
  %0 = relay.qnn.requantize %q, %s, %z, %s, %z {out_dtype = i8} : (tensor<3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<3xi8>
  %1 = relay.qnn.requantize %q, %s, %z, %s, %z {rounding = "TONEAREST", compute_dtype = "float32", out_dtype = i8} : (tensor<3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<3xi8>
  return %0, %1 : tensor<3xi8>, tensor<3xi8>
}
