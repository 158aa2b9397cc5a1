// RUN: xdsl-opt -p 'legalize-quantized-products{rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p 'legalize-quantized-products{rules=cpu},legalize-quantized-products{rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p legalize-quantized-products %s | filecheck %s --check-prefix RELAY

// RELAY-NOT: relay.qnn.dense_blocks

// CHECK-LABEL: func.func @dense
// CHECK-NOT: relay.qnn.dequantize_blocks
// CHECK: [[Y:%.*]] = relay.qnn.dense_blocks %x, {{%.*}}, {{%.*}}, {{%.*}} {block_size = 8 : i64} : (tensor<2x8xf32>, tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[Y]]
func.func @dense(%x: tensor<2x8xf32>) -> tensor<2x3xf32> {
  %w = relay.constant dense<[[1, 18, 35, 52], [69, 86, 103, 120], [137, 154, 171, 188]]> : tensor<3x4xui8>
  %s = relay.constant dense<[[0.5], [1.0], [-1.0]]> : tensor<3x1xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 8 : i64} : (tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %y = relay.nn.dense %x, %m : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @of_a_transpose
// CHECK-NOT: relay.transpose
// CHECK-NOT: relay.qnn.dequantize_blocks
// CHECK: [[Y:%.*]] = relay.qnn.dense_blocks %x, {{%.*}}, {{%.*}}, {{%.*}} {block_size = 16 : i64} : (tensor<2x8xf32>, tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[Y]]
func.func @of_a_transpose(%x: tensor<2x8xf32>) -> tensor<2x3xf32> {
  %w = relay.constant dense<[[1, 18, 35, 52], [69, 86, 103, 120], [137, 154, 171, 188]]> : tensor<3x4xui8>
  %s = relay.constant dense<[[0.5], [1.0], [-1.0]]> : tensor<3x1xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 16 : i64} : (tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %t = relay.transpose %m {axes = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %y = relay.nn.matmul %x, %t : (tensor<2x8xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK-NOT: relay.qnn.dequantize_blocks
// CHECK: [[Y:%.*]] = relay.qnn.dense_blocks %x, {{%.*}}, {{%.*}}, {{%.*}} {block_size = 5000 : i64} : (tensor<1x2x8xf32>, tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<1x2x3xf32>
// CHECK-NEXT: func.return [[Y]]
func.func @transposed(%x: tensor<1x2x8xf32>) -> tensor<1x2x3xf32> {
  %w = relay.constant dense<[[1, 18, 35, 52], [69, 86, 103, 120], [137, 154, 171, 188]]> : tensor<3x4xui8>
  %s = relay.constant dense<[[0.5], [1.0], [-1.0]]> : tensor<3x1xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 5000 : i64} : (tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %y = relay.nn.matmul %x, %m {transpose_b = true} : (tensor<1x2x8xf32>, tensor<3x8xf32>) -> tensor<1x2x3xf32>
  return %y : tensor<1x2x3xf32>
}

// CHECK-LABEL: func.func @keep_blocks_within_words
// CHECK: relay.qnn.dequantize_blocks
// CHECK: relay.nn.dense
func.func @keep_blocks_within_words(%x: tensor<2x8xf32>) -> tensor<2x3xf32> {
  %w = relay.constant dense<[[1, 18, 35, 52], [69, 86, 103, 120], [137, 154, 171, 188]]> : tensor<3x4xui8>
  %s = relay.constant dense<[[0.5, 0.25], [1.0, 0.125], [-1.0, 0.0]]> : tensor<3x2xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 4 : i64} : (tensor<3x4xui8>, tensor<3x2xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %y = relay.nn.dense %x, %m : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @keep_left_transposed
// CHECK: relay.qnn.dequantize_blocks
// CHECK: relay.nn.matmul
func.func @keep_left_transposed(%x: tensor<8x2xf32>) -> tensor<2x3xf32> {
  %w = relay.constant dense<[[1, 18, 35, 52], [69, 86, 103, 120], [137, 154, 171, 188]]> : tensor<3x4xui8>
  %s = relay.constant dense<[[0.5], [1.0], [-1.0]]> : tensor<3x1xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 8 : i64} : (tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %y = relay.nn.matmul %x, %m {transpose_a = true, transpose_b = true} : (tensor<8x2xf32>, tensor<3x8xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @keep_rows_of_columns
// CHECK: relay.qnn.dequantize_blocks
// CHECK: relay.nn.matmul
func.func @keep_rows_of_columns(%x: tensor<2x3xf32>) -> tensor<2x8xf32> {
  %w = relay.constant dense<[[1, 18, 35, 52], [69, 86, 103, 120], [137, 154, 171, 188]]> : tensor<3x4xui8>
  %s = relay.constant dense<[[0.5], [1.0], [-1.0]]> : tensor<3x1xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 8 : i64} : (tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %y = relay.nn.matmul %x, %m : (tensor<2x3xf32>, tensor<3x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @keep_sums_of_f16
// CHECK: relay.qnn.dequantize_blocks
// CHECK: relay.nn.dense
func.func @keep_sums_of_f16(%x: tensor<2x8xf16>) -> tensor<2x3xf16> {
  %w = relay.constant dense<[[1, 18, 35, 52], [69, 86, 103, 120], [137, 154, 171, 188]]> : tensor<3x4xui8>
  %s = relay.constant dense<[[0.5], [1.0], [-1.0]]> : tensor<3x1xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 8 : i64} : (tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %y = relay.nn.dense %x, %m : (tensor<2x8xf16>, tensor<3x8xf32>) -> tensor<2x3xf16>
  return %y : tensor<2x3xf16>
}

// CHECK-LABEL: func.func @keep_results_of_f64
// CHECK: relay.qnn.dequantize_blocks
// CHECK: relay.nn.dense
func.func @keep_results_of_f64(%x: tensor<2x8xf32>) -> tensor<2x3xf64> {
  %w = relay.constant dense<[[1, 18, 35, 52], [69, 86, 103, 120], [137, 154, 171, 188]]> : tensor<3x4xui8>
  %s = relay.constant dense<[[0.5], [1.0], [-1.0]]> : tensor<3x1xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 8 : i64} : (tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %y = relay.nn.dense %x, %m {out_dtype = f64} : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

// CHECK-LABEL: func.func @keep_computed_weights
// CHECK: relay.qnn.dequantize_blocks
// CHECK: relay.nn.dense
func.func @keep_computed_weights(%x: tensor<2x8xf32>, %w: tensor<3x4xui8>) -> tensor<2x3xf32> {
  %s = relay.constant dense<[[0.5], [1.0], [-1.0]]> : tensor<3x1xf32>
  %z = relay.constant dense<8> : tensor<ui8>
  %m = relay.qnn.dequantize_blocks %w, %s, %z {length = 8 : i64, block_size = 8 : i64} : (tensor<3x4xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<3x8xf32>
  %y = relay.nn.dense %x, %m : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
