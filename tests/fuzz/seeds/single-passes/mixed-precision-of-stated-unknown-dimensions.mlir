// passes: to-mixed-precision{mixed-precision-type="float64" missing-op-mode=2 keep-orig-output-dtype=true}
builtin.module {
  func.func @main(%0: tensor<3x4xf16>) -> tensor<?x?xi8> {
    %1 = relay.cast %0 {dtype = i8} : (tensor<3x4xf16>) -> tensor<?x?xi8>
    func.return %1 : tensor<?x?xi8>
  }
}
