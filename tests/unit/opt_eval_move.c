/* opt_eval_move.c - operators of the evaluator that move elements, change shapes and make
 * arrays. */
#include "support/evals.h"

static const char x23[] = "int64[2,3] x = {1, 2, 3, 4, 5, 6}";

TEST(shapes_are_read)
{
    gives(13, x23, "y = Shape(x)", "int64[2] y = {2, 3}");
    gives(15, x23, "y = Shape <start = 1> (x)", "int64[1] y = {3}");
    gives(15, x23, "y = Shape <start = -5, end = -1> (x)", "int64[1] y = {2}");
    gives(15, x23, "y = Shape <start = 2, end = 1> (x)", "int64[0] y = {}");
    gives(13, "float x = {1}", "y = Shape(x)", "int64[0] y = {}");
    gives(13, x23, "y = Size(x)", "int64 y = {6}");
    gives(13, "int4[3] x = {1, 2, 3}", "y = Shape(x)", "int64[1] y = {3}");
}

TEST(shapes_are_changed)
{
    gives(13, "int64[2,3] x = {1, 2, 3, 4, 5, 6}, int64[2] s = {3, -1}", "y = Reshape(x, s)",
          "int64[3,2] y = {1, 2, 3, 4, 5, 6}");
    gives(13, "int64[2,3] x = {1, 2, 3, 4, 5, 6}, int64[3] s = {0, 1, -1}", "y = Reshape(x, s)",
          "int64[2,1,3] y = {1, 2, 3, 4, 5, 6}");
    gives(14, "float[0,3] x = {}, int64[2] s = {3, 0}", "y = Reshape <allowzero = 1> (x, s)",
          "float[3,0] y = {}");
    refuses(14, "float[0,3] x = {}, int64[2] s = {0, -1}", "y = Reshape <allowzero = 0> (x, s)",
            "do not fill");
    gives(13, "int4[3] x = {1, -2, 3}, int64[2] s = {1, 3}", "y = Reshape(x, s)",
          "int4[1,3] y = {1, -2, 3}");
    gives(13, "float[1] x = {1}, int64[0] s = {}", "y = Reshape(x, s)", "float y = {1}");
    refuses(13, "float[2] x = {1, 2}, int64[2] s = {-1, -1}", "y = Reshape(x, s)",
            "expected one -1 at most");
    refuses(13, "float[2] x = {1, 2}, int64[1] s = {-2}", "y = Reshape(x, s)", "dim 0 is -2");
    refuses(13, "float[2] x = {1, 2}, int64[2] s = {3, -1}", "y = Reshape(x, s)", "do not fill");
    refuses(13, "float[2] x = {1, 2}, int64[1] s = {3}", "y = Reshape(x, s)", "do not fill");
    refuses(13, "float[2] x = {1, 2}, int64[2] s = {1, 0}", "y = Reshape(x, s)",
            "copied from an array of rank 1");
    refuses(13, "float[2] x = {1, 2}, int64[3] s = {4294967296, 4294967296, -1}",
            "y = Reshape(x, s)", "do not fill");
    refuses(13, "float[2] x = {1, 2}, float[1] s = {2}", "y = Reshape(x, s)", "type float");
    gives(13, "float[2,1,3] x = {1, 2, 3, 4, 5, 6}", "y = Flatten(x)",
          "float[2,3] y = {1, 2, 3, 4, 5, 6}");
    gives(13, "float[2,1,3] x = {1, 2, 3, 4, 5, 6}", "y = Flatten <axis = -1> (x)",
          "float[2,3] y = {1, 2, 3, 4, 5, 6}");
    gives(13, "float x = {1}", "y = Flatten <axis = 0> (x)", "float[1,1] y = {1}");
    refuses(13, "float x = {1}", "y = Flatten(x)", "axis 1");
    gives(7, "float[1,2,1] x = {1, 2}", "y = Squeeze(x)", "float[2] y = {1, 2}");
    gives(11, "float[1,2,1] x = {1, 2}", "y = Squeeze <axes = [-1]> (x)", "float[1,2] y = {1, 2}");
    gives(13, "float[1,2,1] x = {1, 2}, int64[1] a = {0}", "y = Squeeze(x, a)",
          "float[2,1] y = {1, 2}");
    refuses(13, "float[1,2,1] x = {1, 2}, int64[0] a = {}", "y = Squeeze(x, a)", "axes are empty");
    refuses(13, "float[1,2,1] x = {1, 2}, int64[1] a = {1}", "y = Squeeze(x, a)",
            "axis 1 has dim 2");
    gives(7, "float[2] x = {1, 2}", "y = Unsqueeze <axes = [0, 2]> (x)", "float[1,2,1] y = {1, 2}");
    gives(13, "float[2] x = {1, 2}, int64[2] a = {-1, 0}", "y = Unsqueeze(x, a)",
          "float[1,2,1] y = {1, 2}");
    gives(13, "int64 x = {7}, int64 a = {0}", "y = Unsqueeze(x, a)", "int64[1] y = {7}");
    refuses(13, "float[2] x = {1, 2}", "y = Unsqueeze(x)", "axes are missing");
    refuses(13, "float[2] x = {1, 2}, int64[2] a = {0, 0}", "y = Unsqueeze(x, a)", "listed twice");
    refuses(13, "float[2] x = {1, 2}, int64[1] a = {5}", "y = Unsqueeze(x, a)", "axis 5");
    gives(13, x23, "y = Identity(x)", "int64[2,3] y = {1, 2, 3, 4, 5, 6}");
}

