// passes: to-mixed-precision{constants-only=false}
builtin.module {
  func.func @main(%0: tensor<2x3x4xui16>, %1: tensor<4x4xui16>, %2: tensor<3xui16>, %3: tensor<3xui16>) -> (tensor<2x3x4xui16>, tensor<2x3x4xui16>) {
    %4 = relay.constant dense<[[[1, 3, 2, 3]]]> : tensor<1x1x4xui16>
    %5 = relay.multiply %0, %4 : (tensor<2x3x4xui16>, tensor<1x1x4xui16>) -> tensor<2x3x4xui16>
    %6 = relay.nn.dense %5, %1 : (tensor<2x3x4xui16>, tensor<4x4xui16>) -> tensor<2x3x4xui16>
    %7 = relay.constant dense<[1, 0, 3]> : tensor<3xui16>
    %8 = relay.nn.bias_add %6, %7 {axis = -2 : i64} : (tensor<2x3x4xui16>, tensor<3xui16>) -> tensor<2x3x4xui16>
    %9 = relay.tuple %8 : (tensor<2x3x4xui16>) -> tuple<tensor<2x3x4xui16>>
    %10 = relay.tuple_get_item %9[0] : (tuple<tensor<2x3x4xui16>>) -> tensor<2x3x4xui16>
    %11 = relay.tuple %10 : (tensor<2x3x4xui16>) -> tuple<tensor<2x3x4xui16>>
    %12 = relay.tuple_get_item %11[0] : (tuple<tensor<2x3x4xui16>>) -> tensor<2x3x4xui16>
    func.return %12, %0 : tensor<2x3x4xui16>, tensor<2x3x4xui16>
  }
}
