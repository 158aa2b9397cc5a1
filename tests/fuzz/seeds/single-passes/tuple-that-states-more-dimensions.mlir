// passes: cpu-pipeline{}
builtin.module {
  func.func @main(%0: tensor<2x2xbf16>) -> (tensor<?x1x?xbf16>, tensor<2x2x2xbf16>) {
    %1 = relay.constant dense<2.500000e-01> : tensor<2xbf16>
    %2 = relay.greater %0, %1 : (tensor<2x2xbf16>, tensor<2xbf16>) -> tensor<2x2xi1>
    %3 = relay.constant dense<[[9.804690e-01], [8.125000e-01]]> : tensor<2x1xbf16>
    %4 = relay.where %2, %0, %3 : (tensor<2x2xi1>, tensor<2x2xbf16>, tensor<2x1xbf16>) -> tensor<2x2xbf16>
    %5 = relay.tuple %4, %4 : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tuple<tensor<2x2xbf16>, tensor<2x2xbf16>>
    %6 = relay.stack %5 : (tuple<tensor<2x2xbf16>, tensor<2x2xbf16>>) -> tensor<2x?x?xbf16>
    %7 = relay.ref_create %4 : (tensor<2x2xbf16>) -> !relay.ref<tensor<2x2xbf16>>
    %8 = relay.ref_read %7 : (!relay.ref<tensor<2x2xbf16>>) -> tensor<2x2xbf16>
    %9 = relay.tuple %4, %6 : (tensor<2x2xbf16>, tensor<2x?x?xbf16>) -> tuple<tensor<2x2xbf16>, tensor<2x2x2xbf16>>
    %10 = relay.tuple_get_item %9[1] : (tuple<tensor<2x2xbf16>, tensor<2x2x2xbf16>>) -> tensor<2x2x2xbf16>
    %11 = relay.constant dense<[[[1.750000e+00, 1.703120e+00], [8.242190e-01, 8.398440e-01]], [[1.656250e+00, 8.710940e-01], [9.921880e-01, 9.609380e-01]]]> : tensor<2x2x2xbf16>
    %12 = relay.constant dense<0xff80> : tensor<bf16>
    %13 = relay.add %11, %12 : (tensor<2x2x2xbf16>, tensor<bf16>) -> tensor<2x2x2xbf16>
    %14 = relay.add %6, %13 : (tensor<2x?x?xbf16>, tensor<2x2x2xbf16>) -> tensor<2x2x2xbf16>
    %15 = relay.constant dense<[[0.000000e+00, -7.500000e-01], [5.000000e-01, 5.000000e-01]]> : tensor<2x2xbf16>
    %16 = relay.multiply %8, %15 : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
    %17 = relay.argmax %14 {keepdims = true} : (tensor<2x2x2xbf16>) -> tensor<?x?x?xi32>
    %18 = relay.cast %17 {dtype = bf16} : (tensor<?x?x?xi32>) -> tensor<?x1x?xbf16>
    func.return %18, %10 : tensor<?x1x?xbf16>, tensor<2x2x2xbf16>
  }
}
