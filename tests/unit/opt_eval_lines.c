/* opt_eval_lines.c - operators of the evaluator along axes: order, running sums, softmax, matrices;
 * and the odd cases of reductions. */
#include "support/evals.h"

TEST(places_of_extremes)
{
    gives(13, "float[2,3] x = {1, 5, 5, -2, -0.0, 0}", "y = ArgMax <axis = 1, keepdims = 0> (x)",
          "int64[2] y = {1, 1}");
    gives(13, "float[2,3] x = {1, 5, 5, -2, -0.0, 0}",
          "y = ArgMax <axis = -1, select_last_index = 1> (x)", "int64[2,1] y = {2, 2}");
    gives(13, "int8[2,2] x = {-128, 127, 0, -1}", "y = ArgMin(x)", "int64[1,2] y = {0, 1}");
    gives(13, "uint64[2] x = {18446744073709551615, 1}", "y = ArgMax(x)", "int64[1] y = {0}");
    gives(13, "float16[3] x = {1.0, 3.0, 2.0}", "y = ArgMax(x)", "int64[1] y = {1}");
    gives(11, "float[2] x = {5, 5}", "y = ArgMax <select_last_index = 1> (x)",
          "int64[1] y = {0}"); /* opset 12 */
    refuses(13, "float[0,2] x = {}", "y = ArgMax(x)", "without elements");
    refuses(13, "float[2] x = {1, nan}", "y = ArgMax(x)", "NaN has no place");
    refuses(13, "float x = {1}", "y = ArgMax(x)", "axis 0 of a tensor of rank 0");
    refuses(13, "bool[2] x = {1, 0}", "y = ArgMax(x)", "type bool");
}

TEST(the_k_largest_or_smallest)
{
    gives(11, "float[5] x = {1, 7, -3, 7, 0}, int64[1] k = {3}", "y, i = TopK(x, k)",
          "float[3] y = {7, 7, 1}, int64[3] i = {1, 3, 0}");
    gives(11, "int32[2,3] x = {3, 1, 2, 6, 5, 4}, int64[1] k = {2}",
          "y, i = TopK <largest = 0> (x, k)",
          "int32[2,2] y = {1, 2, 4, 5}, int64[2,2] i = {1, 2, 2, 1}");
    gives(7, "float[3] x = {1, 7, -3}", "y, i = TopK <k = 1> (x)",
          "float[1] y = {7}, int64[1] i = {1}");
    gives(11, "bfloat16[3] x = {1.0, 7.0, -3.0}, int64[1] k = {1}", "y, i = TopK(x, k)",
          "bfloat16[1] y = {7.0}, int64[1] i = {1}");
    gives(11, "float[3] x = {1, 7, -3}, int64[1] k = {0}", "y, i = TopK(x, k)",
          "float[0] y = {}, int64[0] i = {}");
    gives(11, "float[3] x = {1, 7, -3}, int64[1] k = {1}", "\"\", i = TopK(x, k)",
          "int64[1] i = {1}");
    gives(11, "float[0,1099511627776] x = {}, int64[1] k = {1}", "y, i = TopK(x, k)",
          "float[0,1] y = {}, int64[0,1] i = {}");
    refuses(11, "float[3] x = {1, 7, -3}, int64[1] k = {4}", "y, i = TopK(x, k)",
            "k is not a number from 0 to 3");
    refuses(11, "float[3] x = {1, 7, -3}, int64[2] k = {1, 1}", "y, i = TopK(x, k)",
            "k is not a number");
    refuses(11, "float[3] x = {1, 7, -3}, int64[1] k = {1}", "y = TopK(x, k)",
            "1 outputs, expected 2");
    refuses(11, "float[3] x = {1, 7, -3}, int64[1] k = {1}", "y, i = TopK <sorted = 0> (x, k)",
            "left open");
    refuses(11, "float[3] x = {1, nan, -3}, int64[1] k = {1}", "y, i = TopK(x, k)",
            "NaN has no place");
}

