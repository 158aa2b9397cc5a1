// passes: select-strategies,legalize-layouts
builtin.module {
  func.func @main(%0: tensor<2x8x7x10xui8>) -> tensor<2x7x7x10xui8> {
    %1 = relay.nn.avg_pool2d %0 {pool_size = array<i64: 2, 1>, layout = "NHWC", count_include_pad = true} : (tensor<2x8x7x10xui8>) -> tensor<2x7x7x10xui8>
    func.return %1 : tensor<2x7x7x10xui8>
  }
}
