// passes: manifest-lifetimes{}
builtin.module {
  func.func @main(%0: tensor<3x3xi64>, %1: tensor<1x3xi64>, %2: tensor<i1>) -> (tensor<3x3xi64>, tensor<9xi64>) {
    %3 = relay.constant dense<1> : tensor<i64>
    %4 = relay.let %3 : (tensor<i64>) -> tensor<i64>
    %5 = relay.trunc_divide %0, %4 : (tensor<3x3xi64>, tensor<i64>) -> tensor<3x3xi64>
    %6 = relay.let %5 : (tensor<3x3xi64>) -> tensor<3x3xi64>
    %7 = tensor.extract %2[] : tensor<i1>
    %8 = relay.let %7 : (i1) -> i1
    %9, %10 = scf.while (%11 = %8, %12 = %6) : (i1, tensor<3x3xi64>) -> (i1, tensor<3x3xi64>) {
      scf.condition(%11) %11, %12 : i1, tensor<3x3xi64>
    } do {
    ^bb0(%13: i1, %14: tensor<3x3xi64>):
      %15 = arith.constant false
      %16 = relay.let %15 : (i1) -> i1
      %17 = relay.trunc_divide %0, %4 : (tensor<3x3xi64>, tensor<i64>) -> tensor<3x3xi64>
      %18 = relay.let %17 : (tensor<3x3xi64>) -> tensor<3x3xi64>
      scf.yield %16, %18 : i1, tensor<3x3xi64>
    }
    %19 = relay.let %10 : (tensor<3x3xi64>) -> tensor<3x3xi64>
    %20 = relay.reshape %0 {newshape = array<i64: 9>, allowzero = true} : (tensor<3x3xi64>) -> tensor<9xi64>
    %21 = relay.let %20 : (tensor<9xi64>) -> tensor<9xi64>
    %22 = relay.negative %0 : (tensor<3x3xi64>) -> tensor<3x3xi64>
    %23 = relay.constant dense<7> : tensor<i64>
    %24 = relay.let %23 : (tensor<i64>) -> tensor<i64>
    %25 = relay.add %1, %24 : (tensor<1x3xi64>, tensor<i64>) -> tensor<1x3xi64>
    %26 = relay.let %25 : (tensor<1x3xi64>) -> tensor<1x3xi64>
    %27 = relay.add %0, %26 : (tensor<3x3xi64>, tensor<1x3xi64>) -> tensor<3x3xi64>
    func.return %19, %21 : tensor<3x3xi64>, tensor<9xi64>
  }
}