TEST(running_sums)
{
    gives(11, "int64[2,3] x = {1, 2, 3, 4, 5, 6}, int64 a = {1}", "y = CumSum(x, a)",
          "int64[2,3] y = {1, 3, 6, 4, 9, 15}");
    gives(11, "float[3] x = {1, 2, 3}, int32[1] a = {-1}", "y = CumSum <exclusive = 1> (x, a)",
          "float[3] y = {0, 1, 3}");
    gives(11, "float[3] x = {1, 2, 3}, int64 a = {0}", "y = CumSum <reverse = 1> (x, a)",
          "float[3] y = {6, 5, 3}");
    gives(11, "int32[2] x = {2147483647, 1}, int64 a = {0}", "y = CumSum(x, a)",
          "int32[2] y = {2147483647, -2147483648}");
    gives(11, "float[0] x = {}, int64 a = {0}", "y = CumSum(x, a)", "float[0] y = {}");
    refuses(11, "float[1] x = {1}, int64[2] a = {0, 0}", "y = CumSum(x, a)", "not a single axis");
    refuses(11, "float[1] x = {1}, int64 a = {1}", "y = CumSum(x, a)", "axis 1");
    refuses(11, "uint8[1] x = {1}, int64 a = {0}", "y = CumSum(x, a)", "type uint8");
    refuses(11, "float[2] x = {inf, -inf}, int64 a = {0}", "y = CumSum(x, a)",
            "the result has NaN");
}

TEST(softmax_of_lines)
{
    gives(13, "float[2,2] x = {0, 0, 1000, 1000}", "y = Softmax(x)",
          "float[2,2] y = {0.5, 0.5, 0.5, 0.5}");
    gives(11, "float[2,2,1] x = {0, 0, 1, 1}", "y = Softmax(x)",
          "float[2,2,1] y = {0.5, 0.5, 0.5, 0.5}");
    gives(13, "double[2] x = {0, -inf}", "y = Softmax(x)", "double[2] y = {1, 0}");
    gives(13, "float16[2] x = {1.0, 1.0}", "y = Softmax(x)", "float16[2] y = {0.5, 0.5}");
    gives(13, "float[1] x = {3}", "y = LogSoftmax(x)", "float[1] y = {0}");
    gives(13, "float[0,2] x = {}", "y = Softmax(x)", "float[0,2] y = {}");
    refuses(13, "int64[1] x = {3}", "y = Softmax(x)", "type int64");
    refuses(13, "float[2] x = {-inf, -inf}", "y = Softmax(x)", "the result has NaN");
}

