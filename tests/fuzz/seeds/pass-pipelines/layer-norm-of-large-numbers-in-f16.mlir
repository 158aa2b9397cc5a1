// passes: simplify-inference{}
builtin.module {
  func.func @main(%x: tensor<2x64xf16>, %c: tensor<64xf16>) -> (tensor<2x64xf16>, tensor<2x64xf16>) {
    %0 = relay.nn.layer_norm %x, %c, %c : (tensor<2x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<2x64xf16>
    %1 = relay.nn.layer_norm %x, %c, %c {center = false, scale = false} : (tensor<2x64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<2x64xf16>
    func.return %0, %1 : tensor<2x64xf16>, tensor<2x64xf16>
  }
}
