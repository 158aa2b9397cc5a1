// RUN: xdsl-opt -p "alter-op-layout{lanes=4 byte-lanes=8}" %s | filecheck %s
// RUN: xdsl-opt -p "alter-op-layout{lanes=4 float-lanes=8}" %s | filecheck %s --check-prefix FLOAT
// RUN: xdsl-opt -p "alter-op-layout{lanes=8 byte-lanes=4 float-lanes=4}" %s | filecheck %s --check-prefix LESS
// RUN: not xrelay-opt -p "alter-op-layout{byte-lanes=-1}" %s 2>&1 | filecheck %s --check-prefix NEGATIVE

// NEGATIVE: byte-lanes' is -1, expected at least 0

// Products of bytes, from NCHW and from blocks. Products of floats have a number of their own, and a larger one only.
// CHECK-LABEL: func.func @bytes
// CHECK: relay.nn.conv2d {{.*}}out_layout = "NCHW8c"
// CHECK: relay.nn.conv2d {{.*}}data_layout = "NCHW8c"
// CHECK: relay.nn.max_pool2d {{.*}}layout = "NCHW8c"
// FLOAT-LABEL: func.func @bytes
// FLOAT-NOT: NCHW8c
// LESS-LABEL: func.func @bytes
// LESS-NOT: NCHW4c
func.func @bytes(%x: tensor<1x3x9x9xui8>) -> tensor<1x16x4x4xi32> {
  %v = relay.constant dense<1> : tensor<8x3x3x3xi8>
  %w = relay.constant dense<2> : tensor<16x8x3x3xi8>
  %0 = relay.nn.conv2d %x, %v {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x3x9x9xui8>, tensor<8x3x3x3xi8>) -> tensor<1x8x9x9xi32>
  %1 = relay.cast %0 {dtype = i8} : (tensor<1x8x9x9xi32>) -> tensor<1x8x9x9xi8>
  %2 = relay.nn.conv2d %1, %w {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x8x9x9xi8>, tensor<16x8x3x3xi8>) -> tensor<1x16x9x9xi32>
  %3 = relay.nn.max_pool2d %2 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x16x9x9xi32>) -> tensor<1x16x4x4xi32>
  return %3 : tensor<1x16x4x4xi32>
}

// CHECK-LABEL: func.func @floats
// CHECK-NOT: NCHW8c
// FLOAT-LABEL: func.func @floats
// FLOAT: relay.nn.conv2d {{.*}}data_layout = "NCHW8c"
func.func @floats(%x: tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x9x9xf32>
  return %0 : tensor<1x8x9x9xf32>
}

// Not where a block would not be full: of results,
// CHECK-LABEL: func.func @results
// CHECK-NOT: NCHW8c
// CHECK: data_layout = "NCHW4c"
// CHECK-NOT: NCHW8c
// FLOAT-LABEL: func.func @results
func.func @results(%x: tensor<1x8x9x9xui8>) -> tensor<1x12x9x9xi32> {
  %w = relay.constant dense<2> : tensor<12x8x3x3xi8>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x8x9x9xui8>, tensor<12x8x3x3xi8>) -> tensor<1x12x9x9xi32>
  return %0 : tensor<1x12x9x9xi32>
}

// or of images, which then stay in NCHW where they are few channels;
// CHECK-LABEL: func.func @few
// CHECK-NOT: NCHW8c
// CHECK: data_layout = "NCHW4c"
// CHECK-NOT: NCHW8c
// FLOAT-LABEL: func.func @few
func.func @few(%x: tensor<1x4x9x9xui8>) -> tensor<1x8x9x9xi32> {
  %w = relay.constant dense<2> : tensor<8x4x3x3xi8>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x4x9x9xui8>, tensor<8x4x3x3xi8>) -> tensor<1x8x9x9xi32>
  return %0 : tensor<1x8x9x9xi32>
}

// or are more;
// CHECK-LABEL: func.func @images
// CHECK-NOT: NCHW8c
// CHECK: data_layout = "NCHW4c"
// CHECK-NOT: NCHW8c
// FLOAT-LABEL: func.func @images
func.func @images(%x: tensor<1x12x9x9xui8>) -> tensor<1x8x9x9xi32> {
  %w = relay.constant dense<2> : tensor<8x12x3x3xi8>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x12x9x9xui8>, tensor<8x12x3x3xi8>) -> tensor<1x8x9x9xi32>
  return %0 : tensor<1x8x9x9xi32>
}

