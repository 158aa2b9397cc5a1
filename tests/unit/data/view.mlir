func.func @main(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x1x1xf32>, %c: tensor<1x16x1x1xf32>)
    -> tensor<1x16x8x8xf32> {
  %half = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %1 = relay.add %0, %c : (tensor<1x16x8x8xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %2 = relay.nn.relu %1 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %3 = relay.multiply %0, %half : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %4 = relay.add %2, %3 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %5 = relay.nn.softmax %4 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %6 = relay.exp %5 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  return %6 : tensor<1x16x8x8xf32>
}
