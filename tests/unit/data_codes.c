/* data_codes.c - samples of floats for graph inputs that take codes: quantized with the scale
 * behind the input, or refused with what to do. */
#include <math.h>

#include "quant/compare/compare_feed.h"
#include "quant/data/quantized_inputs.h"
#include "support/npy_file.h"

#define HEAD "<ir_version: 9, opset_import: [\"\" : 19]>\n"
#define KNOWN                                                                                      \
    HEAD "g (uint8[N,2] x) => (float[N,2] y) <float s = {0.5}, uint8 z = {3}>"                     \
         "{ d = DequantizeLinear(x, s, z) y = Relu(d) }"
#define FLOATS HEAD "g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }"

static qdq_error err;

static qdq_qparam codes_of(const char *text)
{
    qdq_model *m = test_model(text);
    qdq_qparam p;

    assert_ok(qdq_input_codes(m, "x", &p, &err));
    qdq_model_free(m);
    return p;
}

TEST(the_scale_of_an_input_is_that_of_all_its_readers)
{
    const char *const unknown[] = {
        FLOATS, /* no codes */
        HEAD "g (uint8[2] x) => (float[2] y) { y = Cast <to = 1> (x) }",
        HEAD "g (uint8[2] x, float s) => (float[2] y) { y = DequantizeLinear(x, s) }",
        test_graph_text("scale_per_channel"),
        test_graph_text("another_reader"),
        test_graph_text("two_scales"),
        HEAD "g (int32[2] x) => (float[2] y) <float s = {0.5}> { y = DequantizeLinear(x, s) }",
    };
    qdq_qparam p = codes_of(KNOWN);

    assert_int_equal(p.type, QDQ_UINT8);
    assert_true(p.scale == 0.5F);
    assert_int_equal(p.zero_point, 3);
    p = codes_of(test_graph_text("one_scale_in_two_types"));
    assert_int_equal(p.type, QDQ_INT8);
    assert_int_equal(p.zero_point, 0);
    for (size_t i = 0; i < QDQ_COUNT(unknown); i++)
        assert_int_equal(codes_of(unknown[i]).type, QDQ_UNDEFINED);
}

TEST(floats_become_codes_of_the_input)
{
    static const float samples[] = {0, 0.5F, -1, 1000, -7, 1.25F};
    static const double wide[] = {0, 0.5, -1, 1000, -7, 1.25};
    static const uint8_t codes[] = {3, 4, 1,
                                    /* 5.5 goes to the even one, then saturation at both ends */
                                    255, 0, 5};
    const char *files[2];
    qdq_model *m = test_model(KNOWN);

    files[0] = test_npy_file("f.npy", TEST_HEADER("<f4", "(3, 2)"), samples, sizeof samples);
    files[1] = test_npy_file("d.npy", TEST_HEADER("<f8", "(3, 2)"), wide, sizeof wide);
    for (int f = 0; f < 2; f++) {
        const qdq_named_array *in;
        qdq_data *d;
        size_t n;

        assert_ok(qdq_data_open(files[f], m, NULL, &d, &err));
        assert_int_equal(qdq_data_count(d), 3);
        for (size_t i = 0; i < 3; i++) {
            assert_ok(qdq_data_get(d, i, &in, &n, &err));
            assert_int_equal(in->array.elem, QDQ_UINT8);
            assert_int_equal(in->array.bytes, 2);
            assert_memory_equal(in->array.data, codes + 2 * i, 2);
        }
        qdq_data_close(d);
    }
    qdq_model_free(m);
}

TEST(codes_are_taken_as_they_are)
{
    static const uint8_t codes[] = {7, 200};
    qdq_model *m = test_model(KNOWN);
    const qdq_named_array *in;
    qdq_data *d;
    size_t n;

    assert_ok(qdq_data_open(test_npy_file("u.npy", TEST_HEADER("|u1", "(1, 2)"), codes, 2), m, NULL,
                            &d, &err));
    assert_ok(qdq_data_get(d, 0, &in, &n, &err));
    assert_memory_equal(in->array.data, codes, 2);
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(floats_without_a_scale_or_without_a_value_are_refused)
{
    static const float samples[] = {0, 1}, bad[] = {0, NAN};
    const char *sound = test_npy_file("s.npy", TEST_HEADER("<f4", "(1, 2)"), samples, 8);
    qdq_model *m = test_model(HEAD "g (uint8[N,2] x) => (float[N,2] y) { y = Cast <to = 1> (x) }");
    const qdq_named_array *in;
    qdq_data *d = NULL;
    size_t n;

    assert_fails(QDQ_E_FORMAT,
                 "it is float [1, 2], input 'x' is uint8 [N, 2], and no DequantizeLinear with one "
                 "constant scale "
                 "reads it: expected an array of uint8",
                 qdq_data_open(sound, m, NULL, &d, &err));
    qdq_model_free(m);
    m = test_model(KNOWN);
    assert_ok(qdq_data_open(test_npy_file("n.npy", TEST_HEADER("<f4", "(1, 2)"), bad, 8), m, NULL,
                            &d, &err));
    assert_fails(QDQ_E_FORMAT, "element 1 is NaN or infinite", qdq_data_get(d, 0, &in, &n, &err));
    qdq_data_close(d);
    qdq_model_free(m);
}

/* One model of a comparison takes floats, the other one codes. */
TEST(samples_of_one_model_are_fed_to_the_other)
{
    float x[2] = {0.5F, -1};
    qdq_named_array given = {"x", {QDQ_FLOAT, 2, {1, 2}, x, sizeof x}};
    const qdq_named_array *in = &given;
    qdq_model *floats = test_model(FLOATS), *codes = test_model(KNOWN);
    qdq_model *none =
        test_model(HEAD "g (uint8[N,2] x) => (float[N,2] y) { y = Cast <to = 1> (x) }");
    qdq_arena memory = QDQ_ARENA_INIT;

    assert_ok(qdq_compare_feed(floats, floats, &in, 1, &memory, &err));
    assert_ptr_equal(in, &given);
    assert_ok(qdq_compare_feed(codes, floats, &in, 1, &memory, &err));
    assert_int_equal(in->array.elem, QDQ_UINT8);
    assert_int_equal(in->array.bytes, 2);
    assert_memory_equal(in->array.data, ((uint8_t[]){4, 1}), 2);
    assert_ok(qdq_compare_feed(floats, codes, &in, 1, &memory, &err));
    assert_int_equal(in->array.elem, QDQ_FLOAT);
    assert_memory_equal(in->array.data, x, sizeof x);
    in = &given;
    assert_fails(QDQ_E_UNSUPPORTED, "input 'x' is uint8 here and float in the samples",
                 qdq_compare_feed(none, floats, &in, 1, &memory, &err));
    qdq_arena_free(&memory);
    qdq_model_free(floats);
    qdq_model_free(codes);
    qdq_model_free(none);
}