TEST(products_of_matrices)
{
    gives(13, "float[2,2] a = {1, 2, 3, 4}, float[2,1] b = {10, 1}", "y = MatMul(a, b)",
          "float[2,1] y = {12, 34}");
    gives(13, "float[2] a = {1, 2}, float[2] b = {10, 1}", "y = MatMul(a, b)", "float y = {12}");
    gives(13, "int32[2,1,2] a = {1, 2, 3, 4}, int32[2] b = {10, 1}", "y = MatMul(a, b)",
          "int32[2,1] y = {12, 34}");
    gives(13, "int64[1,1] a = {4611686018427387904}, int64[1,1] b = {4}", "y = MatMul(a, b)",
          "int64[1,1] y = {0}");
    gives(13, "float[2,0] a = {}, float[0,2] b = {}", "y = MatMul(a, b)",
          "float[2,2] y = {0, 0, 0, 0}");
    gives(13, "float[0,2] a = {}, float[2,2] b = {1, 2, 3, 4}", "y = MatMul(a, b)",
          "float[0,2] y = {}");
    gives(13, "float16[1,2] a = {2048.0, 1.0}, float16[2,1] b = {1.0, 1.0}", "y = MatMul(a, b)",
          "float16[1,1] y = {2048.0}");
    refuses(13, "float[2,2] a = {1, 2, 3, 4}, float[1,2] b = {1, 2}", "y = MatMul(a, b)",
            "2 columns times 1 rows");
    refuses(13, "float a = {1}, float[1] b = {1}", "y = MatMul(a, b)", "a scalar");
    refuses(13, "int8[1] a = {1}, int8[1] b = {1}", "y = MatMul(a, b)", "type int8");
    refuses(13, "float[1] a = {1}, double[1] b = {1}", "y = MatMul(a, b)",
            "types float and double");
    refuses(13, "float[2,1,1] a = {1, 2}, float[3,1,1] b = {1, 2, 3}", "y = MatMul(a, b)",
            "do not broadcast");
    gives(13, "float[2,1] a = {1, 2}, float[2,1] b = {3, 4}, float c = {10}",
          "y = Gemm <transB = 1, beta = 0.5> (a, b, c)", "float[2,2] y = {8, 9, 11, 13}");
    gives(13, "double[1,2] a = {1, 2}, double[1,2] b = {3, 4}, double[2,1] c = {10, 20}",
          "y = Gemm <transA = 1, alpha = 2.0> (a, b, c)", "double[2,2] y = {16, 18, 32, 36}");
    gives(13, "float[1,0] a = {}, float[0,1] b = {}, float[1] c = {7}", "y = Gemm(a, b, c)",
          "float[1,1] y = {7}");
    refuses(13, "float[2] a = {1, 2}, float[2,1] b = {3, 4}", "y = Gemm(a, b)",
            "expected matrices");
    refuses(13, "float[1,1] a = {1}, float[1,1] b = {3}, float[2] c = {1, 2}", "y = Gemm(a, b, c)",
            "does not broadcast");
    refuses(13, "int32[1,1] a = {1}, int32[1,1] b = {3}", "y = Gemm(a, b)", "type int32");
}

/* What is small to read may be far too much to keep, or to multiply. */
TEST(large_products_are_refused_before_they_are_computed)
{
    static const int64_t column[] = {600000, 1}, row[] = {1, 600000}, left[] = {600, 1000},
                         right[] = {1000, 600};
    static float numbers[600000];
    qdq_model *m =
        test_model("g (float[M,K] a, float[K,N] b) => (float[M,N] y) { y = MatMul(a, b) }");
    qdq_const a = {QDQ_FLOAT, 2, column, 600000, numbers, sizeof numbers}, out;
    qdq_const b = {QDQ_FLOAT, 2, row, 600000, numbers, sizeof numbers};
    const qdq_const *in[] = {&a, &b};
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    const char *why;

    assert_ok(qdq_eval_node(m->graph->end.next, 13, in, 1 << 30, &memory, &out, &why, &err));
    assert_string_equal(why, "a result of 1440000000000 bytes is above the limit of 1073741824");
    assert_null(out.data);
    assert_true(memory.total < 100000);
    a.dim = left;
    b.dim = right;
    assert_ok(qdq_eval_node(m->graph->end.next, 13, in, 1 << 30, &memory, &out, &why, &err));
    assert_string_equal(why, "more than 268435456 multiplications");
    a.dim = row;
    b.dim = column;
    assert_ok(qdq_eval_node(m->graph->end.next, 13, in, 4, &memory, &out, &why, &err));
    assert_null(why);
    qdq_arena_free(&memory);
    qdq_model_free(m);
}

