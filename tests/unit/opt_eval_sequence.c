/* opt_eval_sequence.c - what language models compute, of constants: exact results of small arrays,
 * and what is refused. ONNX's node tests have larger ones (eval_node_tests.c). */
#include "support/evals.h"

#define Q1 "float[1,1,2,1] q = {0, 0}, float[1,1,2,1] k = {1, 2}, float[1,1,2,1] v = {2, 4}"
#define Y1 "float[1,1,2,1] y = "

TEST(attention_weighs_values_by_scores)
{
    gives(23, Q1, "y = Attention(q, k, v)", Y1 "{3, 3}");
    gives(23, Q1, "y = Attention <is_causal = 1> (q, k, v)", Y1 "{2, 3}");
    gives(23, Q1 ", bool[2,2] m = {0, 1, 1, 0}", "y = Attention(q, k, v, m)", Y1 "{4, 2}");
    gives(25, Q1, "y = Attention <left_window_size = 0> (q, k, v)", Y1 "{3, 4}");
    gives(25, Q1, "y = Attention <right_window_size = 0> (q, k, v)", Y1 "{2, 3}");
    gives(24, Q1, "y = Attention <right_window_size = 0> (q, k, v)", Y1 "{3, 3}");
    gives(23, "float[1,2,2] q = {0, 0, 0, 0}, float[1,1,1] k = {1}, float[1,1,1] v = {5}",
          "y = Attention <q_num_heads = 2, kv_num_heads = 1> (q, k, v)",
          "float[1,2,2] y = {5, 5, 5, 5}");
}

TEST(a_query_without_keys_gives_zero)
{
    gives(23, Q1 ", bool[2,2] m = {0, 0, 1, 0}", "y = Attention(q, k, v, m)", Y1 "{0, 2}");
    gives(24, Q1 ", int64[1] n = {1}",
          "y = Attention <is_causal = 1> (q, k, v, \"\", \"\", \"\", n)", Y1 "{0, 2}");
}

TEST(attention_hands_out_cache_and_scores)
{
    gives(23,
          "float[1,1,1,1] q = {2}, float[1,1,1,1] k = {3}, float[1,1,1,1] v = {4}, float[1,1,1,1] "
          "a = {5}, float[1,1,1,1] b = {6}",
          "y, p, w, s = Attention <scale = 1.0> (q, k, v, \"\", a, b)",
          "float[1,1,1,1] y = {5.964027404785156}, float[1,1,2,1] p = {5, 3}, float[1,1,2,1] w = "
          "{6, 4}, "
          "float[1,1,1,2] s = {10, 6}");
}

TEST(attention_that_does_not_fit_is_refused)
{
    refuses(22, Q1, "y = Attention(q, k, v)", "below opset 23");
    refuses(23, Q1 ", int64[1] n = {1}", "y = Attention(q, k, v, \"\", \"\", \"\", n)",
            "below opset 24");
    refuses(24, Q1 ", int64[1] n = {3}", "y = Attention(q, k, v, \"\", \"\", \"\", n)",
            "3 of 2 keys");
    refuses(24, Q1 ", int64 n = {1}", "y = Attention(q, k, v, \"\", \"\", \"\", n)", "not a list");
    refuses(23, Q1 ", float[2] m = {1, 2}, float[1,1,1,1] a = {1}", "y = Attention(q, k, v, m, a)",
            "alone");
    refuses(23, Q1 ", float[1,1,1] a = {1}", "y = Attention(q, k, v, \"\", a, a)", "not a cache");
    refuses(23, Q1 ", float[2,1] m = {1, 2}", "y = Attention(q, k, v, m)", "a mask");
    refuses(23, Q1 ", int32[2] m = {1, 2}", "y = Attention(q, k, v, m)", "type int32");
    refuses(23, Q1, "y = Attention <scale = 0.0> (q, k, v)", "'scale'");
    refuses(23, Q1, "y = Attention <qk_matmul_output_mode = 4> (q, k, v)", "out of range");
    refuses(25, Q1, "y = Attention <left_window_size = -2> (q, k, v)", "out of range");
    refuses(23, Q1, "y = Attention <softmax_precision = 7> (q, k, v)", "not a float type");
    refuses(23, "float[1,1,2,1] q = {0, 0}, float[1,2,1,1] k = {1, 2}", "y = Attention(q, k, k)",
            "2 of keys");
    refuses(23, "float[1,1,2,1] q = {0, 0}, float[1,1,1,2] k = {1, 2}", "y = Attention(q, k, k)",
            "do not fit");
    refuses(23, "float[1,1,2,1] q = {0, 0}, double[1,1,2,1] k = {1, 2}", "y = Attention(q, k, k)",
            "float and double");
    refuses(23, "float[1,1,3] q = {0, 0, 0}",
            "y = Attention <q_num_heads = 2, kv_num_heads = 1> (q, q, q)", "'q_num_heads'");
    refuses(23, "float[2,3] q = {0, 0, 0, 1, 1, 1}", "y = Attention(q, q, q)", "rank 2");
    refuses(23, "int32[1,1,1,1] q = {0}", "y = Attention(q, q, q)", "type int32");
}

