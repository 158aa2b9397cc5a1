// RUN: xdsl-opt --split-input-file -p fuse-ops,convert-relay-to-kernels{target=x86-64-v4} %s | filecheck %s

// What the fast implementations have in common: weights in the order in which they are read,
// images with zeros around them in memory, and register tiles that live through the whole depth.

// A blocked convolution. The kernel before it writes the zeros that the windows reach: one row and
// one column of vectors, before the first element, which is 10 vectors into the buffer.
func.func @main(%x: tensor<1x2x8x8x16xf32>) -> tensor<1x2x4x4x16xf32> {
  %w = relay.constant dense<0.5> : tensor<32x20x3x3xf32>
  %b = relay.constant dense<0.25> : tensor<1x2x1x1x16xf32>
  %0 = relay.negative %x : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32>
  %1 = relay.nn.conv2d %0, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, data_layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>, tensor<32x20x3x3xf32>) -> tensor<1x2x4x4x16xf32>
  %2 = relay.add %1, %b : (tensor<1x2x4x4x16xf32>, tensor<1x2x1x1x16xf32>) -> tensor<1x2x4x4x16xf32>
  %3 = relay.nn.relu %2 : (tensor<1x2x4x4x16xf32>) -> tensor<1x2x4x4x16xf32>
  func.return %3 : tensor<1x2x4x4x16xf32>
}

// CHECK-LABEL: builtin.module attributes {{.*}}value = dense<5.000000e-01> : tensor<32x20x3x3xf32>, packing = "convolution_panels<32, 16, 1>"}, {offset = {{[0-9]+}} : i64, value = dense<2.500000e-01> : tensor<1x2x1x1x16xf32>}]}

// Zeros above the image and left of its first row; then between the rows; then the elements.
// CHECK-NEXT:    func.func private @fused_negative(%[[X:\w+]]: !llvm.ptr, %[[IMAGE:\w+]]: !llvm.ptr,
// CHECK:           %[[ZERO:\w+]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               %[[ORIGIN:\w+]] = llvm.getelementptr %[[IMAGE]][
// CHECK-NEXT:          %[[ABOVE:\w+]] = llvm.getelementptr %[[ORIGIN]][-160]
// CHECK-NEXT:          llvm.store %[[ZERO]], %[[ABOVE]]
// CHECK:             scf.for
// CHECK:               %[[ROW:\w+]] = llvm.getelementptr %[[IMAGE]][
// CHECK-NEXT:          %[[BESIDE:\w+]] = llvm.getelementptr %[[ROW]][128]
// CHECK-NEXT:          llvm.store %[[ZERO]], %[[BESIDE]]
// CHECK:           %[[NEGATIVE:\w+]] = arith.negf
// CHECK:           llvm.store %[[NEGATIVE]]
// CHECK:           func.return

// A tile of 8 positions and 2 vectors: its 16 registers live through the rows and columns of the
// window and the whole block of channels, then through the 4 channels of the last block.
// CHECK:         func.func private @fused_nn_conv2d_add_nn_relu(
// CHECK-NOT:       llvm.store
// CHECK:           scf.for
// CHECK-NOT:         llvm.store
// CHECK:             {{^ +}}[[REGISTERS:(%\w+, ){15}%\w+]] = scf.for
// CHECK-NOT:           llvm.store
// CHECK:               {{^ +}}[[ROWS:(%\w+, ){15}%\w+]] = scf.for
// CHECK-NOT:             llvm.store
// CHECK:                 {{^ +}}[[CHANNELS:(%\w+, ){15}%\w+]] = scf.for
// CHECK:                   %[[WEIGHTS:\w+]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK:                   %[[OTHERS:\w+]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK-NEXT:              %[[ELEMENT:\w+]] = llvm.load {{.*}} -> f32
// CHECK-NEXT:              %[[FACTOR:\w+]] = vector.broadcast %[[ELEMENT]] : f32 to vector<16xf32>
// CHECK-NEXT:              math.fma %[[WEIGHTS]], %[[FACTOR]], {{.*}} : vector<16xf32>
// CHECK-NEXT:              math.fma %[[OTHERS]], %[[FACTOR]], {{.*}} : vector<16xf32>
// CHECK-NOT:               llvm.store
// CHECK:             {{^ +}}[[REST:(%\w+, ){15}%\w+]] = scf.for
// CHECK-NOT:           llvm.store
// CHECK:               {{^ +}}[[LAST:(%\w+, ){15}%\w+]] = scf.for
// CHECK-NOT:             llvm.store
// CHECK-NOT:             scf.for

// The epilogue runs on the registers: every result is stored once.
// CHECK:             %[[SUM:\w+]] = arith.addf {{.*}} : vector<16xf32>
// CHECK-NEXT:        %[[RELU:\w+]] = arith.maximumf %[[SUM]], {{.*}} : vector<16xf32>
// CHECK:             llvm.store %[[RELU]]
// CHECK:           func.return

// CHECK:         func.func @main(
// CHECK:           %[[BEFORE:\w+]] = llvm.mlir.constant(640) : i64
// CHECK-NEXT:      %[[BUFFER:\w+]] = llvm.getelementptr %workspace[%[[BEFORE]]]
// CHECK:           func.call @fused_negative(%{{\w+}}, %[[BUFFER]],
// CHECK:           func.call @fused_nn_conv2d_add_nn_relu(%[[BUFFER]],

// -----