TEST(reductions_of_every_kind)
{
    static const char x[] = "float[2,2] x = {3, -4, 0, 1}";

    gives(13, x, "y = ReduceL1 <axes = [1]> (x)", "float[2,1] y = {7, 1}");
    gives(13, x, "y = ReduceL2 <axes = [1]> (x)", "float[2,1] y = {5, 1}");
    gives(13, x, "y = ReduceSumSquare <axes = [1]> (x)", "float[2,1] y = {25, 1}");
    gives(13, "float[2] x = {0.5, 0.5}", "y = ReduceLogSum(x)", "float[1] y = {0}");
    gives(13, "int8[2] x = {-128, 1}", "y = ReduceL1(x)", "int8[1] y = {-127}"); /* 129 wraps */
    gives(13, "uint8[2] x = {255, 2}", "y = ReduceL1(x)", "uint8[1] y = {1}");
    gives(13, "int64[3] x = {-7, 0, 4}", "y = ReduceMean(x)", "int64[1] y = {-1}");
    gives(13, "uint64[2] x = {18446744073709551615, 3}", "y = ReduceMax(x)",
          "uint64[1] y = {18446744073709551615}");
    gives(13, "uint64[2] x = {18446744073709551615, 3}", "y = ReduceMin(x)", "uint64[1] y = {3}");
    gives(13, "int64[0] x = {}", "y = ReduceProd <keepdims = 0> (x)",
          "int64 y = {1}"); /* of a scalar's shape */
    gives(13, "float[2,0] x = {}", "y = ReduceProd <axes = [1]> (x)", "float[2,1] y = {1, 1}");
    gives(13, "float[2,0] x = {}", "y = ReduceMin <axes = [0]> (x)", "float[1,0] y = {}");
    gives(13, "float[0] x = {}", "y = ReduceLogSum(x)", "float[1] y = {-inf}");
    gives(13, "float[0] x = {}", "y = ReduceLogSumExp(x)", "float[1] y = {-inf}");
    /* of no elements: the bound of the type, as the standard says */
    gives(13, "int32[2,0] x = {}", "y = ReduceMin <axes = [1]> (x)",
          "int32[2,1] y = {2147483647, 2147483647}");
    gives(13, "int8[0] x = {}", "y = ReduceMax(x)", "int8[1] y = {-128}");
    gives(13, "int64[0] x = {}", "y = ReduceMax(x)", "int64[1] y = {-9223372036854775808}");
    gives(13, "uint64[0] x = {}", "y = ReduceMin(x)", "uint64[1] y = {18446744073709551615}");
    gives(13, "uint8[0] x = {}", "y = ReduceMax(x)", "uint8[1] y = {0}");
    gives(20, "bool[0] x = {}", "y = ReduceMax(x)", "bool[1] y = {0}");
    gives(20, "bool[0] x = {}", "y = ReduceMin(x)", "bool[1] y = {1}");
    gives(20, "float16[0] x = {}", "y = ReduceMax(x)", "float16[1] y = {-inf}");
    refuses(13, "int32[2,0] x = {}", "y = ReduceMean <axes = [1]> (x)", "without elements");
    refuses(13, "float[3] x = {1e30, 1e30, 0}", "y = ReduceProd(x)", "the result has NaN");
    refuses(13, "float[2] x = {1, 2}", "y = ReduceMax <keepdims = 2> (x)",
            "'keepdims' is neither 0 nor 1");
    /* sums in double: one after another in float, the small ones would be lost */
    gives(13, "float[4] x = {16777216, 1, 1, 1}", "y = ReduceSum(x)", "float[1] y = {16777220}");
    refuses(13, "int64[2] x = {3, 4}", "y = ReduceL2(x)", "type int64");
    refuses(13, "float[2,0] x = {}", "y = ReduceMean <axes = [1]> (x)", "without elements");
    refuses(18, "float[2] x = {1, 2}", "y = ReduceL1 <noop_with_empty_axes = 1> (x)",
            "axes are empty");
    refuses(18, "float[2] x = {1, 2}", "y = ReduceL1 <axes = [0]> (x)",
            "since opset 18 is an input");
}

