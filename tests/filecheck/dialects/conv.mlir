// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @conv(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %g: tensor<6x2x3x3xf32>, %n: tensor<?x4x?x8xi8>, %k: tensor<6x4x3x3xi8>) {
// CHECK-LABEL: func.func @conv(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %g: tensor<6x2x3x3xf32>, %n: tensor<?x4x?x8xi8>, %k: tensor<6x4x3x3xi8>) {
  %plain = relay.nn.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  // CHECK-NEXT: %plain = relay.nn.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  %one_pad = relay.nn.conv2d %x, %w {padding = array<i64: 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>
  // CHECK-NEXT: %one_pad = relay.nn.conv2d %x, %w {padding = array<i64: 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>
  %groups = relay.nn.conv2d %x, %g {strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>, dilation = array<i64: 1, 2>, groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x6xf32>
  // CHECK-NEXT: %groups = relay.nn.conv2d %x, %g {strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>, dilation = array<i64: 1, 2>, groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x6xf32>
  %stated = relay.nn.conv2d %x, %w {channels = 6 : i64, kernel_size = array<i64: 3, 3>, out_layout = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  // CHECK-NEXT: %stated = relay.nn.conv2d %x, %w {channels = 6 : i64, kernel_size = array<i64: 3, 3>, out_layout = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  %wide = relay.nn.conv2d %n, %k {out_dtype = i32} : (tensor<?x4x?x8xi8>, tensor<6x4x3x3xi8>) -> tensor<?x6x?x6xi32>
  // CHECK-NEXT: %wide = relay.nn.conv2d %n, %k {out_dtype = i32} : (tensor<?x4x?x8xi8>, tensor<6x4x3x3xi8>) -> tensor<?x6x?x6xi32>
  func.return
  // CHECK-NEXT: func.return
}

func.func @blocked(%x: tensor<1x4x8x8xf32>, %b: tensor<1x1x8x8x16xf32>, %d: tensor<?x2x?x8x4xf32>, %w: tensor<20x4x3x3xf32>, %g: tensor<20x2x3x3xf32>, %k: tensor<6x5x1x1xf32>) {
// CHECK-LABEL: func.func @blocked(%x: tensor<1x4x8x8xf32>, %b: tensor<1x1x8x8x16xf32>, %d: tensor<?x2x?x8x4xf32>, %w: tensor<20x4x3x3xf32>, %g: tensor<20x2x3x3xf32>, %k: tensor<6x5x1x1xf32>) {
  %inner = relay.nn.conv2d %b, %w {data_layout = "NCHW16c"} : (tensor<1x1x8x8x16xf32>, tensor<20x4x3x3xf32>) -> tensor<1x2x6x6x16xf32>
  // CHECK-NEXT: %inner = relay.nn.conv2d %b, %w {data_layout = "NCHW16c"} : (tensor<1x1x8x8x16xf32>, tensor<20x4x3x3xf32>) -> tensor<1x2x6x6x16xf32>
  %first = relay.nn.conv2d %x, %w {padding = array<i64: 1>, out_layout = "NCHW8c"} : (tensor<1x4x8x8xf32>, tensor<20x4x3x3xf32>) -> tensor<1x3x8x8x8xf32>
  // CHECK-NEXT: %first = relay.nn.conv2d %x, %w {padding = array<i64: 1>, out_layout = "NCHW8c"} : (tensor<1x4x8x8xf32>, tensor<20x4x3x3xf32>) -> tensor<1x3x8x8x8xf32>
  %last = relay.nn.conv2d %b, %g {groups = 2 : i64, data_layout = "NCHW16c", out_layout = "NCHW"} : (tensor<1x1x8x8x16xf32>, tensor<20x2x3x3xf32>) -> tensor<1x20x6x6xf32>
  // CHECK-NEXT: %last = relay.nn.conv2d %b, %g {groups = 2 : i64, data_layout = "NCHW16c", out_layout = "NCHW"} : (tensor<1x1x8x8x16xf32>, tensor<20x2x3x3xf32>) -> tensor<1x20x6x6xf32>
  %unknown = relay.nn.conv2d %d, %k {data_layout = "NCHW4c"} : (tensor<?x2x?x8x4xf32>, tensor<6x5x1x1xf32>) -> tensor<?x2x?x8x4xf32>
  // CHECK-NEXT: %unknown = relay.nn.conv2d %d, %k {data_layout = "NCHW4c"} : (tensor<?x2x?x8x4xf32>, tensor<6x5x1x1xf32>) -> tensor<?x2x?x8x4xf32>
  func.return
  // CHECK-NEXT: func.return
}

func.func @conv1d(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>, %g: tensor<6x2x3xf32>, %n: tensor<?x4x?xi8>, %k: tensor<6x4x3xi8>) {
// CHECK-LABEL: func.func @conv1d(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>, %g: tensor<6x2x3xf32>, %n: tensor<?x4x?xi8>, %k: tensor<6x4x3xi8>) {
  %plain = relay.nn.conv1d %x, %w : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
  // CHECK-NEXT: %plain = relay.nn.conv1d %x, %w : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
  %groups = relay.nn.conv1d %x, %g {strides = array<i64: 2>, padding = array<i64: 1, 0>, dilation = array<i64: 2>, groups = 2 : i64} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  // CHECK-NEXT: %groups = relay.nn.conv1d %x, %g {strides = array<i64: 2>, padding = array<i64: 1, 0>, dilation = array<i64: 2>, groups = 2 : i64} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  %stated = relay.nn.conv1d %x, %w {padding = array<i64: 1>, channels = 6 : i64, kernel_size = array<i64: 3>} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x9xf32>
  // CHECK-NEXT: %stated = relay.nn.conv1d %x, %w {padding = array<i64: 1>, channels = 6 : i64, kernel_size = array<i64: 3>} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x9xf32>
  %wide = relay.nn.conv1d %n, %k {out_dtype = i32} : (tensor<?x4x?xi8>, tensor<6x4x3xi8>) -> tensor<?x6x?xi32>
  // CHECK-NEXT: %wide = relay.nn.conv1d %n, %k {out_dtype = i32} : (tensor<?x4x?xi8>, tensor<6x4x3xi8>) -> tensor<?x6x?xi32>
  func.return
  // CHECK-NEXT: func.return
}

func.func @conv2d_transpose(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x3x3xf32>, %v: tensor<4x3x3x2xf32>, %n: tensor<?x4x?x5xf32>) {
// CHECK-LABEL: func.func @conv2d_transpose(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x3x3xf32>, %v: tensor<4x3x3x2xf32>, %n: tensor<?x4x?x5xf32>) {
  %plain = relay.nn.conv2d_transpose %x, %w : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32>
  // CHECK-NEXT: %plain = relay.nn.conv2d_transpose %x, %w : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32>
  %groups = relay.nn.conv2d_transpose %x, %v {strides = array<i64: 2, 3>, output_padding = array<i64: 1, 0>, padding = array<i64: 1>, dilation = array<i64: 1, 2>, groups = 2 : i64, kernel_layout = "IOHW"} : (tensor<1x4x5x5xf32>, tensor<4x3x3x2xf32>) -> tensor<1x6x10x13xf32>
  // CHECK-NEXT: %groups = relay.nn.conv2d_transpose %x, %v {strides = array<i64: 2, 3>, output_padding = array<i64: 1, 0>, padding = array<i64: 1>, dilation = array<i64: 1, 2>, groups = 2 : i64, kernel_layout = "IOHW"} : (tensor<1x4x5x5xf32>, tensor<4x3x3x2xf32>) -> tensor<1x6x10x13xf32>
  %stated = relay.nn.conv2d_transpose %n, %w {padding = array<i64: 1, 0>, channels = 6 : i64, kernel_size = array<i64: 3, 3>} : (tensor<?x4x?x5xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x?x7xf32>
  // CHECK-NEXT: %stated = relay.nn.conv2d_transpose %n, %w {padding = array<i64: 1, 0>, channels = 6 : i64, kernel_size = array<i64: 3, 3>} : (tensor<?x4x?x5xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x?x7xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
