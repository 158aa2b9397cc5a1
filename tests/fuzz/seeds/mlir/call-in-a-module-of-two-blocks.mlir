builtin.module {
  func.func @f(%x: tensor<f32>) -> tensor<f32> {
    %0 = func.call @g(%x) : (tensor<f32>) -> tensor<f32>
    func.return %0 : tensor<f32>
  }
^bb1(%y: tensor<f32>):
  func.func @g(%z: tensor<f32>) -> tensor<f32> {
    func.return %z : tensor<f32>
  }
}
