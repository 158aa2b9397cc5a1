// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @transform(%x: tensor<2x3x4xf32>, %s: tensor<f32>, %o: tensor<1x3x1xf32>, %d: tensor<?x4xf32>, %c: tensor<4xi1>, %t: tuple<tensor<2x3xf32>, tensor<2x?xf32>>) {
// CHECK-LABEL: func.func @transform(%x: tensor<2x3x4xf32>, %s: tensor<f32>, %o: tensor<1x3x1xf32>, %d: tensor<?x4xf32>, %c: tensor<4xi1>, %t: tuple<tensor<2x3xf32>, tensor<2x?xf32>>) {
  %reshape = relay.reshape %x {newshape = array<i64: -3, 0>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK-NEXT: %reshape = relay.reshape %x {newshape = array<i64: -3, 0>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %split_dim = relay.reshape %x {newshape = array<i64: 2, -4, 3, -1, -2>} : (tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32>
  // CHECK-NEXT: %split_dim = relay.reshape %x {newshape = array<i64: 2, -4, 3, -1, -2>} : (tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32>
  %longer = relay.reshape %x {newshape = array<i64: 1, 1, 2, 3, -1>} : (tensor<2x3x4xf32>) -> tensor<1x1x2x3x4xf32>
  // CHECK-NEXT: %longer = relay.reshape %x {newshape = array<i64: 1, 1, 2, 3, -1>} : (tensor<2x3x4xf32>) -> tensor<1x1x2x3x4xf32>
  %unknown = relay.reshape %d {newshape = array<i64: 2, -1>, allowzero = true} : (tensor<?x4xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %unknown = relay.reshape %d {newshape = array<i64: 2, -1>, allowzero = true} : (tensor<?x4xf32>) -> tensor<2x?xf32>
  %flat = relay.nn.batch_flatten %x : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  // CHECK-NEXT: %flat = relay.nn.batch_flatten %x : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  %squeeze = relay.squeeze %o : (tensor<1x3x1xf32>) -> tensor<3xf32>
  // CHECK-NEXT: %squeeze = relay.squeeze %o : (tensor<1x3x1xf32>) -> tensor<3xf32>
  %squeeze_one = relay.squeeze %o {axis = array<i64: -1>} : (tensor<1x3x1xf32>) -> tensor<1x3xf32>
  // CHECK-NEXT: %squeeze_one = relay.squeeze %o {axis = array<i64: -1>} : (tensor<1x3x1xf32>) -> tensor<1x3xf32>
  %expand = relay.expand_dims %x {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x1x3x4xf32>
  // CHECK-NEXT: %expand = relay.expand_dims %x {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x1x3x4xf32>
  %expand_two = relay.expand_dims %x {axis = -1 : i64, num_newaxis = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4x1x1xf32>
  // CHECK-NEXT: %expand_two = relay.expand_dims %x {axis = -1 : i64, num_newaxis = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4x1x1xf32>
  %reverse = relay.transpose %x : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  // CHECK-NEXT: %reverse = relay.transpose %x : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %transpose = relay.transpose %x {axes = array<i64: 0, -1, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  // CHECK-NEXT: %transpose = relay.transpose %x {axes = array<i64: 0, -1, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %broadcast = relay.broadcast_to %o {shape = array<i64: 5, 1, 3, 2>} : (tensor<1x3x1xf32>) -> tensor<5x1x3x2xf32>
  // CHECK-NEXT: %broadcast = relay.broadcast_to %o {shape = array<i64: 5, 1, 3, 2>} : (tensor<1x3x1xf32>) -> tensor<5x1x3x2xf32>
  %tile = relay.tile %x {reps = array<i64: 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
  // CHECK-NEXT: %tile = relay.tile %x {reps = array<i64: 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
  %repeat = relay.repeat %x {repeats = 3 : i64, axis = -1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x12xf32>
  // CHECK-NEXT: %repeat = relay.repeat %x {repeats = 3 : i64, axis = -1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x12xf32>
  %slice = relay.strided_slice %x {begin = array<i64: 0, -1>, end = array<i64: 1, -9>, strides = array<i64: 1, -2>} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  // CHECK-NEXT: %slice = relay.strided_slice %x {begin = array<i64: 0, -1>, end = array<i64: 1, -9>, strides = array<i64: 1, -2>} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  %slice_axes = relay.strided_slice %d {begin = array<i64: 1>, end = array<i64: 100>, axes = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: %slice_axes = relay.strided_slice %d {begin = array<i64: 1>, end = array<i64: 100>, axes = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %slice_size = relay.strided_slice %x {begin = array<i64: 0, -2>, end = array<i64: 1, 2>, slice_mode = "size"} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  // CHECK-NEXT: %slice_size = relay.strided_slice %x {begin = array<i64: 0, -2>, end = array<i64: 1, 2>, slice_mode = "size"} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  %pad = relay.nn.pad %x, %s {pad_width = [array<i64: 0, 0>, array<i64: 1, 2>, array<i64: 0, 1>]} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x6x5xf32>
  // CHECK-NEXT: %pad = relay.nn.pad %x, %s {pad_width = [array<i64: 0, 0>, array<i64: 1, 2>, array<i64: 0, 1>]} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x6x5xf32>
  %mirror = relay.nn.pad %x, %s {pad_width = [array<i64: 1, 1>, array<i64: 0, 2>, array<i64: 3, 0>], pad_mode = "reflect"} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<4x5x7xf32>
  // CHECK-NEXT: %mirror = relay.nn.pad %x, %s {pad_width = [array<i64: 1, 1>, array<i64: 0, 2>, array<i64: 3, 0>], pad_mode = "reflect"} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<4x5x7xf32>
  %concatenate = relay.concatenate %t {axis = 1 : i64} : (tuple<tensor<2x3xf32>, tensor<2x?xf32>>) -> tensor<2x?xf32>
  // CHECK-NEXT: %concatenate = relay.concatenate %t {axis = 1 : i64} : (tuple<tensor<2x3xf32>, tensor<2x?xf32>>) -> tensor<2x?xf32>
  %stack = relay.stack %t {axis = -1 : i64} : (tuple<tensor<2x3xf32>, tensor<2x?xf32>>) -> tensor<2x3x2xf32>
  // CHECK-NEXT: %stack = relay.stack %t {axis = -1 : i64} : (tuple<tensor<2x3xf32>, tensor<2x?xf32>>) -> tensor<2x3x2xf32>
  %split = relay.split %x {indices_or_sections = 2 : i64} : (tensor<2x3x4xf32>) -> tuple<tensor<1x3x4xf32>, tensor<1x3x4xf32>>
  // CHECK-NEXT: %split = relay.split %x {indices_or_sections = 2 : i64} : (tensor<2x3x4xf32>) -> tuple<tensor<1x3x4xf32>, tensor<1x3x4xf32>>
  %split_at = relay.split %x {indices_or_sections = array<i64: 1, 1>, axis = 2 : i64} : (tensor<2x3x4xf32>) -> tuple<tensor<2x3x1xf32>, tensor<2x3x0xf32>, tensor<2x3x3xf32>>
  // CHECK-NEXT: %split_at = relay.split %x {indices_or_sections = array<i64: 1, 1>, axis = 2 : i64} : (tensor<2x3x4xf32>) -> tuple<tensor<2x3x1xf32>, tensor<2x3x0xf32>, tensor<2x3x3xf32>>
  %where = relay.where %c, %d, %s : (tensor<4xi1>, tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  // CHECK-NEXT: %where = relay.where %c, %d, %s : (tensor<4xi1>, tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