TEST(axes_change_places)
{
    gives(13, x23, "y = Transpose(x)", "int64[3,2] y = {1, 4, 2, 5, 3, 6}");
    gives(13, "float16[2,1,3] x = {1, 2, 3, 4, 5, 6}", "y = Transpose <perm = [1, 2, 0]> (x)",
          "float16[1,3,2] y = {1, 4, 2, 5, 3, 6}");
    gives(13, "uint8[2,2,2] x = {1, 2, 3, 4, 5, 6, 7, 8}", "y = Transpose <perm = [1, 0, 2]> (x)",
          "uint8[2,2,2] y = {1, 2, 5, 6, 3, 4, 7, 8}");
    gives(13, "int4[3,3] x = {1, 2, 3, 4, -5, 6, 7, -8, 0}", "y = Transpose(x)",
          "int4[3,3] y = {1, 4, 7, 2, -5, -8, 3, 6, 0}");
    gives(13, "float x = {1}", "y = Transpose(x)", "float y = {1}");
    gives(13, "float[0,2] x = {}", "y = Transpose(x)", "float[2,0] y = {}");
    refuses(13, x23, "y = Transpose <perm = [0]> (x)", "1 axes of an array of rank 2");
    refuses(13, x23, "y = Transpose <perm = [0, 0]> (x)", "not a permutation");
    refuses(13, x23, "y = Transpose <perm = [0, 2]> (x)", "not a permutation");
    refuses(13, x23, "y = Transpose <perm = 1> (x)", "attribute 'perm'");
}

/* Each block of copy_transposed, and what is left at its edges. */
TEST(large_arrays_are_transposed)
{
    static const int64_t dims[][3] = {{1, 100, 33}, {3, 31, 65}, {2, 64, 64}};
    static const char *const perms[] = {"0, 2, 1", "2, 1, 0", "1, 2, 0", "2, 0, 1"};

    for (size_t k = 0; k < QDQ_COUNT(dims) * QDQ_COUNT(perms); k++) {
        const int64_t *d = dims[k / QDQ_COUNT(perms)];
        int64_t n = d[0] * d[1] * d[2], at[3], stride[3], from[3] = {d[1] * d[2], d[2], 1};
        const char *perm = perms[k % QDQ_COUNT(perms)];
        int p[3];
        char text[200];
        qdq_arena memory = QDQ_ARENA_INIT;
        qdq_error err = QDQ_ERROR_INIT;
        qdq_const x = {QDQ_INT32, 3, d, n, NULL, (size_t)n * 4}, out;
        const qdq_const *in = &x;
        const char *why;

        snprintf(text, sizeof text,
                 "g (int32[A,B,C] x) => (int32[D,E,F] y) { y = Transpose <perm = [%s]> (x) }",
                 perm);
        qdq_model *m = test_model(text);
        int32_t *data = qdq_arena_array(&memory, (size_t)n, sizeof *data);
        for (int64_t i = 0; i < n; i++)
            data[i] = (int32_t)i;
        x.data = data;
        assert_ok(qdq_eval_node(m->graph->end.next, 13, &in, 1 << 24, &memory, &out, &why, &err));
        assert_null(why);
        assert_int_equal(sscanf(perm, "%d, %d, %d", &p[0], &p[1], &p[2]), 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(out.dim[i], d[p[i]]);
            stride[i] = from[p[i]];
        }
        for (int64_t i = 0; i < n; i++) {
            at[2] = i % out.dim[2];
            at[1] = i / out.dim[2] % out.dim[1];
            at[0] = i / out.dim[2] / out.dim[1];
            assert_int_equal(((const int32_t *)out.data)[i],
                             at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2]);
        }
        qdq_arena_free(&memory);
        qdq_model_free(m);
    }
}