// Winograd's algorithm: transforms of all tiles and channels, the products of 36 components, and
// transforms back, with scratch memory between.
func.func @main(%x: tensor<1x4x28x28x16xf32>) -> tensor<1x4x28x28x16xf32> {
  %w = relay.constant dense<0.5> : tensor<64x64x3x3xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, data_layout = "NCHW16c"} : (tensor<1x4x28x28x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x4x28x28x16xf32>
  %1 = relay.nn.relu %0 : (tensor<1x4x28x28x16xf32>) -> tensor<1x4x28x28x16xf32>
  func.return %1 : tensor<1x4x28x28x16xf32>
}

// CHECK-LABEL: builtin.module attributes {{.*}}value = dense<5.000000e-01> : tensor<64x64x3x3xf32>, packing = "winograd_panels<4, {{[0-9]+}}>"}]}
// CHECK-NEXT:    func.func private @fused_nn_conv2d_nn_relu(

// The image is copied with zeros around it, for it has none as an input.
// CHECK:           llvm.store %{{\w+}}, {{.*}} : vector<16xf32>

// Tiles into components: 4 is a coefficient of the data's matrix.
// CHECK:           math.fma
// CHECK-NOT:       iter_args
// CHECK:           llvm.store

// Products of the components: register tiles over the blocks of channels.
// CHECK:           iter_args(
// CHECK:             iter_args(
// CHECK:               vector.broadcast {{.*}} : f32 to vector<16xf32>
// CHECK-NEXT:          math.fma
// CHECK:           llvm.store

// Back to 4 x 4 results, which go through the rest of the group.
// CHECK-NOT:       iter_args
// CHECK:           %[[RELU:\w+]] = arith.maximumf {{.*}} : vector<16xf32>
// CHECK:           llvm.store %[[RELU]]
// CHECK:           func.return

// -----

// Depthwise convolution: the vectors of a row of the image, each loaded once, times the vectors of
// the filter, whose 9 channels are padded to a block of 16.
func.func @main(%x: tensor<1x1x8x8x16xf32>) -> tensor<1x1x8x8x16xf32> {
  %w = relay.constant dense<0.5> : tensor<9x1x3x3xf32>
  %0 = relay.nn.conv2d %x, %w {groups = 9, padding = array<i64: 1, 1>, data_layout = "NCHW16c"} : (tensor<1x1x8x8x16xf32>, tensor<9x1x3x3xf32>) -> tensor<1x1x8x8x16xf32>
  func.return %0 : tensor<1x1x8x8x16xf32>
}

// CHECK-LABEL: builtin.module attributes {xrelay.workspace_bytes = 6400 : i64, xrelay.constant_bytes = 576 : i64, {{.*}}packing = "depthwise_blocks<16>"}]}
// CHECK-NEXT:    func.func private @fused_nn_conv2d(
// CHECK:           {{^ +}}[[TOTALS:(%\w+, ){7}%\w+]] = scf.for
// CHECK:             %[[FIRST:\w+]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT:         vector.broadcast
// CHECK:             math.fma %{{\w+}}, %[[FIRST]], {{.*}} : vector<16xf32>
// CHECK-NOT:         vector.broadcast
// CHECK:             scf.yield
// CHECK:           func.return

// -----

// A product whose rows are two pages apart: the kernel before it leaves a gap of a line after each,
// 2064 elements from one row to the next. 36 columns are two vectors and a quarter: 48 are packed.
func.func @main(%x: tensor<8x2048xf32>) -> tensor<8x36xf32> {
  %w = relay.constant dense<0.5> : tensor<36x2048xf32>
  %0 = relay.negative %x : (tensor<8x2048xf32>) -> tensor<8x2048xf32>
  %1 = relay.nn.dense %0, %w : (tensor<8x2048xf32>, tensor<36x2048xf32>) -> tensor<8x36xf32>
  func.return %1 : tensor<8x36xf32>
}

// CHECK-LABEL: builtin.module attributes {{.*}}xrelay.constant_bytes = 393216 : i64, {{.*}}packing = "matrix_panels<48, False>"}]}
// CHECK-NEXT:    func.func private @fused_negative(
// CHECK:           arith.constant 2064 : i64
// CHECK:         func.func private @fused_nn_dense(
// CHECK:           llvm.getelementptr %{{\w+}}[2064]
// CHECK:           llvm.store {{.*}} : vector<16xf32>
// CHECK:           llvm.store {{.*}} : vector<4xf32>
// CHECK:           func.return

// -----

// A transpose: a vector from each of 16 rows, transposed in registers in 4 steps, and the rest of the
// group on the vectors of the result.
func.func @main(%x: tensor<64x32xf32>) -> tensor<32x64xf32> {
  %0 = relay.transpose %x : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %1 = relay.negative %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  func.return %1 : tensor<32x64xf32>
}

// CHECK-LABEL: func.func private @fused_transpose_negative(
// CHECK-COUNT-16:  llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT:       llvm.load
// CHECK-COUNT-64:  llvm.shufflevector {{.*}} : vector<16xf32>
// CHECK-COUNT-16:  llvm.store {{.*}} : vector<16xf32>
// CHECK:           func.return

// -----

// Three vectors interleaved to three whose elements lie one after the other.
func.func @main(%x: tensor<3x32xf32>) -> tensor<32x3xf32> {
  %0 = relay.transpose %x : (tensor<3x32xf32>) -> tensor<32x3xf32>
  func.return %0 : tensor<32x3xf32>
}

// CHECK-LABEL: func.func private @fused_transpose(
// CHECK-COUNT-3:   llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT:       llvm.load
// CHECK-COUNT-6:   llvm.shufflevector {{.*}} : vector<16xf32>
// CHECK-COUNT-3:   llvm.store {{.*}} : vector<16xf32>
// CHECK:           func.return
