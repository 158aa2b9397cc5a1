// RUN: xdsl-opt -p 'annotate-target{targets=t operators="t:sigmoid","t:erf","t:add"},merge-compiler-regions' %s | filecheck %s --check-prefix=MERGED
// RUN: xdsl-opt -p 'annotate-target{targets=t operators="t:sigmoid","t:erf","t:add"},merge-compiler-regions{speculate=false}' %s | filecheck %s --check-prefix=SAFE
// RUN: xdsl-opt -p 'annotate-target{targets=t operators="t:sigmoid","t:erf","t:add"},merge-compiler-regions,partition-graph' %s | filecheck %s --check-prefix=PARTITIONED

// O1 = %add0 must not merge into O2 = %out: the condition, which is for nobody, lies between them. The
// sigmoid of one branch has all inputs outside of the branch and is computed with %add0.
func.func @main(%data: tensor<1x32xf32>) -> tensor<1x32xf32> {
  %add0 = relay.add %data, %data : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %sub0 = relay.subtract %add0, %data : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %sum0 = relay.sum %add0 : (tensor<1x32xf32>) -> tensor<f32>
  %sum1 = relay.sum %sub0 : (tensor<1x32xf32>) -> tensor<f32>
  %eq = relay.equal %sum0, %sum1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %cond = tensor.extract %eq[] : tensor<i1>
  %if = scf.if %cond -> (tensor<1x32xf32>) {
    %then = relay.sigmoid %add0 : (tensor<1x32xf32>) -> tensor<1x32xf32>
    scf.yield %then : tensor<1x32xf32>
  } else {
    %else = relay.sigmoid %sub0 : (tensor<1x32xf32>) -> tensor<1x32xf32>
    scf.yield %else : tensor<1x32xf32>
  }
  %erf = relay.erf %if : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %out = relay.add %add0, %erf : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  func.return %out : tensor<1x32xf32>
}

// MERGED:      builtin.module {
// MERGED-NEXT:   func.func @main(%data: tensor<1x32xf32>) -> tensor<1x32xf32> {
// MERGED-NEXT:     %data_1 = relay.annotation.compiler_begin %data compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %data_2 = relay.annotation.compiler_begin %data compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %add0 = relay.add %data_1, %data_2 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %add0_1 = relay.annotation.compiler_end %add0 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %add0_2 = relay.annotation.compiler_begin %add0_1 compiler "default" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %data_3 = relay.annotation.compiler_begin %data compiler "default" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %sub0 = relay.subtract %add0_2, %data_3 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %add0_3 = relay.annotation.compiler_end %add0 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %add0_4 = relay.annotation.compiler_begin %add0_3 compiler "default" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %sum0 = relay.sum %add0_4 : (tensor<1x32xf32>) -> tensor<f32>
// MERGED-NEXT:     %sum1 = relay.sum %sub0 : (tensor<1x32xf32>) -> tensor<f32>
// MERGED-NEXT:     %eq = relay.equal %sum0, %sum1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// MERGED-NEXT:     %eq_1 = relay.annotation.compiler_end %eq compiler "default" : (tensor<i1>) -> tensor<i1>
// MERGED-NEXT:     %cond = tensor.extract %eq_1[] : tensor<i1>
// MERGED-NEXT:     %if = scf.if %cond -> (tensor<1x32xf32>) {
// MERGED-NEXT:       %then = relay.sigmoid %add0 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:       %then_1 = relay.annotation.compiler_end %then compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:       scf.yield %then_1 : tensor<1x32xf32>
// MERGED-NEXT:     } else {
// MERGED-NEXT:       %sub0_1 = relay.annotation.compiler_end %sub0 compiler "default" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:       %sub0_2 = relay.annotation.compiler_begin %sub0_1 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:       %else = relay.sigmoid %sub0_2 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:       %else_1 = relay.annotation.compiler_end %else compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:       scf.yield %else_1 : tensor<1x32xf32>
// MERGED-NEXT:     }
// MERGED-NEXT:     %if_1 = relay.annotation.compiler_begin %if compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %erf = relay.erf %if_1 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %add0_5 = relay.annotation.compiler_end %add0 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %add0_6 = relay.annotation.compiler_begin %add0_5 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %out = relay.add %add0_6, %erf : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     %out_1 = relay.annotation.compiler_end %out compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// MERGED-NEXT:     func.return %out_1 : tensor<1x32xf32>
// MERGED-NEXT:   }
// MERGED-NEXT: }

