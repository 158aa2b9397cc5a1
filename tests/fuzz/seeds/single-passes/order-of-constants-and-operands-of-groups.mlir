// passes: relay-opt-level-2{}
builtin.module {
  func.func @main(%0: tensor<2x0x1xf16>) -> (tensor<2x0x1xf16>, tensor<2x0x1xf16>) {
    %1 = relay.multiply %0, %0 : (tensor<2x0x1xf16>, tensor<2x0x1xf16>) -> tensor<2x0x1xf16>
    %2 = relay.let %0 : (tensor<2x0x1xf16>) -> tensor<2x0x1xf16>
    %3 = relay.constant dense<0.000000e+00> : tensor<f16>
    %4 = relay.constant dense<1.000000e+00> : tensor<f16>
    %5 = relay.add %3, %4 : (tensor<f16>, tensor<f16>) -> tensor<f16>
    %6 = relay.add %1, %5 : (tensor<2x0x1xf16>, tensor<f16>) -> tensor<2x0x1xf16>
    %7 = relay.constant dense<> : tensor<1x0x1xf16>
    %8 = relay.multiply %7, %6 : (tensor<1x0x1xf16>, tensor<2x0x1xf16>) -> tensor<2x0x1xf16>
    func.return %8, %1 : tensor<2x0x1xf16>, tensor<2x0x1xf16>
  }
}