TEST(arrays_are_joined_and_cut)
{
    gives(13, "int64[1] a = {1}, int64[2] b = {2, 3}", "y = Concat <axis = 0> (a, b)",
          "int64[3] y = {1, 2, 3}");
    gives(13, "int64[2,1] a = {1, 2}, int64[2,2] b = {3, 4, 5, 6}", "y = Concat <axis = -1> (a, b)",
          "int64[2,3] y = {1, 3, 4, 2, 5, 6}");
    gives(13, "uint4[1] a = {1}, uint4[2] b = {2, 3}", "y = Concat <axis = 0> (a, b)",
          "uint4[3] y = {1, 2, 3}");
    gives(13, "float[0] a = {}, float[1] b = {2}", "y = Concat <axis = 0> (a, b)",
          "float[1] y = {2}");
    refuses(13, "float[1] a = {1}, float[1] b = {2}", "y = Concat(a, b)", "'axis' is missing");
    refuses(13, "float a = {1}, float b = {2}", "y = Concat <axis = 0> (a, b)",
            "axis 0 of a tensor of rank 0");
    refuses(13, "float[1] a = {1}, double[1] b = {2}", "y = Concat <axis = 0> (a, b)",
            "another type");
    refuses(13, "float[1] a = {1}, float[1,1] b = {2}", "y = Concat <axis = 0> (a, b)",
            "another type or rank");
    refuses(13, "float[1,1] a = {1}, float[1,2] b = {2, 3}", "y = Concat <axis = 0> (a, b)",
            "along axis 1");
    refuses(13, "uint4[1] a = {1}, uint8[1] b = {2}", "y = Concat <axis = 0> (a, b)",
            "types uint4 and uint8");
    refuses(13, "uint4[1] a = {1}, int4[1] b = {2}", "y = Concat <axis = 0> (a, b)",
            "types uint4 and int4");
    gives(7, x23, "y = Slice <starts = [1], ends = [3], axes = [1]> (x)",
          "int64[2,2] y = {2, 3, 5, 6}");
    gives(10,
          "int64[5] x = {0, 1, 2, 3, 4}, int64[1] s = {-1}, int64[1] e = {-100}, int64[1] a = {0}, "
          "int64[1] t = {-2}",
          "y = Slice(x, s, e, a, t)", "int64[3] y = {4, 2, 0}");
    gives(10, "int64[2,3] x = {1, 2, 3, 4, 5, 6}, int32[2] s = {0, 1}, int32[2] e = {1, 9223372}",
          "y = Slice(x, s, e)", "int64[1,2] y = {2, 3}");
    gives(10, "int64[3] x = {1, 2, 3}, int64[1] s = {2}, int64[1] e = {1}", "y = Slice(x, s, e)",
          "int64[0] y = {}");
    gives(10,
          "int64[3] x = {1, 2, 3}, int64[1] s = {2}, int64[1] e = {-9223372036854775808}, int64[1] "
          "a = {0}, "
          "int64[1] t = {-9223372036854775808}",
          "y = Slice(x, s, e, a, t)", "int64[1] y = {3}");
    gives(
        10,
        "int64[0] x = {}, int64[1] s = {0}, int64[1] e = {5}, int64[1] a = {0}, int64[1] t = {-1}",
        "y = Slice(x, s, e, a, t)", "int64[0] y = {}");
    refuses(10,
            "int64[3] x = {1, 2, 3}, int64[1] s = {2}, int64[1] e = {1}, int64[1] a = {0}, "
            "int64[1] t = {0}",
            "y = Slice(x, s, e, a, t)", "the step along axis 0 is 0");
    refuses(10, "int64[3] x = {1, 2, 3}, int64[2] s = {2, 2}, int64[2] e = {1, 1}",
            "y = Slice(x, s, e)", "axis 1 of a tensor of rank 1");
    refuses(10, "int64[3] x = {1, 2, 3}, int64[1] s = {2}, int64[2] e = {1, 1}",
            "y = Slice(x, s, e)", "1 starts and 2 ends");
    refuses(10, "int64[3] x = {1, 2, 3}, int64[1] s = {2}", "y = Slice(x, s)", "missing");
    refuses(10, "int64[3] x = {1, 2, 3}, int64[2] s = {0, 0}, int64[2] a = {0, -1}",
            "y = Slice(x, s, s, a)", "axis 0 is listed twice");
    refuses(10, "int64[1,3] x = {1, 2, 3}, int64[2] s = {0, 0}, int64[2] a = {1, -1}",
            "y = Slice(x, s, s, a)", "listed twice");
}

