// pass: partial-eval
func.func @one_branch(%x: tensor<f32>, %c: i1) -> tensor<f32> {
  %0 = scf.if %c -> (tensor<f32>) {
    scf.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
