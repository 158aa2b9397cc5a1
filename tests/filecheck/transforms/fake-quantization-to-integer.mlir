// RUN: xrelay-opt -p fake-quantization-to-integer --split-input-file %s | filecheck %s
// RUN: xrelay-opt -p 'fake-quantization-to-integer,fake-quantization-to-integer' --split-input-file %s | filecheck %s
// RUN: xrelay-opt -p 'fake-quantization-to-integer{use-qat=true},fake-quantization-to-integer{use-qat=true}' --split-input-file %s | filecheck %s --check-prefix QAT

// A product of channels with a bias, up to its end.
// CHECK-LABEL: func.func @dense
// CHECK: [[A:%.*]] = relay.qnn.dense %x, %w, %three, %zeros, %half, %scales {out_dtype = i32}
// CHECK: [[B:%.*]] = relay.nn.bias_add [[A]], %b
// CHECK: [[C:%.*]] = relay.maximum [[B]],
// CHECK: [[D:%.*]] = relay.qnn.requantize [[C]], {{%.*}}, {{%.*}}, %four, %zero {axis = 1 : i64, out_dtype = i8} : (tensor<2x3xi32>, tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
// CHECK-NEXT: return [[D]]
func.func @dense(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>, %b: tensor<3xi32>) -> tensor<2x3xi8> {
  %half = relay.constant dense<0.5> : tensor<f32>
  %zero = relay.constant dense<0> : tensor<i32>
  %three = relay.constant dense<3> : tensor<i32>
  %scales = relay.constant dense<[0.5, 0.25, 1.0]> : tensor<3xf32>
  %products = relay.constant dense<[0.25, 0.125, 0.5]> : tensor<3xf32>
  %zeros = relay.constant dense<0> : tensor<3xi32>
  %four = relay.constant dense<4.0> : tensor<f32>
  %0 = relay.qnn.dequantize %x, %half, %three : (tensor<2x4xi8>, tensor<f32>, tensor<i32>) -> tensor<2x4xf32>
  %1 = relay.qnn.dequantize %w, %scales, %zeros {axis = 0 : i64} : (tensor<3x4xi8>, tensor<3xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  %2 = relay.nn.dense %0, %1 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %3 = relay.qnn.dequantize %b, %products, %zeros {axis = 0 : i64} : (tensor<3xi32>, tensor<3xf32>, tensor<3xi32>) -> tensor<3xf32>
  %4 = relay.nn.bias_add %2, %3 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %5 = relay.nn.relu %4 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = relay.qnn.quantize %5, %four, %zero {out_dtype = i8} : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  return %6 : tensor<2x3xi8>
}

// -----

// Its slope is applied once.
// CHECK-LABEL: func.func @leaky_relu
// CHECK: relay.qnn.leaky_relu %x, %two, %zero, %one, %five {alpha = 1.000000e-01 : f64}
// CHECK-NOT: relay.nn.leaky_relu
// CHECK: return
func.func @leaky_relu(%x: tensor<2xui8>) -> tensor<2xui8> {
  %two = relay.constant dense<2.0> : tensor<f32>
  %zero = relay.constant dense<114> : tensor<i32>
  %one = relay.constant dense<1.0> : tensor<f32>
  %five = relay.constant dense<5> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %two, %zero : (tensor<2xui8>, tensor<f32>, tensor<i32>) -> tensor<2xf32>
  %1 = relay.nn.leaky_relu %0 {alpha = 0.1 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.qnn.quantize %1, %one, %five {out_dtype = ui8} : (tensor<2xf32>, tensor<f32>, tensor<i32>) -> tensor<2xui8>
  return %2 : tensor<2xui8>
}

// -----

// A chain that leaves the region: with use-qat the product is rewritten, and dequantized.
// CHECK-LABEL: func.func @keep_function
// CHECK: relay.nn.dense
// CHECK-NEXT: relay.cos
// CHECK-NEXT: relay.qnn.quantize
// QAT-LABEL: func.func @keep_function
// QAT: [[A:%.*]] = relay.qnn.dense %x, %w,
// QAT: [[B:%.*]] = relay.qnn.dequantize [[A]]
// QAT-NEXT: [[C:%.*]] = relay.cos [[B]]
// QAT-NEXT: relay.qnn.quantize [[C]]
func.func @keep_function(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>) -> tensor<2x3xi8> {
  %half = relay.constant dense<0.5> : tensor<f32>
  %zero = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %half, %zero : (tensor<2x4xi8>, tensor<f32>, tensor<i32>) -> tensor<2x4xf32>
  %1 = relay.qnn.dequantize %w, %half, %zero : (tensor<3x4xi8>, tensor<f32>, tensor<i32>) -> tensor<3x4xf32>
  %2 = relay.nn.dense %0, %1 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %3 = relay.cos %2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = relay.qnn.quantize %3, %half, %zero {out_dtype = i8} : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  return %4 : tensor<2x3xi8>
}

// -----

// What is rewritten one by one follows what was: both parts are numbers again.
// CHECK-LABEL: func.func @keep_parts
// CHECK: relay.split
// CHECK-SAME: -> tuple<tensor<1x4xf32>, tensor<1x4xf32>>
// QAT-LABEL: func.func @keep_parts
// QAT: [[P:%.*]] = relay.split {{.*}} -> tuple<tensor<1x4xi8>, tensor<1x4xi8>>
// QAT: relay.tuple_get_item [[P]][0
// QAT: relay.qnn.dequantize
// QAT: relay.tuple_get_item [[P]][1
// QAT: relay.qnn.dequantize
// QAT: relay.tuple
func.func @keep_parts(%x: tensor<2x4xi8>) -> tuple<tensor<1x4xf32>, tensor<1x4xf32>> {
  %half = relay.constant dense<0.5> : tensor<f32>
  %zero = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %half, %zero : (tensor<2x4xi8>, tensor<f32>, tensor<i32>) -> tensor<2x4xf32>
  %1 = relay.split %0 {indices_or_sections = 2 : i64, axis = 0 : i64} : (tensor<2x4xf32>) -> tuple<tensor<1x4xf32>, tensor<1x4xf32>>
  return %1 : tuple<tensor<1x4xf32>, tensor<1x4xf32>>
}
