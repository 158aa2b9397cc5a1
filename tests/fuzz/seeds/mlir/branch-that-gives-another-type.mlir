// pass: to-cps
func.func @branches(%p: i1, %x: tensor<2xf32>, %y: tensor<2xi32>) {
  %0 = scf.if %p -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    scf.yield %y : tensor<2xi32>
  }
  func.return
}