#define X2 "float[1,1,1,4] x = {1, 2, 3, 4}"
#define CS ", float[1,1,2] c = {0, 1}, float[1,1,2] s = {1, 0}"

TEST(rotary_embedding_turns_pairs)
{
    gives(23, X2 CS, "y = RotaryEmbedding(x, c, s)", "float[1,1,1,4] y = {-3, 2, 1, 4}");
    gives(23, X2 CS, "y = RotaryEmbedding <interleaved = 1> (x, c, s)",
          "float[1,1,1,4] y = {-2, 1, 3, 4}");
    gives(23, X2 ", float[2,1] c = {5, 0}, float[2,1] s = {5, 1}, int64[1,1] p = {1}",
          "y = RotaryEmbedding <rotary_embedding_dim = 2> (x, c, s, p)",
          "float[1,1,1,4] y = {-2, 1, 3, 4}");
    gives(23, "float[1,1,4] x = {1, 2, 3, 4}, float[1,1,1] c = {0}, float[1,1,1] s = {1}",
          "y = RotaryEmbedding <num_heads = 2> (x, c, s)", "float[1,1,4] y = {-2, 1, -4, 3}");
    refuses(22, X2 CS, "y = RotaryEmbedding(x, c, s)", "below opset 23");
    refuses(23, X2 CS, "y = RotaryEmbedding <rotary_embedding_dim = 3> (x, c, s)", "in pairs");
    refuses(23, X2 CS, "y = RotaryEmbedding <rotary_embedding_dim = 2> (x, c, s)", "not a cache");
    refuses(23, X2 ", double[1,1,2] c = {0, 1}", "y = RotaryEmbedding(x, c, c)", "the types");
    refuses(23, X2 ", float[2,2] c = {0, 1, 0, 1}, int64[1,1] p = {2}",
            "y = RotaryEmbedding(x, c, c, p)", "place 2 of 2");
    refuses(23, X2 ", float[2,2] c = {0, 1, 0, 1}, int64[1] p = {1}",
            "y = RotaryEmbedding(x, c, c, p)", "input 3");
    refuses(23, "float[1,1,3] x = {1, 2, 3}" CS, "y = RotaryEmbedding <num_heads = 2> (x, c, s)",
            "'num_heads'");
    refuses(23, "float[1,3] x = {1, 2, 3}" CS, "y = RotaryEmbedding(x, c, s)", "rank 2");
    refuses(23, "int32[1,1,1,2] x = {1, 2}" CS, "y = RotaryEmbedding(x, c, s)", "type int32");
}

#define CACHE "int8[1,4,1] x = {1, 2, 3, 4}, int8[1,2,1] u = {8, 9}"

TEST(tensor_scatter_writes_into_a_cache)
{
    gives(24, CACHE, "y = TensorScatter(x, u)", "int8[1,4,1] y = {8, 9, 3, 4}");
    gives(24, CACHE ", int64[1] i = {2}", "y = TensorScatter(x, u, i)",
          "int8[1,4,1] y = {1, 2, 8, 9}");
    gives(24, CACHE ", int64[1] i = {3}", "y = TensorScatter <mode = \"circular\"> (x, u, i)",
          "int8[1,4,1] y = {9, 2, 3, 8}");
    refuses(24, CACHE ", int64[1] i = {3}", "y = TensorScatter(x, u, i)", "place 3 of 4");
    refuses(24, CACHE ", int64[1] i = {-1}", "y = TensorScatter(x, u, i)", "place -1");
    refuses(24, CACHE ", int64[2] i = {1, 1}", "y = TensorScatter(x, u, i)", "input 2");
    refuses(24, CACHE, "y = TensorScatter <axis = 0> (x, u)", "along axis 0");
    refuses(24, CACHE, "y = TensorScatter <axis = 2> (x, u)", "along axis 2");
    refuses(24, CACHE, "y = TensorScatter <mode = \"odd\"> (x, u)", "'mode'");
    refuses(23, CACHE, "y = TensorScatter(x, u)", "below opset 24");
}

#define POOL                                                                                       \
    "max_gram_length = 2, min_gram_length = 1, max_skip_count = 1, ngram_counts = [0, 2], "        \
    "ngram_indexes = [0, 1, 2], pool_int64s = [1, 2, 1, 2]"

