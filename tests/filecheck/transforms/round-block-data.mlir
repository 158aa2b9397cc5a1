// RUN: xrelay-opt -p round-block-data %s | filecheck %s
// RUN: xrelay-opt -p round-block-data,round-block-data %s | filecheck %s

// CHECK-LABEL: func.func @products
// CHECK: [[A:%.*]] = relay.qnn.dense_blocks %x, %w, %s, %z {block_size = 16 : i64, data_bits = 8 : i64}
// Zero points are no integers there.
// CHECK-NEXT: relay.qnn.dense_blocks %x, %w, %s, %s {block_size = 16 : i64} :
func.func @products(%x: tensor<2x32xf32>, %w: tensor<3x16xui8>, %s: tensor<3x2xf32>, %z: tensor<ui8>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = relay.qnn.dense_blocks %x, %w, %s, %z {block_size = 16 : i64} : (tensor<2x32xf32>, tensor<3x16xui8>, tensor<3x2xf32>, tensor<ui8>) -> tensor<2x3xf32>
  %1 = relay.qnn.dense_blocks %x, %w, %s, %s {block_size = 16 : i64} : (tensor<2x32xf32>, tensor<3x16xui8>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// Blocks of more than 65,536 numbers have sums of more than 32 bits.
// CHECK-LABEL: func.func @long
// CHECK: relay.qnn.dense_blocks %x, %w, %s, %z {block_size = 65537 : i64} :
func.func @long(%x: tensor<2x32xf32>, %w: tensor<3x16xui8>, %s: tensor<3x1xf32>, %z: tensor<ui8>) -> tensor<2x3xf32> {
  %0 = relay.qnn.dense_blocks %x, %w, %s, %z {block_size = 65537 : i64} : (tensor<2x32xf32>, tensor<3x16xui8>, tensor<3x1xf32>, tensor<ui8>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @other
// CHECK: relay.qnn.dense_blocks %x, %w, %s, %z {block_size = 16 : i64} :
func.func @other(%x: tensor<2x32xf32>, %w: tensor<3x16xui8>, %s: tensor<3x2xf32>, %z: tensor<ui8>) -> tensor<2x3xf32> attributes {Compiler = "ext"} {
  %0 = relay.qnn.dense_blocks %x, %w, %s, %z {block_size = 16 : i64} : (tensor<2x32xf32>, tensor<3x16xui8>, tensor<3x2xf32>, tensor<ui8>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