TEST(elements_are_picked)
{
    gives(13, "int64[3] x = {10, 20, 30}, int64 i = {-1}", "y = Gather(x, i)", "int64 y = {30}");
    gives(13, "int64[3] x = {10, 20, 30}, int32[2] i = {0, 2}", "y = Gather(x, i)",
          "int64[2] y = {10, 30}");
    gives(13, "int64[2,3] x = {1, 2, 3, 4, 5, 6}, int64[1,2] i = {2, 0}",
          "y = Gather <axis = 1> (x, i)", "int64[2,1,2] y = {3, 1, 6, 4}");
    gives(13, "int64[2,3] x = {1, 2, 3, 4, 5, 6}, int64 i = {1}", "y = Gather(x, i)",
          "int64[3] y = {4, 5, 6}");
    gives(13, "int4[4] x = {1, 2, 3, -4}, int64[3] i = {3, 3, 0}", "y = Gather(x, i)",
          "int4[3] y = {-4, -4, 1}");
    gives(13, "float[0,3] x = {}, int64[0] i = {}", "y = Gather(x, i)", "float[0,3] y = {}");
    refuses(13, "int64[3] x = {10, 20, 30}, int64 i = {3}", "y = Gather(x, i)",
            "index 3 is out of range");
    refuses(13, "int64[3] x = {10, 20, 30}, int64 i = {-4}", "y = Gather(x, i)",
            "index -4 is out of range");
    refuses(13, "int64[3] x = {10, 20, 30}, float i = {0}", "y = Gather(x, i)", "type float");
    refuses(13, "int64 x = {10}, int64 i = {0}", "y = Gather(x, i)",
            "axis 0 of a tensor of rank 0");
    gives(13, "bool[2] c = {1, 0}, float[2] a = {1, 2}, float b = {9}", "y = Where(c, a, b)",
          "float[2] y = {1, 9}");
    gives(13, "bool[2,1] c = {1, 0}, int4[2] a = {1, 2}, int4[2] b = {3, 4}", "y = Where(c, a, b)",
          "int4[2,2] y = {1, 2, 3, 4}");
    gives(13, "bool c = {1}, float a = {nan}, float b = {9}", "y = Where(c, a, b)",
          "float y = {nan}");
    refuses(13, "int64 c = {1}, float a = {1}, float b = {9}", "y = Where(c, a, b)", "type int64");
    refuses(13, "bool c = {1}, float a = {1}, int64 b = {9}", "y = Where(c, a, b)",
            "types float and int64");
}

