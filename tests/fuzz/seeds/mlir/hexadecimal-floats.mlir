func.func @main() -> tensor<2xf32> {
  %c = relay.constant dense<[1234567.0, 0x7F800000]> : tensor<2xf32>
  func.return %c : tensor<2xf32>
}
