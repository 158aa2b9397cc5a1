// RUN: xdsl-opt -p legalize-layouts %s | filecheck %s
// RUN: xdsl-opt -p legalize-layouts,legalize-layouts %s | filecheck %s

// One after the other: what stands between them cancels.

// CHECK-LABEL: func.func @images(
// CHECK-NEXT: [[X:%.*]] = relay.layout_transform %x {src_layout = "NHWC", dst_layout = "NCHW"}
// CHECK-NEXT: [[W:%.*]] = relay.layout_transform %w {src_layout = "HWIO", dst_layout = "OIHW"}
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d [[X]], [[W]] {padding = array<i64: 1, 2, 1, 2>} : (tensor<1x3x8x9xf32>, tensor<8x3x3x5xf32>) -> tensor<1x8x8x9xf32>
// CHECK-NEXT: [[P:%.*]] = relay.nn.max_pool2d [[C]] {pool_size = array<i64: 2, 2>} : (tensor<1x8x8x9xf32>) -> tensor<1x8x7x8xf32>
// CHECK-NEXT: [[G:%.*]] = relay.nn.global_avg_pool2d [[P]] : (tensor<1x8x7x8xf32>) -> tensor<1x8x1x1xf32>
// CHECK-NEXT: [[R:%.*]] = relay.layout_transform [[G]] {src_layout = "NCHW", dst_layout = "NHWC"} : (tensor<1x8x1x1xf32>) -> tensor<1x1x1x8xf32>
// CHECK-NEXT: func.return [[R]]
func.func @images(%x: tensor<1x8x9x3xf32>, %w: tensor<3x5x3x8xf32>) -> tensor<1x1x1x8xf32> {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC", kernel_layout = "HWIO", padding = array<i64: 1, 2>} : (tensor<1x8x9x3xf32>, tensor<3x5x3x8xf32>) -> tensor<1x8x9x8xf32>
  %1 = relay.nn.max_pool2d %0 {pool_size = array<i64: 2, 2>, layout = "NHWC", out_layout = "NHWC"} : (tensor<1x8x9x8xf32>) -> tensor<1x7x8x8xf32>
  %2 = relay.nn.global_avg_pool2d %1 {layout = "NHWC"} : (tensor<1x7x8x8xf32>) -> tensor<1x1x1x8xf32>
  return %2 : tensor<1x1x1x8xf32>
}

