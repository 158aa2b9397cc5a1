// passes: flatten-atrous-conv{}
builtin.module {
  func.func @main(%x: tensor<1x3x4x1xf32>, %w: tensor<4x1x1x1xf32>) -> tensor<1x0x4x1xf32> {
    %0 = relay.nn.space_to_batch_nd %x {block_shape = array<i64: 2, 2>, paddings = [array<i64: 2, 3>, array<i64: 0, 0>]} : (tensor<1x3x4x1xf32>) -> tensor<4x4x2x1xf32>
    %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x4x2x1xf32>, tensor<4x1x1x1xf32>) -> tensor<4x1x2x1xf32>
    %2 = relay.nn.batch_to_space_nd %1 {block_shape = array<i64: 2, 2>, crops = [array<i64: 2, 0>, array<i64: 0, 0>]} : (tensor<4x1x2x1xf32>) -> tensor<1x0x4x1xf32>
    func.return %2 : tensor<1x0x4x1xf32>
  }
}