// not with groups, whose channels no tile has,
// CHECK-LABEL: func.func @groups
// CHECK-NOT: NCHW8c
// CHECK: data_layout = "NCHW4c"
// CHECK-NOT: NCHW8c
// FLOAT-LABEL: func.func @groups
func.func @groups(%x: tensor<1x16x9x9xui8>) -> tensor<1x16x9x9xi32> {
  %v = relay.constant dense<1> : tensor<16x16x3x3xi8>
  %w = relay.constant dense<2> : tensor<16x1x3x3xi8>
  %0 = relay.nn.conv2d %x, %v {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x16x9x9xui8>, tensor<16x16x3x3xi8>) -> tensor<1x16x9x9xi32>
  %1 = relay.cast %0 {dtype = ui8} : (tensor<1x16x9x9xi32>) -> tensor<1x16x9x9xui8>
  %2 = relay.nn.conv2d %1, %w {groups = 16 : i64, padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x16x9x9xui8>, tensor<16x1x3x3xi8>) -> tensor<1x16x9x9xi32>
  %3 = relay.cast %2 {dtype = ui8} : (tensor<1x16x9x9xi32>) -> tensor<1x16x9x9xui8>
  %4 = relay.nn.conv2d %3, %v {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x16x9x9xui8>, tensor<16x16x3x3xi8>) -> tensor<1x16x9x9xi32>
  return %4 : tensor<1x16x9x9xi32>
}

// where others would leave blocks,
// CHECK-LABEL: func.func @joined
// CHECK-NOT: NCHW8c
// CHECK: data_layout = "NCHW4c"
// CHECK-NOT: NCHW8c
// FLOAT-LABEL: func.func @joined
func.func @joined(%x: tensor<1x8x9x9xui8>, %y: tensor<1x4x9x9xui8>, %z: tensor<1x4x9x9xui8>) -> tensor<1x16x9x9xi32> {
  %w = relay.constant dense<2> : tensor<16x8x3x3xi8>
  %v = relay.constant dense<2> : tensor<16x24x3x3xi8>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x8x9x9xui8>, tensor<16x8x3x3xi8>) -> tensor<1x16x9x9xi32>
  %1 = relay.cast %0 {dtype = ui8} : (tensor<1x16x9x9xi32>) -> tensor<1x16x9x9xui8>
  %2 = relay.tuple %y, %1, %z : (tensor<1x4x9x9xui8>, tensor<1x16x9x9xui8>, tensor<1x4x9x9xui8>) -> tuple<tensor<1x4x9x9xui8>, tensor<1x16x9x9xui8>, tensor<1x4x9x9xui8>>
  %3 = relay.concatenate %2 {axis = 1 : i64} : (tuple<tensor<1x4x9x9xui8>, tensor<1x16x9x9xui8>, tensor<1x4x9x9xui8>>) -> tensor<1x24x9x9xui8>
  %4 = relay.nn.conv2d %3, %v {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x24x9x9xui8>, tensor<16x24x3x3xi8>) -> tensor<1x16x9x9xi32>
  return %4 : tensor<1x16x9x9xi32>
}

// and not where some products are of floats, and some of bytes.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: NCHW8c
// FLOAT-LABEL: func.func @mixed
// FLOAT-NOT: NCHW8c
func.func @mixed(%x: tensor<1x8x9x9xui8>) -> tensor<1x8x9x9xf32> {
  %w = relay.constant dense<2> : tensor<8x8x3x3xi8>
  %v = relay.constant dense<2.0> : tensor<8x8x3x3xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, out_dtype = i32} : (tensor<1x8x9x9xui8>, tensor<8x8x3x3xi8>) -> tensor<1x8x9x9xi32>
  %1 = relay.cast %0 {dtype = f32} : (tensor<1x8x9x9xi32>) -> tensor<1x8x9x9xf32>
  %2 = relay.nn.conv2d %1, %v {padding = array<i64: 1, 1>} : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x9x9xf32>
  return %2 : tensor<1x8x9x9xf32>
}