// CHECK-LABEL: func.func @filters_of_each_channel(
// CHECK-NEXT: [[W:%.*]] = relay.reshape %w {newshape = array<i64: 8, 1, 3, 3>}
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d %x, [[W]] {padding = array<i64: 0, 0, 0, 0>, groups = 4 : i64}
// CHECK-NEXT: func.return [[C]]
func.func @filters_of_each_channel(%x: tensor<1x4x5x5xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x8x3x3xf32> {
  %0 = relay.nn.conv2d %x, %w {groups = 4 : i64, channels = 8 : i64} : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x8x3x3xf32>
  return %0 : tensor<1x8x3x3xf32>
}

// The last block of images may be padded.

// CHECK-LABEL: func.func @padded(
// CHECK-NEXT: [[X:%.*]] = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x5x5x4xf32>) -> tensor<1x8x5x5xf32>
// CHECK-NEXT: [[S:%.*]] = relay.strided_slice [[X]] {{.*}} -> tensor<1x6x5x5xf32>
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d [[S]], %w {{.*}} -> tensor<1x3x3x3xf32>
// CHECK-NEXT: [[R:%.*]] = relay.layout_transform [[C]] {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x3x3x3xf32>) -> tensor<1x1x3x3x4xf32>
// CHECK-NEXT: func.return [[R]]
func.func @padded(%x: tensor<1x2x5x5x4xf32>, %w: tensor<3x6x3x3xf32>) -> tensor<1x1x3x3x4xf32> {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NCHW4c"} : (tensor<1x2x5x5x4xf32>, tensor<3x6x3x3xf32>) -> tensor<1x1x3x3x4xf32>
  return %0 : tensor<1x1x3x3x4xf32>
}

// CHECK-LABEL: func.func @blocks(%x: tensor<1x2x5x5x4xf32>, %w: tensor<1x2x3x3x4x8xf32>) -> tensor<1x1x3x3x8xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x5x5x4xf32>) -> tensor<1x8x5x5xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.layout_transform %w {src_layout = "OIHW4i8o", dst_layout = "OIHW"} : (tensor<1x2x3x3x4x8xf32>) -> tensor<8x8x3x3xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.conv2d [[V1]], [[V2]] {padding = array<i64: 0, 0, 0, 0>} : (tensor<1x8x5x5xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x3x3xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.layout_transform [[V3]] {src_layout = "NCHW", dst_layout = "NCHW8c"} : (tensor<1x8x3x3xf32>) -> tensor<1x1x3x3x8xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<1x1x3x3x8xf32>
// CHECK-NEXT: }
func.func @blocks(%x: tensor<1x2x5x5x4xf32>, %w: tensor<1x2x3x3x4x8xf32>) -> tensor<1x1x3x3x8xf32> {
  %0 = relay.nn.contrib_conv2d_NCHWc %x, %w {data_layout = "NCHW4c", kernel_layout = "OIHW4i8o", out_layout = "NCHW8c"} : (tensor<1x2x5x5x4xf32>, tensor<1x2x3x3x4x8xf32>) -> tensor<1x1x3x3x8xf32>
  return %0 : tensor<1x1x3x3x8xf32>
}

// CHECK-LABEL: func.func @depthwise(%x: tensor<1x2x5x5x4xf32>, %w: tensor<2x1x3x3x1x4xf32>) -> tensor<1x2x3x3x4xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x5x5x4xf32>) -> tensor<1x8x5x5xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.layout_transform %w {src_layout = "OIHW1i4o", dst_layout = "OIHW"} : (tensor<2x1x3x3x1x4xf32>) -> tensor<8x1x3x3xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.conv2d [[V1]], [[V2]] {padding = array<i64: 0, 0, 0, 0>, groups = 8 : i64} : (tensor<1x8x5x5xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x3x3xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.layout_transform [[V3]] {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x3x3xf32>) -> tensor<1x2x3x3x4xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<1x2x3x3x4xf32>
// CHECK-NEXT: }
func.func @depthwise(%x: tensor<1x2x5x5x4xf32>, %w: tensor<2x1x3x3x1x4xf32>) -> tensor<1x2x3x3x4xf32> {
  %0 = relay.nn.contrib_depthwise_conv2d_NCHWc %x, %w {data_layout = "NCHW4c", kernel_layout = "OIHW1i4o", groups = 8 : i64} : (tensor<1x2x5x5x4xf32>, tensor<2x1x3x3x1x4xf32>) -> tensor<1x2x3x3x4xf32>
  return %0 : tensor<1x2x3x3x4xf32>
}

// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: [[X:%.*]] = relay.layout_transform %x {src_layout = "NWC", dst_layout = "NCW"}
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv1d_transpose [[X]], %w {padding = array<i64: 0, 0>} : (tensor<1x4x5xf32>, tensor<4x3x2xf32>) -> tensor<1x3x6xf32>
// CHECK-NEXT: [[R:%.*]] = relay.layout_transform [[C]] {src_layout = "NCW", dst_layout = "NWC"}
// CHECK-NEXT: func.return [[R]]
func.func @transposed(%x: tensor<1x5x4xf32>, %w: tensor<4x3x2xf32>) -> tensor<1x6x3xf32> {
  %0 = relay.nn.conv1d_transpose %x, %w {data_layout = "NWC"} : (tensor<1x5x4xf32>, tensor<4x3x2xf32>) -> tensor<1x6x3xf32>
  return %0 : tensor<1x6x3xf32>
}

// What is left alone.

// CHECK-LABEL: func.func @keep(
// CHECK-NEXT: relay.nn.conv2d %x, %w :
// CHECK-NEXT: relay.nn.conv2d_transpose %x, %w :
// CHECK-NEXT: relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>} :
func.func @keep(%x: tensor<1x3x4x4xf32>, %w: tensor<3x3x2x2xf32>) {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<3x3x2x2xf32>) -> tensor<1x3x3x3xf32>
  %1 = relay.nn.conv2d_transpose %x, %w : (tensor<1x3x4x4xf32>, tensor<3x3x2x2xf32>) -> tensor<1x3x5x5xf32>
  %2 = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>) -> tensor<1x3x3x3xf32>
  return
}

// CHECK-LABEL: func.func @keep_volumes(
// CHECK-NEXT: relay.nn.conv3d %x, %w {data_layout = "NDHWC"} :
func.func @keep_volumes(%x: tensor<1x4x4x4x3xf32>, %w: tensor<2x3x3x3x3xf32>) {
  %0 = relay.nn.conv3d %x, %w {data_layout = "NDHWC"} : (tensor<1x4x4x4x3xf32>, tensor<2x3x3x3x3xf32>) -> tensor<1x2x2x2x2xf32>
  return
}

// CHECK-LABEL: func.func @keep_unknown(
// CHECK-NEXT: relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, layout = "NHWC"} :
func.func @keep_unknown(%x: tensor<?x4x4x3xf32>) {
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, layout = "NHWC"} : (tensor<?x4x4x3xf32>) -> tensor<?x3x3x3xf32>
  return
}

// CHECK-LABEL: func.func @keep_for_backend(
// CHECK-NEXT: relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, layout = "NHWC"} :
func.func @keep_for_backend(%x: tensor<1x4x4x3xf32>) attributes {Compiler = "other"} {
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x4x4x3xf32>) -> tensor<1x3x3x3xf32>
  return
}

// A transform that pads stays.

// CHECK-LABEL: func.func @keep_padding(
// CHECK-NEXT: relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"}
// CHECK-NEXT: relay.layout_transform %{{.*}} {src_layout = "NCHW4c", dst_layout = "NCHW"}
func.func @keep_padding(%x: tensor<1x3x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x3x4x4xf32>) -> tensor<1x1x4x4x4xf32>
  %1 = relay.layout_transform %0 {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}
