// passes: infer-type{},simplify-expr{rules="cpu"}
builtin.module {
  func.func @main(%x: tensor<2x3xf32>, %n: tensor<i64>) -> tensor<2x3xf32> {
    %from = arith.constant 0 : index
    %step = arith.constant 1 : index
    %count = tensor.extract %n[] : tensor<i64>
    %to = arith.index_cast %count : i64 to index
    %y = scf.for %i = %from to %to step %step iter_args(%a = %x) -> (tensor<2x3xf32>) {
      %zero = relay.constant dense<0.0> : tensor<f32>
      %b = relay.add %a, %zero : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
      scf.yield %b : tensor<2x3xf32>
    }
    func.return %y : tensor<2x3xf32>
  }
}