TEST(arrays_are_repeated_and_made)
{
    gives(13, "float[2,1] x = {1, 2}, int64[2] s = {1, 3}", "y = Expand(x, s)",
          "float[2,3] y = {1, 1, 1, 2, 2, 2}");
    gives(13, "float x = {1}, int64[1] s = {3}", "y = Expand(x, s)", "float[3] y = {1, 1, 1}");
    gives(13, "float[1] x = {1}, int64[1] s = {0}", "y = Expand(x, s)", "float[0] y = {}");
    refuses(13, "float[2] x = {1, 2}, int64[1] s = {3}", "y = Expand(x, s)", "do not broadcast");
    refuses(13, "float[1] x = {1}, int64[1] s = {-1}", "y = Expand(x, s)", "dim 0 is -1");
    refuses(13, "float x = {1}, int64[1] s = {1000000}", "y = Expand(x, s)",
            "a result of 4000000 bytes is above the limit of 1048576");
    refuses(13, "float x = {1}, int64[2] s = {4294967296, 4294967296}", "y = Expand(x, s)",
            "can be counted");
    gives(13, "int64[2] s = {1, 2}", "y = ConstantOfShape(s)", "float[1,2] y = {0, 0}");
    gives(13, "int64[1] s = {3}", "y = ConstantOfShape <value = int64[1] {-1}> (s)",
          "int64[3] y = {-1, -1, -1}");
    gives(13, "int64[0] s = {}", "y = ConstantOfShape <value = bool[1] {1}> (s)", "bool y = {1}");
    refuses(13, "int64[1] s = {-3}", "y = ConstantOfShape(s)", "can be counted");
    refuses(13, "int64[1] s = {3}", "y = ConstantOfShape <value = int64[2] {1, 2}> (s)",
            "not a single element");
    refuses(13, "int64[1] s = {262145}", "y = ConstantOfShape(s)", "above the limit");
    gives(13, "", "y = Constant <value = int64[2] {1, 2}> ()", "int64[2] y = {1, 2}");
    gives(13, "", "y = Constant <value_float = 2.5> ()", "float y = {2.5}");
    gives(13, "", "y = Constant <value_ints = [2, 3]> ()", "int64[2] y = {2, 3}");
    refuses(13, "", "y = Constant <value_string = \"a\"> ()", "a constant of a kind");
    refuses(13, "", "y = Constant <value = string[1] {\"a\"}> ()", "strings");
    gives(13, "int64 a = {2}, int64 b = {9}, int64 d = {3}", "y = Range(a, b, d)",
          "int64[3] y = {2, 5, 8}");
    gives(13, "int32 a = {2}, int32 b = {-1}, int32 d = {-2}", "y = Range(a, b, d)",
          "int32[2] y = {2, 0}");
    gives(13, "float a = {0}, float b = {1}, float d = {0.25}", "y = Range(a, b, d)",
          "float[4] y = {0, 0.25, 0.5, 0.75}");
    gives(13, "int64 a = {2}, int64 b = {2}, int64 d = {3}", "y = Range(a, b, d)",
          "int64[0] y = {}");
    /* the last product alone is beyond int64 */
    gives(13,
          "int64 a = {-9223372036854775807}, int64 b = {9223372036854775807}, int64 d = "
          "{4611686018427387904}",
          "y = Range(a, b, d)",
          "int64[4] y = {-9223372036854775807, -4611686018427387903, 1, 4611686018427387905}");
    refuses(13, "int64 a = {2}, int64 b = {9}, int64 d = {0}", "y = Range(a, b, d)", "without end");
    refuses(13, "float a = {2}, float b = {9}, float d = {0}", "y = Range(a, b, d)", "without end");
    refuses(13, "int64 a = {-9223372036854775808}, int64 b = {9223372036854775807}, int64 d = {1}",
            "y = Range(a, b, d)", "without end");
    refuses(13, "int64 a = {0}, int64 b = {9223372036854775807}, int64 d = {1}",
            "y = Range(a, b, d)", "can be counted");
    refuses(13, "int64 a = {0}, int64 b = {131073}, int64 d = {1}", "y = Range(a, b, d)",
            "above the limit");
    refuses(13, "int64 a = {0}, int32 b = {9}, int64 d = {1}", "y = Range(a, b, d)",
            "input 1 is not a scalar");
}

