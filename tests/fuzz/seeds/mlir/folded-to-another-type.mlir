// pass: fold-constant
func.func @e() -> tensor<?xf32> {
  %0 = relay.constant dense<0> : tensor<f32>
  %1 = relay.constant dense<2> : tensor<f32>
  %2 = relay.constant dense<7> : tensor<f32>
  %3 = relay.arange %0, %1, %2 {dtype = f32} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}
