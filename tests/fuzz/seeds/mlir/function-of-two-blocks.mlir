// pass: annotate-used-memory
func.func@main(%x:tensor<2xf32>)->tensor<2xf32>{"cf.br"()[^bb1]:()->()^bb1:}