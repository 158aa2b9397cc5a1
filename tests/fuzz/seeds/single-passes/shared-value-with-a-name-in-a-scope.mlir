// passes: to-basic-block-normal-form{}
builtin.module {
  func.func @main(%0: tensor<2x2xui8>, %1: tensor<i1>) -> (tensor<4xui8>, tensor<2x2xui8>) {
    %2 = relay.reshape %0 {newshape = array<i64: 4>, allowzero = true} : (tensor<2x2xui8>) -> tensor<4xui8>
    %3 = relay.closure : !relay.fn<(tensor<i1>) -> tuple<tensor<4xui8>>> {
    ^bb0(%4: tensor<i1>):
      %5 = relay.let %2 : (tensor<4xui8>) -> tensor<4xui8>
      %6 = tensor.extract %4[] : tensor<i1>
      %7, %8 = scf.while (%9 = %6, %10 = %5) : (i1, tensor<4xui8>) -> (i1, tensor<4xui8>) {
        scf.condition(%9) %9, %10 : i1, tensor<4xui8>
      } do {
      ^bb0(%11: i1, %12: tensor<4xui8>):
        %13 = relay.let %2 : (tensor<4xui8>) -> tensor<4xui8>
        %14 = arith.constant false
        scf.yield %14, %13 : i1, tensor<4xui8>
      }
      %15 = relay.tuple %8 : (tensor<4xui8>) -> tuple<tensor<4xui8>>
      relay.yield %15 : tuple<tensor<4xui8>>
    }
    %16 = relay.closure : !relay.fn<(!relay.fn<(tensor<i1>) -> tuple<tensor<4xui8>>>, tensor<i1>) -> tuple<tensor<4xui8>>> {
    ^bb0(%17: !relay.fn<(tensor<i1>) -> tuple<tensor<4xui8>>>, %18: tensor<i1>):
      %19 = relay.apply %17(%18) : (!relay.fn<(tensor<i1>) -> tuple<tensor<4xui8>>>, tensor<i1>) -> tuple<tensor<4xui8>>
      relay.yield %19 : tuple<tensor<4xui8>>
    }
    %20 = relay.apply %16(%3, %1) : (!relay.fn<(!relay.fn<(tensor<i1>) -> tuple<tensor<4xui8>>>, tensor<i1>) -> tuple<tensor<4xui8>>>, !relay.fn<(tensor<i1>) -> tuple<tensor<4xui8>>>, tensor<i1>) -> tuple<tensor<4xui8>>
    %21 = relay.tuple_get_item %20[0] : (tuple<tensor<4xui8>>) -> tensor<4xui8>
    func.return %21, %0 : tensor<4xui8>, tensor<2x2xui8>
  }
}