/* Spellings that engines take are compared with theirs (eval_vs_ort.c). */
TEST(sums_of_products_over_named_dims)
{
    static const char *const wrong[][2] = {
        {"ij,jk->ik", "another number of inputs"},
        {"ijk->i", "does not fit the ranks"},
        {"i->i", "does not fit the ranks"},
        {"ii->i", "not equal"},
        {"ij->k", "that no input has"},
        {"ij->ii", "or one twice"},
        {"i1->i", "broken at '1'"},
        {"......->", "broken at '.'"},
        {"i.j->i", "broken at '.'"},
        {"", "does not fit the ranks"},
    };

    gives(12, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = Einsum <equation = \"ji\"> (x)",
          "float[3,2] y = {1, 4, 2, 5, 3, 6}");
    gives(12, "int32[2,2] x = {1, 2, 3, 4}", "y = Einsum <equation = \"ii\"> (x)", "int32 y = {5}");
    gives(12, "float x = {3}, float y = {2}", "z = Einsum <equation = \",->\"> (x, y)",
          "float z = {6}");
    gives(12, "float[2,0] x = {}", "y = Einsum <equation = \"ij->i\"> (x)", "float[2] y = {0, 0}");
    gives(12, "float16[2] x = {1.0, 2.0}, float16[2] b = {3.0, 4.0}",
          "y = Einsum <equation = \"i,i->\"> (x, b)", "float16 y = {11.0}");
    for (size_t i = 0; i < QDQ_COUNT(wrong); i++) {
        char node[80];

        snprintf(node, sizeof node, "y = Einsum <equation = \"%s\"> (x)", wrong[i][0]);
        refuses(12, "float[2,3] x = {1, 2, 3, 4, 5, 6}", node, wrong[i][1]);
    }
    refuses(12, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = Einsum(x)", "'equation' is not text");
    refuses(12, "int8[1] x = {1}", "y = Einsum <equation = \"i\"> (x)", "type int8");
    refuses(12, "float[1] x = {1}, double[1] b = {1}", "y = Einsum <equation = \"i,i\"> (x, b)",
            "inputs of the types");
}

#define X3 "float[1,1,3] x = {1, 2, 3}"

/* Numbers are compared with an engine's (eval_vs_ort.c). */
TEST(convolutions_that_do_not_fit_are_refused)
{
    gives(11, "double[1,1,3] x = {1, 2, 3}, double[1,1,2] w = {1, -1}, double[1] b = {0.5}",
          "y = Conv(x, w, b)", "double[1,1,2] y = {-0.5, -0.5}");
    refuses(11, X3 ", float[1,1,4] w = {1, 2, 3, 4}", "y = Conv(x, w)", "larger than the data");
    refuses(11, X3 ", float[1,2,1] w = {1, 2}", "y = Conv(x, w)", "channels that do not fit");
    refuses(11, X3 ", float[1,1,1] w = {1}", "y = Conv <group = 0> (x, w)",
            "channels that do not fit");
    refuses(11, X3 ", float[1,1,1] w = {1}, float[2] b = {1, 2}", "y = Conv(x, w, b)",
            "a bias that does not fit");
    refuses(11, X3 ", float[1,1] w = {1}", "y = Conv(x, w)", "ranks 3 and 2");
    refuses(11, "float[1,1] x = {1}, float[1,1] w = {1}", "y = Conv(x, w)", "ranks 2 and 2");
    refuses(11, X3 ", float[1,1,1] w = {1}", "y = Conv <strides = [0]> (x, w)", "'strides' has 0");
    refuses(11, X3 ", float[1,1,1] w = {1}", "y = Conv <pads = [1]> (x, w)",
            "1 numbers, expected 2");
    refuses(11, X3 ", float[1,1,1] w = {1}", "y = Conv <kernel_shape = [2]> (x, w)",
            "not the weight's");
    refuses(11, X3 ", float[1,1,1] w = {1}", "y = Conv <auto_pad = \"SAME\"> (x, w)",
            "none of its values");
    refuses(11, X3 ", double[1,1,1] w = {1}", "y = Conv(x, w)", "inputs of the types");
    refuses(11, "int32[1,1,1] x = {1}, int32[1,1,1] w = {1}", "y = Conv(x, w)", "type int32");
    refuses(11, "float[0,1,3] x = {}, float[1,1,1] w = {1}", "y = Conv(x, w)", "without elements");
}

TEST(picked_elements_that_do_not_fit_are_refused)
{
    gives(11, "int4[3] x = {1, -2, 3}, bool[3] k = {1, 0, 1}", "y = Compress(x, k)",
          "int4[2] y = {1, 3}");
    gives(11, "float[2] x = {1, 2}, bool[0] k = {}", "y = Compress(x, k)", "float[0] y = {}");
    gives(11, "float[2,0] x = {}, bool[1] k = {1}", "y = Compress <axis = 0> (x, k)",
          "float[1,0] y = {}");
    gives(11, "float x = {7}, bool[1] k = {1}", "y = Compress(x, k)", "float[1] y = {7}");
    refuses(11, "float[2] x = {1, 2}, bool[3] k = {1, 1, 1}", "y = Compress(x, k)",
            "3 elements for 2");
    refuses(11, "float[2] x = {1, 2}, bool[1,1] k = {1}", "y = Compress(x, k)", "a condition of 1");
    refuses(11, "float[2] x = {1, 2}, int8[1] k = {1}", "y = Compress(x, k)", "type int8");
    refuses(11, "float[2] x = {1, 2}, bool[1] k = {1}", "y = Compress <axis = 1> (x, k)", "axis 1");
    gives(10, "int4[3,1] x = {1, 2, 3}, int64[1] n = {2}", "y = ReverseSequence(x, n)",
          "int4[3,1] y = {2, 1, 3}");
    gives(10, "float[0,2] x = {}, int64[2] n = {0, 0}", "y = ReverseSequence(x, n)",
          "float[0,2] y = {}");
    refuses(10, "float[2,1] x = {1, 2}, int64[1] n = {3}", "y = ReverseSequence(x, n)",
            "a length of 3 of 2");
    refuses(10, "float[2,1] x = {1, 2}, int64[1] n = {-1}", "y = ReverseSequence(x, n)",
            "a length of -1 of 2");
    refuses(10, "float[2,1] x = {1, 2}, int64[2] n = {1, 1}", "y = ReverseSequence(x, n)",
            "2 lengths for a batch of 1");
    refuses(10, "float[2,1] x = {1, 2}, int64[1] n = {1}",
            "y = ReverseSequence <time_axis = 1> (x, n)",
            "time along axis 1 and batch along axis 1");
    refuses(10, "float[2,1] x = {1, 2}, int64[1] n = {1}",
            "y = ReverseSequence <time_axis = 2, batch_axis = -1> (x, n)", "time along axis 2");
    refuses(10, "float[2] x = {1, 2}, int64[1] n = {1}", "y = ReverseSequence(x, n)", "rank 1");
    refuses(10, "float[2,1] x = {1, 2}, int32[1] n = {1}", "y = ReverseSequence(x, n)",
            "type int32");
}

TEST(determinants_of_square_matrices_are_computed)
{
    gives(11, "double[2,2] x = {0, 2, 3, 0}", "y = Det(x)", "double y = {-6}");
    gives(11, "float[2,2] x = {1, 2, 2, 4}", "y = Det(x)", "float y = {0}");
    gives(11, "float[0,2,2] x = {}", "y = Det(x)", "float[0] y = {}");
    refuses(11, "float[2,1] x = {1, 2}", "y = Det(x)", "not a square matrix");
    refuses(11, "float[2] x = {1, 2}", "y = Det(x)", "not a square matrix");
    refuses(11, "float[0,0] x = {}", "y = Det(x)", "a matrix of 0 rows");
    refuses(11, "float[0,600,600] x = {}", "y = Det(x)", "a matrix of 600 rows");
    refuses(11, "int32[1,1] x = {1}", "y = Det(x)", "type int32");
}
