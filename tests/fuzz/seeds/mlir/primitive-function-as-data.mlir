func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%p: tensor<2xf32>):
    %e = relay.exp %p : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %e : tensor<2xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
