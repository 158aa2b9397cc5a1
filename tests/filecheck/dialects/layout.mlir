// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @layout_transform(%x: tensor<1x20x8x8xf32>, %b: tensor<1x2x8x8x16xf32>, %n: tensor<?x?x8x8xi8>, %w: tensor<33x20x3x3xf32>) {
// CHECK-LABEL: func.func @layout_transform(%x: tensor<1x20x8x8xf32>, %b: tensor<1x2x8x8x16xf32>, %n: tensor<?x?x8x8xi8>, %w: tensor<33x20x3x3xf32>) {
  %blocked = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW16c"} : (tensor<1x20x8x8xf32>) -> tensor<1x2x8x8x16xf32>
  // CHECK-NEXT: %blocked = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW16c"} : (tensor<1x20x8x8xf32>) -> tensor<1x2x8x8x16xf32>
  %back = relay.layout_transform %b {src_layout = "NCHW16c", dst_layout = "NCHW"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x32x8x8xf32>
  // CHECK-NEXT: %back = relay.layout_transform %b {src_layout = "NCHW16c", dst_layout = "NCHW"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x32x8x8xf32>
  %smaller = relay.layout_transform %b {src_layout = "NCHW16c", dst_layout = "NCHW8c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x4x8x8x8xf32>
  // CHECK-NEXT: %smaller = relay.layout_transform %b {src_layout = "NCHW16c", dst_layout = "NCHW8c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x4x8x8x8xf32>
  %last = relay.layout_transform %n {src_layout = "NCHW", dst_layout = "NHWC"} : (tensor<?x?x8x8xi8>) -> tensor<?x8x8x?xi8>
  // CHECK-NEXT: %last = relay.layout_transform %n {src_layout = "NCHW", dst_layout = "NHWC"} : (tensor<?x?x8x8xi8>) -> tensor<?x8x8x?xi8>
  %unknown = relay.layout_transform %n {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<?x?x8x8xi8>) -> tensor<?x?x8x8x4xi8>
  // CHECK-NEXT: %unknown = relay.layout_transform %n {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<?x?x8x8xi8>) -> tensor<?x?x8x8x4xi8>
  %weight = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "OIHW16i16o"} : (tensor<33x20x3x3xf32>) -> tensor<3x2x3x3x16x16xf32>
  // CHECK-NEXT: %weight = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "OIHW16i16o"} : (tensor<33x20x3x3xf32>) -> tensor<3x2x3x3x16x16xf32>
  func.return
  // CHECK-NEXT: func.return
}

func.func @dilate(%x: tensor<4x5xf32>, %y: tensor<?x5xi8>) {
// CHECK-LABEL: func.func @dilate(%x: tensor<4x5xf32>, %y: tensor<?x5xi8>) {
  %gaps = relay.nn.dilate %x {strides = array<i64: 2, 3>, dilation_value = 1.500000e+00 : f64} : (tensor<4x5xf32>) -> tensor<7x13xf32>
  // CHECK-NEXT: %gaps = relay.nn.dilate %x {strides = array<i64: 2, 3>, dilation_value = 1.500000e+00 : f64} : (tensor<4x5xf32>) -> tensor<7x13xf32>
  %plain = relay.nn.dilate %y : (tensor<?x5xi8>) -> tensor<?x5xi8>
  // CHECK-NEXT: %plain = relay.nn.dilate %y : (tensor<?x5xi8>) -> tensor<?x5xi8>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
