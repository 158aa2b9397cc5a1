// RUN: xdsl-opt -p 'fuse-composites{target=x86-64-v4 threads=2}' %s | filecheck %s
// RUN: xdsl-opt -p 'fuse-composites{target=x86-64-v4 threads=2},fuse-composites{target=x86-64-v4 threads=2}' %s | filecheck %s
// RUN: xdsl-opt -p 'fuse-composites{target=x86-64-v4},convert-relay-to-kernels{target=x86-64-v4 function=heads}' %s | filecheck %s --check-prefix=KERNEL

// One kernel, to which equal arguments are given once.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT: [[F:%.*]] = relay.fused %q, %k : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
// CHECK-NEXT: ^{{.*}}([[P:%.*]]: tensor<64x128xf32>, [[Q:%.*]]: tensor<64x128xf32>):
// CHECK-NEXT: [[C:%.*]] = relay.composite "attention" [[P]], [[Q]], [[Q]]
// CHECK: relay.yield
// CHECK-NEXT: }
// CHECK-NEXT: relay.yield [[C]]
// CHECK: func.return [[F]]
// KERNEL: func.func private @fused_attention
// KERNEL-NOT: func.func private
// KERNEL: func.func @heads
func.func @heads(%q: tensor<64x128xf32>, %k: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = relay.composite "attention" %q, %k, %k : (tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32> {
  ^bb0(%a: tensor<64x128xf32>, %b: tensor<64x128xf32>, %c: tensor<64x128xf32>):
    %1 = relay.reshape %a {newshape = array<i64: 64, 2, 64>} : (tensor<64x128xf32>) -> tensor<64x2x64xf32>
    %2 = relay.transpose %1 {axes = array<i64: 1, 0, 2>} : (tensor<64x2x64xf32>) -> tensor<2x64x64xf32>
    %3 = relay.reshape %b {newshape = array<i64: 64, 2, 64>} : (tensor<64x128xf32>) -> tensor<64x2x64xf32>
    %4 = relay.transpose %3 {axes = array<i64: 1, 0, 2>} : (tensor<64x2x64xf32>) -> tensor<2x64x64xf32>
    %5 = relay.nn.batch_matmul %2, %4 {transpose_b = true} : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
    %6 = relay.nn.softmax %5 : (tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
    %7 = relay.reshape %c {newshape = array<i64: 64, 2, 64>} : (tensor<64x128xf32>) -> tensor<64x2x64xf32>
    %8 = relay.transpose %7 {axes = array<i64: 1, 0, 2>} : (tensor<64x2x64xf32>) -> tensor<2x64x64xf32>
    %9 = relay.nn.batch_matmul %6, %8 : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
    %10 = relay.transpose %9 {axes = array<i64: 1, 0, 2>} : (tensor<2x64x64xf32>) -> tensor<64x2x64xf32>
    %11 = relay.reshape %10 {newshape = array<i64: 64, 128>} : (tensor<64x2x64xf32>) -> tensor<64x128xf32>
    relay.yield %11 : tensor<64x128xf32>
  }
  return %0 : tensor<64x128xf32>
}

// One query for each head, and keys that lie as the products read them: nothing is saved.
// CHECK-LABEL: func.func @inline_one_query
// CHECK-NOT: relay.composite
// CHECK: relay.nn.batch_matmul %q, %k
// CHECK: func.return
func.func @inline_one_query(%q: tensor<12x1x64xf32>, %k: tensor<12x64x512xf32>, %v: tensor<12x512x64xf32>) -> tensor<12x1x64xf32> {
  %0 = relay.composite "attention" %q, %k, %v : (tensor<12x1x64xf32>, tensor<12x64x512xf32>, tensor<12x512x64xf32>) -> tensor<12x1x64xf32> {
  ^bb0(%a: tensor<12x1x64xf32>, %b: tensor<12x64x512xf32>, %c: tensor<12x512x64xf32>):
    %1 = relay.nn.batch_matmul %a, %b : (tensor<12x1x64xf32>, tensor<12x64x512xf32>) -> tensor<12x1x512xf32>
    %2 = relay.nn.softmax %1 : (tensor<12x1x512xf32>) -> tensor<12x1x512xf32>
    %3 = relay.nn.batch_matmul %2, %c : (tensor<12x1x512xf32>, tensor<12x512x64xf32>) -> tensor<12x1x64xf32>
    relay.yield %3 : tensor<12x1x64xf32>
  }
  return %0 : tensor<12x1x64xf32>
}

// Elements of two bytes have no kernel.
// CHECK-LABEL: func.func @inline_half
// CHECK-NEXT: [[S:%.*]] = relay.nn.matmul %q, %k
// CHECK-NEXT: [[W:%.*]] = relay.nn.softmax [[S]]
// CHECK-NEXT: [[R:%.*]] = relay.nn.matmul [[W]], %v
// CHECK-NEXT: func.return [[R]]
func.func @inline_half(%q: tensor<8x8xf16>, %k: tensor<8x8xf16>, %v: tensor<8x8xf16>) -> tensor<8x8xf16> {
  %0 = relay.composite "attention" %q, %k, %v : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16> {
  ^bb0(%a: tensor<8x8xf16>, %b: tensor<8x8xf16>, %c: tensor<8x8xf16>):
    %1 = relay.nn.matmul %a, %b : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
    %2 = relay.nn.softmax %1 : (tensor<8x8xf16>) -> tensor<8x8xf16>
    %3 = relay.nn.matmul %2, %c : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
    relay.yield %3 : tensor<8x8xf16>
  }
  return %0 : tensor<8x8xf16>
}

// Called attention by somebody, but none.
// CHECK-LABEL: func.func @inline_something_else
// CHECK-NEXT: [[E:%.*]] = relay.exp %x
// CHECK-NEXT: func.return [[E]]
func.func @inline_something_else(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relay.composite "attention" %x : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = relay.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    relay.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @keep_unknown_name
// CHECK-NEXT: relay.composite "dnnl.exp" %x
func.func @keep_unknown_name(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relay.composite "dnnl.exp" %x : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = relay.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    relay.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK-NEXT: relay.composite "attention" %x
func.func @keep_function_of_a_compiler(%x: tensor<8xf32>) -> tensor<8xf32> attributes {Compiler = "dnnl"} {
  %0 = relay.composite "attention" %x : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = relay.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    relay.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