// SAFE:      builtin.module {
// SAFE-NEXT:   func.func @main(%data: tensor<1x32xf32>) -> tensor<1x32xf32> {
// SAFE-NEXT:     %data_1 = relay.annotation.compiler_begin %data compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %data_2 = relay.annotation.compiler_begin %data compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %add0 = relay.add %data_1, %data_2 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %add0_1 = relay.annotation.compiler_end %add0 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %add0_2 = relay.annotation.compiler_begin %add0_1 compiler "default" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %data_3 = relay.annotation.compiler_begin %data compiler "default" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %sub0 = relay.subtract %add0_2, %data_3 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %add0_3 = relay.annotation.compiler_end %add0 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %add0_4 = relay.annotation.compiler_begin %add0_3 compiler "default" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %sum0 = relay.sum %add0_4 : (tensor<1x32xf32>) -> tensor<f32>
// SAFE-NEXT:     %sum1 = relay.sum %sub0 : (tensor<1x32xf32>) -> tensor<f32>
// SAFE-NEXT:     %eq = relay.equal %sum0, %sum1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// SAFE-NEXT:     %eq_1 = relay.annotation.compiler_end %eq compiler "default" : (tensor<i1>) -> tensor<i1>
// SAFE-NEXT:     %cond = tensor.extract %eq_1[] : tensor<i1>
// SAFE-NEXT:     %if = scf.if %cond -> (tensor<1x32xf32>) {
// SAFE-NEXT:       %add0_5 = relay.annotation.compiler_end %add0 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:       %add0_6 = relay.annotation.compiler_begin %add0_5 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:       %then = relay.sigmoid %add0_6 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:       %then_1 = relay.annotation.compiler_end %then compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:       scf.yield %then_1 : tensor<1x32xf32>
// SAFE-NEXT:     } else {
// SAFE-NEXT:       %sub0_1 = relay.annotation.compiler_end %sub0 compiler "default" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:       %sub0_2 = relay.annotation.compiler_begin %sub0_1 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:       %else = relay.sigmoid %sub0_2 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:       %else_1 = relay.annotation.compiler_end %else compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:       scf.yield %else_1 : tensor<1x32xf32>
// SAFE-NEXT:     }
// SAFE-NEXT:     %if_1 = relay.annotation.compiler_begin %if compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %erf = relay.erf %if_1 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %add0_7 = relay.annotation.compiler_end %add0 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %add0_8 = relay.annotation.compiler_begin %add0_7 compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %out = relay.add %add0_8, %erf : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     %out_1 = relay.annotation.compiler_end %out compiler "t" : (tensor<1x32xf32>) -> tensor<1x32xf32>
// SAFE-NEXT:     func.return %out_1 : tensor<1x32xf32>
// SAFE-NEXT:   }
// SAFE-NEXT: }

// PARTITIONED:      builtin.module {
// PARTITIONED-NEXT:   func.func @main(%data: tensor<1x32xf32>) -> tensor<1x32xf32> {
// PARTITIONED-NEXT:     %0 = func.call @tvmgen_default_t_main_0(%data) : (tensor<1x32xf32>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>>
// PARTITIONED-NEXT:     %add0 = relay.tuple_get_item %0[0] : (tuple<tensor<1x32xf32>, tensor<1x32xf32>>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     %then = relay.tuple_get_item %0[1] : (tuple<tensor<1x32xf32>, tensor<1x32xf32>>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     %sum0 = relay.sum %add0 : (tensor<1x32xf32>) -> tensor<f32>
// PARTITIONED-NEXT:     %sub0 = relay.subtract %add0, %data : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     %sum1 = relay.sum %sub0 : (tensor<1x32xf32>) -> tensor<f32>
// PARTITIONED-NEXT:     %eq = relay.equal %sum0, %sum1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// PARTITIONED-NEXT:     %cond = tensor.extract %eq[] : tensor<i1>
// PARTITIONED-NEXT:     %if = scf.if %cond -> (tensor<1x32xf32>) {
// PARTITIONED-NEXT:       scf.yield %then : tensor<1x32xf32>
// PARTITIONED-NEXT:     } else {
// PARTITIONED-NEXT:       %else = func.call @tvmgen_default_t_main_3(%sub0) : (tensor<1x32xf32>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:       scf.yield %else : tensor<1x32xf32>
// PARTITIONED-NEXT:     }
// PARTITIONED-NEXT:     %out = func.call @tvmgen_default_t_main_2(%add0, %if) : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     func.return %out : tensor<1x32xf32>
// PARTITIONED-NEXT:   }
// PARTITIONED-NEXT:   func.func private @tvmgen_default_t_main_0(%t_0_i0: tensor<1x32xf32>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>> attributes {Compiler = "t", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_t_main_0"} {
// PARTITIONED-NEXT:     %add0 = relay.add %t_0_i0, %t_0_i0 : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     %then = relay.sigmoid %add0 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     %0 = relay.tuple %add0, %then : (tensor<1x32xf32>, tensor<1x32xf32>) -> tuple<tensor<1x32xf32>, tensor<1x32xf32>>
// PARTITIONED-NEXT:     func.return %0 : tuple<tensor<1x32xf32>, tensor<1x32xf32>>
// PARTITIONED-NEXT:   }
// PARTITIONED-NEXT:   func.func private @tvmgen_default_t_main_3(%t_3_i0: tensor<1x32xf32>) -> tensor<1x32xf32> attributes {Compiler = "t", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_t_main_3"} {
// PARTITIONED-NEXT:     %else = relay.sigmoid %t_3_i0 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     func.return %else : tensor<1x32xf32>
// PARTITIONED-NEXT:   }
// PARTITIONED-NEXT:   func.func private @tvmgen_default_t_main_2(%t_2_i0: tensor<1x32xf32>, %t_2_i1: tensor<1x32xf32>) -> tensor<1x32xf32> attributes {Compiler = "t", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_t_main_2"} {
// PARTITIONED-NEXT:     %erf = relay.erf %t_2_i1 : (tensor<1x32xf32>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     %out = relay.add %t_2_i0, %erf : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
// PARTITIONED-NEXT:     func.return %out : tensor<1x32xf32>
// PARTITIONED-NEXT:   }
// PARTITIONED-NEXT: }
