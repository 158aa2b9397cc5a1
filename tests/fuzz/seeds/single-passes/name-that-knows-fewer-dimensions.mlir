// passes: lazy-gradient-init{}
builtin.module {
  func.func @main(%0: tensor<0x3xui32>) -> tensor<0x?xui32> {
    %1 = relay.let %0 : (tensor<0x3xui32>) -> tensor<?x3xui32>
    %2 = relay.ones_like %1 : (tensor<?x3xui32>) -> tensor<0x?xui32>
    func.return %2 : tensor<0x?xui32>
  }
}