TEST(casts_keep_what_fits)
{
    gives(13, "float[3] x = {1.9, -1.9, 0}", "y = Cast <to = 7> (x)", "int64[3] y = {1, -1, 0}");
    gives(13, "float[3] x = {0.5, -0.0, nan}", "y = Cast <to = 9> (x)", "bool[3] y = {1, 0, 1}");
    gives(13, "int64[2] x = {16777217, 5}", "y = Cast <to = 1> (x)", "float[2] y = {16777216, 5}");
    gives(13, "int64[2] x = {300, -1}", "y = Cast <to = 2> (x)", "uint8[2] y = {44, 255}");
    gives(13, "uint64 x = {18446744073709551615}", "y = Cast <to = 1> (x)",
          "float y = {18446744073709551616}");
    gives(13, "uint64 x = {18446744073709551615}", "y = Cast <to = 7> (x)", "int64 y = {-1}");
    gives(13, "bool[2] x = {0, 1}", "y = Cast <to = 1> (x)", "float[2] y = {0, 1}");
    gives(13, "double[2] x = {0.1, 1e300}", "y = Cast <to = 1> (x)", "float[2] y = {0.1, inf}");
    gives(13, "float[3] x = {1, 65520, 2049}", "y = Cast <to = 10> (x)",
          "float16[3] y = {1.0, inf, 2048.0}");
    gives(13, "float[2] x = {1, nan}", "y = Cast <to = 16> (x)", "bfloat16[2] y = {1.0, nan}");
    gives(13, "float16[2] x = {1.5, 5.9604645e-08}", "y = Cast <to = 1> (x)",
          "float[2] y = {1.5, 5.9604645e-08}");
    gives(21, "int4[3] x = {-8, 7, 1}", "y = Cast <to = 1> (x)", "float[3] y = {-8, 7, 1}");
    gives(21, "int64[3] x = {-8, 7, 1}", "y = Cast <to = 22> (x)", "int4[3] y = {-8, 7, 1}");
    gives(21, "float[3] x = {15, 7, 1}", "y = Cast <to = 21> (x)", "uint4[3] y = {15, 7, 1}");
    gives(19, "float[3] x = {1, 1000, -1000}", "y = Cast <to = 17> (x)",
          "float8e4m3fn[3] y = {1.0, 448.0, -448.0}");
    gives(19, "float x = {2.5}, int8 l = {1}", "y = CastLike(x, l)", "int8 y = {2}");
    gives(13, "float[1] x = {nan}", "y = Cast <to = 1> (x)", "float[1] y = {nan}");
    /* rounded to double on the way, this would be a tie */
    gives(13, "int64 x = {4629700416936869889}", "y = Cast <to = 16> (x)",
          "bfloat16 y = {4647714815446351872.0}");
    refuses(13, "float x = {256}", "y = Cast <to = 2> (x)", "no certain value as uint8");
    refuses(13, "float x = {-1}", "y = Cast <to = 2> (x)", "no certain value as uint8");
    refuses(13, "float x = {9223372036854775808}", "y = Cast <to = 7> (x)",
            "no certain value as int64");
    refuses(13, "float x = {nan}", "y = Cast <to = 7> (x)", "no certain value as int64");
    gives(21, "int64[2] x = {8, -9}", "y = Cast <to = 22> (x)", "int4[2] y = {-8, 7}");
    gives(21, "uint64 x = {18446744073709551615}", "y = Cast <to = 22> (x)", "int4 y = {-1}");
    gives(25, "float[3] x = {3, -3, 2}", "y = Cast <to = 26> (x)", "int2[3] y = {-1, 1, -2}");
    refuses(21, "float x = {128}", "y = Cast <to = 22> (x)", "no certain value as int4");
    refuses(21, "float x = {0.5}", "y = Cast <to = 22> (x)", "no certain value as int4");
    gives(19, "float x = {inf}", "y = Cast <to = 17> (x)", "float8e4m3fn y = {448.0}");
    gives(19, "float[2] x = {1000, -inf}", "y = Cast <to = 17, saturate = 0> (x)",
          "float8e4m3fn[2] y = {nan, nan}");
    gives(19, "float x = {-100000}", "y = Cast <to = 19, saturate = 0> (x)",
          "float8e5m2 y = {-inf}");
    refuses(19, "float x = {inf}", "y = Cast <to = 18> (x)", "no certain value as float8e4m3fnuz");
    gives(24, "float x = {-inf}", "y = Cast <to = 18> (x)", "float8e4m3fnuz y = {-240.0}");
    gives(23, "float[3] x = {9, -inf, 0.3}", "y = Cast <to = 23> (x)",
          "float4e2m1[3] y = {6.0, -6.0, 0.5}");
    gives(23, "float x = {nan}", "y = Cast <to = 23> (x)", "float4e2m1 y = {-0.0}");
    gives(24, "float[4] x = {0, 1.1, 2, 3}", "y = Cast <to = 24> (x)",
          "float8e8m0[4] y = {5.877471754111438e-39, 2.0, 2.0, 4.0}");
    gives(24, "float[3] x = {1.9, 3, 1e-45}", "y = Cast <to = 24, round_mode = \"down\"> (x)",
          "float8e8m0[3] y = {1.0, 2.0, 5.877471754111438e-39}");
    gives(24, "float[4] x = {1.4, 1.5, nan, 3.4e38}",
          "y = Cast <to = 24, round_mode = \"nearest\", saturate = 0> (x)",
          "float8e8m0[4] y = {1.0, 2.0, nan, nan}");
    refuses(24, "float x = {-1}", "y = Cast <to = 24> (x)", "no certain value as float8e8m0");
    refuses(24, "float x = {inf}", "y = Cast <to = 24> (x)", "no certain value as float8e8m0");
    refuses(24, "float x = {0}", "y = Cast <to = 24, saturate = 0> (x)", "no certain value");
    refuses(24, "float x = {1}", "y = Cast <to = 24, round_mode = \"odd\"> (x)", "'round_mode'");
    refuses(13, "float x = {1}", "y = Cast <to = 8> (x)", "a cast to a type");
    refuses(13, "float x = {1}", "y = Cast <to = 99> (x)", "a cast to a type");
    refuses(13, "float x = {1}", "y = Cast(x)", "a cast to a type");
    refuses(13, "float x = {1}", "y = Cast <to = 1.0> (x)", "attribute 'to'");
}