TEST(n_grams_of_a_pool_are_counted)
{
    gives(9, "int64[4] x = {1, 3, 2, 1}", "y = TfIdfVectorizer <" POOL ", mode = \"TF\"> (x)",
          "float[3] y = {2, 1, 1}");
    gives(9, "int32[1,4] x = {1, 3, 2, 1}",
          "y = TfIdfVectorizer <" POOL ", mode = \"IDF\", weights = [2.0, 3.0, 4.0]> (x)",
          "float[1,3] y = {2, 3, 4}");
    gives(9, "int32[1,4] x = {1, 3, 2, 1}",
          "y = TfIdfVectorizer <" POOL ", mode = \"TFIDF\", weights = [2.0, 3.0, 4.0]> (x)",
          "float[1,3] y = {4, 3, 4}");
    refuses(9, "int64[1] x = {1}", "y = TfIdfVectorizer <" POOL "> (x)", "'mode'");
    refuses(9, "int64[1] x = {1}", "y = TfIdfVectorizer <mode = \"TF\"> (x)", "a pool of strings");
    refuses(9, "int64[1] x = {1}",
            "y = TfIdfVectorizer <" POOL ", mode = \"TF\", weights = [1.0]> (x)", "'weights'");
    refuses(9, "int64[1,1,1] x = {1}", "y = TfIdfVectorizer <" POOL ", mode = \"TF\"> (x)",
            "rank 3");
    refuses(9, "int64[1] x = {1}",
            "y = TfIdfVectorizer <max_gram_length = 2, min_gram_length = 1, max_skip_count = 0, "
            "ngram_counts = [0], ngram_indexes = [0], pool_int64s = [1], mode = \"TF\"> (x)",
            "does not have");
    refuses(9, "int64[1] x = {1}",
            "y = TfIdfVectorizer <max_gram_length = 1, min_gram_length = 1, max_skip_count = 0, "
            "ngram_counts = [0, 2], ngram_indexes = [0], pool_int64s = [1], mode = \"TF\"> (x)",
            "their part of the pool");
    refuses(9, "int64[1] x = {1}",
            "y = TfIdfVectorizer <max_gram_length = 1, min_gram_length = 1, max_skip_count = 0, "
            "ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [1], mode = \"TF\"> (x)",
            "2 columns for 1 n-grams");
    refuses(9, "int64[1] x = {1}",
            "y = TfIdfVectorizer <max_gram_length = 1, min_gram_length = 1, max_skip_count = 0, "
            "ngram_counts = [0], ngram_indexes = [-1], pool_int64s = [1], mode = \"TF\"> (x)",
            "column -1");
}

#define BLOCK ", int64[2] i = {2, 2}, int64[2] b = {1, 2}"

TEST(columns_are_put_back_and_windows_deformed)
{
    gives(18, "float[1,2,2] x = {1, 2, 3, 4}" BLOCK, "y = Col2Im(x, i, b)",
          "float[1,1,2,2] y = {1, 3, 2, 4}");
    refuses(18, "float[1,3,2] x = {1, 2, 3, 4, 5, 6}" BLOCK, "y = Col2Im(x, i, b)", "columns of 3");
    refuses(18, "int32[1,2,1] x = {1, 2}" BLOCK, "y = Col2Im(x, i, b)", "type int32");
    refuses(18, "float[1,2] x = {1, 2}" BLOCK, "y = Col2Im(x, i, b)", "ranks that do not fit");
    refuses(18, "float[1,2,1] x = {1, 2}, int64[1] i = {0}, int64[1] b = {1}",
            "y = Col2Im(x, i, b)", "a size of 0");
    refuses(18, "float[1,2,1] x = {1, 2}, int64[1] i = {1}, int64[1] b = {2}",
            "y = Col2Im(x, i, b)", "larger than the data");
    gives(19,
          "float[1,1,1,2] x = {2, 4}, float[1,1,1,1] w = {1}, float[1,2,1,2] o = {0, 0, 0.5, 1}",
          "y = DeformConv(x, w, o)", "float[1,1,1,2] y = {3, 0}");
    refuses(19, "float[1,1,1,2] x = {2, 4}, float[1,1,1,1] w = {1}, float[1,1,1,2] o = {0, 0}",
            "y = DeformConv(x, w, o)", "offsets");
    refuses(19,
            "float[1,1,1,1] x = {2}, float[1,1,1,1] w = {1}, float[1,2,1,1] o = {0, 0}, float[2] b "
            "= {1, 2}",
            "y = DeformConv(x, w, o, b)", "a bias");
    refuses(19, "float[1,1,1,1] x = {2}, float[1,1,1,1] w = {1}, float[1,2,1,1] o = {0, 0}",
            "y = DeformConv <offset_group = 2> (x, w, o)", "the groups");
    refuses(19,
            "float[1,1,1,1] x = {2}, float[1,1,1,1] w = {1}, float[1,2,1,1] o = {0, 0}, "
            "float[1,2,1,1] m = {1, 1}",
            "y = DeformConv(x, w, o, \"\", m)", "a mask");
    refuses(19, "float[1,1,1] x = {2}", "y = DeformConv(x, x, x)", "ranks 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_weighs_values_by_scores),
        cmocka_unit_test(a_query_without_keys_gives_zero),
        cmocka_unit_test(attention_hands_out_cache_and_scores),
        cmocka_unit_test(attention_that_does_not_fit_is_refused),
        cmocka_unit_test(rotary_embedding_turns_pairs),
        cmocka_unit_test(tensor_scatter_writes_into_a_cache),
        cmocka_unit_test(n_grams_of_a_pool_are_counted),
        cmocka_unit_test(columns_are_put_back_and_windows_deformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
