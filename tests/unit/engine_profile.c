/* engine_profile.c - profiles of ONNX Runtime as text: what counts, and what is repaired. */
#include <math.h>

#include "engine/ort/ort_session.h"
#include "support/test.h"

#define assert_near(x, want, by) assert_true(fabs((double)(x) - (double)(want)) <= (by))

static qdq_error err;
static unsigned n_logged;

static void count_log(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)text;
    n_logged++;
}

#define NODE(name, us, op, index)                                                                  \
    "{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :1,\"dur\" :" us                                       \
    ",\"ts\" :1,\"ph\" : \"X\",\"name\" :\"" name "_kernel_time\",\"args\" : {\"op_name\" : \"" op \
    "\",\"node_index\" : \"" index "\",\"input_type_shape\" : [{\"uint8\":[1,8]}]}},\n"
#define RUN                                                                                        \
    "{\"cat\" : \"Session\",\"pid\" :1,\"tid\" :1,\"dur\" :9,\"ts\" :1,\"ph\" : \"X\",\"name\" "   \
    ":\"model_run\",\"args\" : {}},\n"

static qdq_status parse(const char *body, qdq_layer **l, size_t *n)
{
    qdq_job job = QDQ_JOB_INIT;
    char text[8000];

    job.log = count_log;
    n_logged = 0;
    *l = NULL;
    *n = 0;
    snprintf(text, sizeof text, "[\n%s]\n", body);
    return qdq_ort_profile_parse(text, &job, l, n, &err);
}

TEST(the_first_run_and_an_unfinished_one_do_not_count)
{
    qdq_layer *l;
    size_t n;

    /* warm-up */
    assert_ok(parse(NODE("a", "1000", "Conv", "0") NODE("b", "1", "Relu", "1")
                        RUN NODE("a", "10", "Conv", "0") NODE("b", "2", "Relu", "1") RUN /* 1 */
                            NODE("a", "20", "Conv", "0") NODE("b", "4", "Relu", "1") RUN /* 2 */
                                /* cut off */
                                NODE("a", "9999", "Conv", "0"),
                    &l, &n));
    assert_int_equal(n, 2);
    assert_string_equal(l[0].layer, "a");
    assert_string_equal(l[0].op, "Conv");
    assert_near(l[0].median_us, 15, 1e-9);
    assert_int_equal(l[0].runs, 2);
    assert_near(l[1].median_us, 3, 1e-9);
    assert_int_equal(n_logged, 0);
    qdq_free(l);
}

TEST(nodes_of_one_name_are_kept_apart_by_kernel_and_number)
{
    qdq_layer *l;
    size_t n;

    assert_ok(parse(RUN NODE("", "1", "Conv", "0") NODE("", "2", "Conv", "1")
                        NODE("", "3", "Relu", "1") RUN,
                    &l, &n));
    assert_int_equal(n, 3);
    qdq_free(l);
}

TEST(other_events_are_passed_over)
{
    qdq_layer *l;
    size_t n;

    assert_ok(parse(
        "{\"cat\" : \"Node\",\"dur\" :5,\"name\" :\"a_fence_before\",\"args\" : {}},\n" RUN NODE(
            "a", "7", "Conv", "0") "{\"cat\" : \"Node\",\"dur\" :5,\"name\" :\"a_fence_after\","
                                   "\"args\" : {}},\n" RUN,
        &l, &n));
    assert_int_equal(n, 1);
    assert_near(l[0].median_us, 7, 1e-9);
    qdq_free(l);
}

/* Names are not escaped. */
TEST(names_that_break_json_are_repaired)
{
    qdq_layer *l;
    size_t n;

    assert_ok(parse(RUN NODE("say \"hi\" \\ there", "4", "Conv", "0")
                        NODE("two\nlines\t", "5", "Relu", "1") RUN,
                    &l, &n));
    assert_int_equal(n, 2);
    assert_string_equal(l[0].layer, "say \"hi\" \\ there");
    assert_string_equal(l[1].layer, "two\nlines\t");
    assert_near(l[1].median_us, 5, 1e-9);
    assert_int_equal(n_logged, 0);
    qdq_free(l);
}

/* Files hold them as bytes, and so do models. */
TEST(names_that_are_no_utf8_arrive_byte_for_byte)
{
    qdq_layer *l;
    size_t n;

    assert_ok(parse(RUN NODE("\xff\xc3(, a]b", "4", "Conv", "0")
                        NODE("\xe2\x82 \"q\" \x01", "5", "Relu", "1") RUN,
                    &l, &n));
    assert_int_equal(n, 2);
    assert_string_equal(l[0].layer, "\xff\xc3(, a]b");
    assert_string_equal(l[1].layer, "\xe2\x82 \"q\" \x01");
    assert_int_equal(n_logged, 0);
    qdq_free(l);
}

TEST(events_without_a_time_that_counts_are_told)
{
    static const char *const times[] = {"NaN", "nan", "-5", "1e308", "Infinity", "\"7\"", "null"};
    char text[2000];
    qdq_layer *l;
    size_t n;

    for (size_t i = 0; i < QDQ_COUNT(times); i++) {
        snprintf(text, sizeof text,
                 RUN NODE("odd", "%s", "Conv", "0") NODE("a", "4", "Conv", "1") RUN, times[i]);
        assert_ok(parse(text, &l, &n));
        assert_int_equal(n, 1);
        assert_string_equal(l[0].layer, "a");
        assert_int_equal(n_logged, 1);
        qdq_free(l);
    }
    assert_ok(parse(RUN "{\"cat\" : \"Node\",\"name\" :\"b_kernel_time\"},\n{},\n" NODE(
                        "a", "4", "Conv", "1") RUN,
                    &l, &n));
    assert_int_equal(n, 1);
    qdq_free(l);
}

TEST(events_that_cannot_be_read_are_told)
{
    qdq_layer *l;
    size_t n;

    assert_ok(parse(RUN "{\"cat\" : nonsense},\n" NODE("a", "4", "Conv", "0") RUN, &l, &n));
    assert_int_equal(n, 1);
    assert_int_equal(n_logged, 1);
    qdq_free(l);
}

TEST(a_profile_without_runs_is_an_error)
{
    qdq_layer *l;
    size_t n;

    assert_fails(QDQ_E_ENGINE, "found 0 runs and 0 layers", parse("", &l, &n));
    assert_fails(QDQ_E_ENGINE, "found 1 runs and 1 layers",
                 parse(NODE("a", "4", "Conv", "0") RUN, &l, &n));
    assert_fails(QDQ_E_ENGINE, "found 0 runs", parse("}{\\\"", &l, &n));
    assert_null(l);
}
