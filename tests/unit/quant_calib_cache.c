/* quant_calib_cache.c - calibration caches: what a line says is the scale that a plan gets, and
 * what is written back. */
#include "base/file.h"
#include "quant/calib/calib.h"
#include "quant/calib/calib_cache.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/test.h"

#define HEAD "TRT-8601-EntropyCalibration2\n"

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static qdq_plan *plan_of(const char *const *tensors, const float *scales, size_t n)
{
    qdq_plan *p = qdq_plan_new();

    assert_non_null(p);
    for (size_t i = 0; i < n; i++) {
        qdq_plan_tensor t = {.tensor = tensors[i], .all = true, .rule = "", .origin = "rule"};

        t.qparam = (qdq_qparam){QDQ_INT8, scales != NULL ? scales[i] : 0, 0};
        assert_true(QDQ_PUSH(&p->arena, &p->tensors, t));
    }
    return p;
}

TEST(a_line_of_tensorrt_is_the_scale)
{
    static const char text[] = HEAD "t: 3d4ccccd\n";
    const qdq_qscheme int8 = {.type = QDQ_INT8, .symmetric = true};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_cache c;
    qdq_qparam p;

    assert_ok(qdq_cache_parse(text, sizeof text - 1, "cache", &c, &err));
    assert_int_equal(c.ranges.n, 1);
    assert_string_equal(c.ranges.at[0].tensor, "t");
    assert_true(c.ranges.at[0].range.high == 127 * (double)0.05F);
    assert_true(c.ranges.at[0].range.low == -c.ranges.at[0].range.high);
    assert_true(
        qdq_qparam_from_range(&int8, c.ranges.at[0].range.low, c.ranges.at[0].range.high, &p));
    assert_true(p.scale == 0.05F && p.scale == float_of(0x3d4ccccd));
    assert_int_equal(p.zero_point, 0);
    qdq_cache_free(&c);
}

TEST(the_last_colon_of_a_line_counts)
{
    static const char text[] = HEAD "a: b: 3d4ccccd\r\n\n/x/Conv:0: 3F800000\n";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_cache c;

    assert_ok(qdq_cache_parse(text, sizeof text - 1, "cache", &c, &err));
    assert_int_equal(c.ranges.n, 2);
    assert_string_equal(c.ranges.at[0].tensor, "a: b");
    assert_string_equal(c.ranges.at[1].tensor, "/x/Conv:0");
    assert_true(c.ranges.at[1].range.high == 127);
    qdq_cache_free(&c);
}

static const char *cache_file(const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *path = test_path("ranges.cache");

    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
    return path;
}

/* No engine is there: nothing is left to calibrate. */
TEST(a_plan_gets_the_scale_of_the_line)
{
    static const char *const names[] = {"x", "c"};
    test_builder b = test_build(17);
    qdq_quantize_opts opts = {.cache = cache_file(HEAD "c: 3d4ccccd\nx: 3ca3d70a\n")};
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = plan_of(names, NULL, 2);
    qdq_target *t = NULL;
    qdq_data *d = NULL;

    TEST_INPUT(&b, "x", 1, 4, 8, 8);
    test_conv(&b, "c", "x", 8, 4, 3, 1);
    test_output(&b, "c");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_target_load("tensorrt", &t, &err));
    assert_ok(qdq_data_open("random:1", m, &dopts, &d, &err));
    const qdq_quantizing q = {m, t, .data = d, .opts = &opts, .plan = p};
    assert_ok(qdq_calibrate(&q, NULL, &err));
    assert_true(p->tensors.at[0].qparam.scale == 0.02F);
    assert_true(p->tensors.at[1].qparam.scale == 0.05F);
    assert_int_equal(p->tensors.at[1].qparam.zero_point, 0);
    qdq_data_close(d);
    qdq_target_free(t);
    qdq_plan_free(p);
    qdq_model_free(m);
}

static void assert_written(const qdq_plan *p, const char *name, const char *want)
{
    qdq_error err = QDQ_ERROR_INIT;
    char have[400] = {0};
    FILE *f;

    assert_ok(qdq_plan_save_ranges(p, test_path("%s", name), true, &err));
    f = fopen(test_path("%s", name), "rb");
    assert_non_null(f);
    assert_true(fread(have, 1, sizeof have - 1, f) > 0);
    fclose(f);
    assert_string_equal(have, want);
}

TEST(a_scale_is_written_as_the_line_that_it_is_read_from)
{
    static const char *const names[] = {"t"};
    static const float scale[] = {0.05F};
    qdq_plan *p = plan_of(names, scale, 1);

    assert_written(p, "t.cache", HEAD "t: 3d4ccccd\n");
    qdq_plan_free(p);
}

/* Bodies have a range of their own for what they capture; a cache has one for all. */
TEST(one_line_spans_all_entries_of_a_tensor)
{
    static const char *const names[] = {"a", "a", "b"};
    static const float scales[] = {0.02F, 0.05F, 1};
    qdq_plan *p = plan_of(names, scales, 3);

    assert_written(p, "wide.cache", HEAD "a: 3d4ccccd\nb: 3f800000\n");
    p->tensors.at[1].qparam.type = QDQ_INT16; /* not of the same type */
    assert_written(p, "first.cache", HEAD "a: 3ca3d70a\nb: 3f800000\n");
    qdq_plan_free(p);
}

TEST(ranges_of_a_tensor_whose_name_is_no_utf8_are_no_lack_of_memory)
{
    const char *const name = "caf\xe9";
    const float scale = 1;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = plan_of(&name, &scale, 1);
    const char *path = test_path("latin.json");

    assert_ok(qdq_plan_save_ranges(p, path, true, &err));
    qdq_plan_free(p);
}