TEST(what_is_not_known_is_refused_with_a_reason)
{
    refuses(13, "float[1] x = {1}, float s = {1}, int8 z = {0}", "y = QuantizeLinear(x, s, z)",
            "operator QuantizeLinear is not computed");
    refuses(13, "int8[1] x = {1}, float s = {1}", "y = DequantizeLinear(x, s)",
            "DequantizeLinear is not");
    refuses(13, "float[1] x = {1}", "y, s, z = DynamicQuantizeLinear(x)",
            "DynamicQuantizeLinear is not");
    refuses(13, "", "y = RandomNormal <shape = [2]> ()", "RandomNormal is not");
    refuses(10, "int8[1,1] x = {1}", "y = MatMulInteger(x, x)", "MatMulInteger is not");
    refuses(13, "float x = {1}", "y = acme.Abs(x)", "operator Abs is not computed");
    refuses(6, "float x = {1}", "y = Abs(x)", "opset 6, expected 7 to 26");
    refuses(13, "float x = {1}", "y = Abs(\"\")", "input 0 is left out");
    refuses(13, "float x = {1}", "y = Abs(x, x)", "2 inputs, expected 1 to 1");
    refuses(13, "float x = {1}", "y = Add(x)", "1 inputs, expected 2 to 2");
    refuses(13, "complex64 x = {1, 2}", "y = Abs(x)", "type complex64");
    refuses(13, "float8e4m3fn x = {1.0}", "y = Abs(x)", "type float8e4m3fn");
    refuses(13, "int4 x = {1}", "y = Abs(x)", "type int4");
    refuses(13, "float x = {1}", "y = Transpose <perm: ints = @p> (x)",
            "attribute 'perm' is one of the function");
    refuses(13, "float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] x = {1}", "y = Abs(x)", "rank 17");
    gives(13, "float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] x = {-1}", "y = Abs(x)",
          "float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] y = {1}");
}
