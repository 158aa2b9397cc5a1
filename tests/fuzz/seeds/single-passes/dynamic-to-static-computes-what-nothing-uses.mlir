// passes: dynamic-to-static{}
builtin.module {
  func.func @main(%n: tensor<2xi64>, %x: tensor<i32>) -> tensor<?x?xi32> {
    %0 = relay.constant dense<-2> : tensor<i32>
    %1 = relay.constant dense<2> : tensor<i32>
    %2 = relay.add %0, %1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = relay.clip %n {a_min = 1.000000e+00 : f64, a_max = 3.000000e+00 : f64} : (tensor<2xi64>) -> tensor<2xi64>
    %4 = relay.dyn.broadcast_to %x, %3 : (tensor<i32>, tensor<2xi64>) -> tensor<?x?xi32>
    func.return %4 : tensor<?x?xi32>
  }
}
