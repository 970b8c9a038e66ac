/* engine_sim.c - the simulated engine: costs that can be added up by hand, noise that repeats,
 * outputs, failures; and, because it is the engine that every machine has, what all engines share:
 * inputs, shapes, exposed tensors, interleaved timing. */
#include <math.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/random.h"
#include "engine/engine_ops.h"
#include "support/test.h"

#define assert_near(x, want, by) assert_true(fabs((double)(x) - (double)(want)) <= (by))

static qdq_error err;

/* --- models and engines ----------------------------------------------------------------------- */

static const char conv_float[] = "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                                 "g (float[N,1,4,4] x) => (float[N,1,4,4] y)\n"
                                 "<float[1,1,1,1] w = {2}>\n"
                                 "{\n"
                                 "  [conv] t = Conv(x, w)\n"
                                 "  [relu] y = Relu(t)\n"
                                 "}\n";

/* P stands for a prefix of the inserted names. */
#define CONV_INT8(P)                                                                               \
    "<ir_version: 9, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[N,1,4,4] x) => (float[N,1,4,4] y)\n"                                                 \
    "<int8[1,1,1,1] w = {2}, float s = {0.1}, uint8 z = {0}, int8 zw = {0}>\n"                     \
    "{\n"                                                                                          \
    "  " P "xq = QuantizeLinear(x, s, z)\n"                                                        \
    "  " P "xd = DequantizeLinear(" P "xq, s, z)\n"                                                \
    "  " P "wd = DequantizeLinear(w, s, zw)\n"                                                     \
    "  [conv] t = Conv(" P "xd, " P "wd)\n"                                                        \
    "  [relu] r = Relu(t)\n"                                                                       \
    "  " P "rq = QuantizeLinear(r, s, z)\n"                                                        \
    "  y = DequantizeLinear(" P "rq, s, z)\n"                                                      \
    "}\n"

static const char conv_int8[] = CONV_INT8("");

#define COSTS                                                                                      \
    "\"overhead_us\": 10, \"default\": {\"float_us\": 2}, \"convert\": {\"float_us\": 5},"         \
    "\"ops\": {\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true,"  \
    "\"epilogue\": [\"Relu\"]}}"

static qdq_status open_sim(const char *json, qdq_engine **e)
{
    char spec[600];

    assert_ok(qdq_write_file(test_path("sim.json"), true, json, strlen(json), &err));
    snprintf(spec, sizeof spec, "sim:%s", test_path("sim.json"));
    return qdq_engine_open(spec, NULL, e, &err);
}

static qdq_engine *sim(const char *json)
{
    qdq_engine *e = NULL;

    assert_ok(open_sim(json, &e));
    return e;
}

typedef struct opened {
    qdq_engine *e;
    qdq_model *m;
    qdq_session *s;
} opened;

static opened open_all(const char *json, const char *text, const qdq_session_opts *opts)
{
    opened o = {.e = sim(json), .m = test_model(text)};

    assert_ok(qdq_session_open(o.e, o.m, opts, &o.s, &err));
    return o;
}

static void close_all(opened *o)
{
    qdq_session_close(o->s);
    qdq_model_free(o->m);
    qdq_engine_close(o->e);
}

/* Median of a run in microseconds. */
static double time_of(const char *json, const char *text)
{
    opened o = open_all(json, text, NULL);
    qdq_bench_model result;

    assert_ok(qdq_bench(&o.s, 1, NULL, &result, &err));
    close_all(&o);
    return result.median_ms * 1e3;
}

/* --- costs ------------------------------------------------------------------------------------ */

static void float_nodes_cost_what_the_model_says(void **state)
{
    (void)state;
    /* Relu is in the epilogue */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}", conv_float), 110, 1e-6);
}

/* The first input has uint8 codes. */
static void an_8_bit_kernel_takes_as_long_as_its_type_of_codes_says(void **state)
{
    (void)state;
    assert_near(time_of("{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"int8_us\": 30, \"inputs\": 2, "
                        "\"types\": {\"uint8\": "
                        "2}}}, \"convert\": {}, \"default\": {}}",
                        conv_int8),
                60, 1e-6);
    assert_near(time_of("{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"int8_us\": 30, \"inputs\": 2, "
                        "\"types\": {\"int8\": "
                        "2}}}, \"convert\": {}, \"default\": {}}",
                        conv_int8),
                30, 1e-6);
}

static void a_fused_unit_pays_only_for_its_outer_conversions(void **state)
{
    (void)state;
    /* 10 overhead, 30 kernel, 5 for the Q of the input, 5 for the DQ of the output */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}", conv_int8), 50, 1e-6);
}

static void without_a_q_behind_it_the_kernel_stays_float(void **state)
{
    (void)state;
    /* 10 + 100 + three conversions of 5, the weight's included: it runs each time */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}",
                        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                        "g (float[N,1,4,4] x) => (float[N,1,4,4] y)\n"
                        "<int8[1,1,1,1] w = {2}, float s = {0.1}, uint8 z = {0}, int8 zw = {0}>\n"
                        "{ xq = QuantizeLinear(x, s, z)\n xd = DequantizeLinear(xq, s, z)\n"
                        "  wd = DequantizeLinear(w, s, zw)\n t = Conv(xd, wd)\n y = Relu(t) }\n"),
                125, 1e-6);
}

static void a_second_reader_breaks_the_unit(void **state)
{
    (void)state;
    /* The Conv's result is an output as well: float, and all four conversions cost. */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}",
                        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                        "g (float[N,1,4,4] x) => (float[N,1,4,4] y, float[N,1,4,4] t)\n"
                        "<int8[1,1,1,1] w = {2}, float s = {0.1}, uint8 z = {0}, int8 zw = {0}>\n"
                        "{ xq = QuantizeLinear(x, s, z)\n xd = DequantizeLinear(xq, s, z)\n"
                        "  wd = DequantizeLinear(w, s, zw)\n t = Conv(xd, wd)\n"
                        "  tq = QuantizeLinear(t, s, z)\n y = DequantizeLinear(tq, s, z) }\n"),
                10 + 100 + 5 * 5, 1e-6);
}

static void costs_grow_with_elements_and_single_nodes_have_their_own(void **state)
{
    static const char text[] = "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                               "g (float[N,1000] x) => (float[N,1000] y)\n"
                               "{ [a] t = Relu(x)\n [b] y = Relu(t) }\n";
    static const char json[] =
        "{\"qdq_sim\": 1, \"ops\": {\"Relu\": {\"float_us\": 1, \"float_us_per_k\": 3}},"
        "\"nodes\": {\"b\": {\"float_us\": 50}}}";
    qdq_input_shape shape = {"x", 2, {4, 1000}};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_bench_model result;

    (void)state;
    assert_near(time_of(json, text), 1 + 3 + 50, 1e-6); /* symbolic dims count as 1 */
    opts.shapes = &shape;
    opts.n_shapes = 1;
    opened o = open_all(json, text, &opts);
    assert_ok(qdq_bench(&o.s, 1, NULL, &result, &err));
    assert_near(result.median_ms * 1e3, 1 + 12 + 50, 1e-6);
    close_all(&o);
}

static void the_profile_lists_what_is_executed(void **state)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in;
    qdq_layer *l;
    size_t n_in, n;

    (void)state;
    opts.profile = true;
    opened o = open_all("{\"qdq_sim\": 1, " COSTS "}", conv_int8, &opts);
    assert_ok(qdq_random_inputs(o.s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_profile(o.s, in, n_in, 3, &l, &n, &err));
    assert_int_equal(n, 3);
    assert_string_equal(l[0].name, "QuantizeLinear@xq");
    assert_string_equal(l[0].op, "QuantizeLinear");
    assert_string_equal(l[1].name, "conv");
    assert_string_equal(l[1].op, "QLinearConv");
    assert_near(l[1].median_us, 30, 1e-9);
    assert_int_equal(l[1].runs, 3);
    assert_string_equal(l[2].op, "DequantizeLinear");
    qdq_free(l);
    assert_fails(QDQ_E_USAGE, "not yet profiled",
                 qdq_session_profile(o.s, in, n_in, 3, &l, &n, &err));
    qdq_free(in);
    close_all(&o);
}

static void a_session_opened_without_profile_has_none(void **state)
{
    qdq_layer *l;
    size_t n;

    (void)state;
    opened o = open_all("{\"qdq_sim\": 1}", conv_float, NULL);
    assert_fails(QDQ_E_USAGE, "opened with `profile`",
                 qdq_session_profile(o.s, NULL, 0, 3, &l, &n, &err));
    assert_null(l);
    close_all(&o);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* "a + b" */
static const char *nodes_of(const qdq_group *g)
{
    static char text[200];

    text[0] = '\0';
    for (size_t i = 0; i < g->n_nodes; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " + " : "",
                 g->node[i]);
    return text;
}

static void groups_name_the_nodes_of_every_kernel(void **state)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in;
    qdq_group *g;
    size_t n_in, n;

    (void)state;
    opts.groups = true;
    opened o = open_all("{\"qdq_sim\": 1, " COSTS "}", conv_int8, &opts);
    assert_true((qdq_engine_get_info(o.e)->capabilities & QDQ_CAN_GROUP) != 0);
    assert_ok(qdq_random_inputs(o.s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_groups(o.s, in, n_in, 3, &g, &n, &err));
    assert_int_equal(n, 3);
    assert_string_equal(g[0].layer, "QuantizeLinear@xq");
    assert_string_equal(nodes_of(&g[0]), "QuantizeLinear@xq");
    assert_true(g[0].conversion && !g[1].conversion && g[2].conversion);
    assert_string_equal(g[0].in_type, "f32");
    assert_string_equal(g[0].out_type, "u8");
    assert_string_equal(g[1].op, "QLinearConv");
    assert_string_equal(
        nodes_of(&g[1]),
        "DequantizeLinear@xd + DequantizeLinear@wd + conv + relu + QuantizeLinear@rq");
    assert_string_equal(g[1].in_type, "u8");
    assert_string_equal(g[1].out_type, "u8");
    assert_int_equal(g[1].source, QDQ_GROUP_EXACT);
    assert_near(g[1].median_us, 30, 1e-9);
    qdq_free(g);
    assert_fails(QDQ_E_USAGE, "not yet asked", qdq_session_groups(o.s, in, n_in, 3, &g, &n, &err));
    assert_true(g == NULL && n == 0);
    qdq_free(in);
    close_all(&o);
}

static void groups_without_runs_have_no_times(void **state)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_group *g;
    size_t n;

    (void)state;
    opts.groups = true;
    opened o = open_all("{\"qdq_sim\": 1, " COSTS "}", conv_float, &opts);
    assert_ok(qdq_session_groups(o.s, NULL, 0, 0, &g, &n, &err));
    assert_int_equal(n, 1);
    assert_string_equal(nodes_of(&g[0]), "conv + relu");
    assert_string_equal(g[0].in_type, "f32");
    assert_true(isnan(g[0].median_us));
    qdq_free(g);
    close_all(&o);
    o = open_all("{\"qdq_sim\": 1, " COSTS "}", conv_float, NULL);
    assert_fails(QDQ_E_USAGE, "opened with `groups`",
                 qdq_session_groups(o.s, NULL, 0, 0, &g, &n, &err));
    close_all(&o);
}

static void a_fingerprint_says_what_times_depend_on(void **state)
{
    qdq_engine *e = sim("{\"qdq_sim\": 1, \"device\": \"toaster\"}");

    (void)state;
    assert_string_equal(qdq_engine_get_info(e)->fingerprint, "sim 1 toaster");
    qdq_engine_close(e);
}

/* --- noise ------------------------------------------------------------------------------------ */

#define NOISY "{\"qdq_sim\": 1, \"noise\": 0.05, " COSTS ", \"seed\": "

static void noise_repeats_and_does_not_depend_on_inserted_names(void **state)
{
    double a = time_of(NOISY "1}", conv_int8);

    (void)state;
    assert_true(a > 47.5 && a < 52.5);
    assert_true(a == time_of(NOISY "1}", conv_int8));
    assert_true(a == time_of(NOISY "1}", CONV_INT8("other_")));
    assert_true(a != time_of(NOISY "2}", conv_int8));
}

static void bench_finds_the_true_ratio_within_its_interval(void **state)
{
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    opened a = open_all(NOISY "3, \"outlier_rate\": 0.1, \"outlier_factor\": 4}", conv_float, NULL);
    qdq_model *m = test_model(conv_int8);
    qdq_session *s[2] = {a.s, NULL};
    qdq_bench_model r[2];

    (void)state;
    assert_ok(qdq_session_open(a.e, m, NULL, &s[1], &err));
    opts.rounds = 200;
    assert_ok(qdq_bench(s, 2, &opts, r, &err));
    assert_near(r[0].speedup, 1, 0);
    assert_near(r[0].ci_low, 1, 0);
    assert_near(r[1].speedup, 110.0 / 50, 0.05);
    assert_true(r[1].ci_low < 2.2 && 2.2 < r[1].ci_high && r[1].ci_high - r[1].ci_low < 0.1);
    assert_true(r[1].p10_ms < r[1].median_ms && r[1].median_ms < r[1].p90_ms);
    /* 5 ms a leg: 46 runs of 110 us, 100 of 50 us, give or take the noise */
    assert_in_range(r[0].runs / 200, 44, 49);
    assert_in_range(r[1].runs / 200, 95, 106);
    qdq_session_close(s[1]);
    qdq_model_free(m);
    close_all(&a);
}

static void bench_stops_by_time_when_no_rounds_are_given(void **state)
{
    opened o = open_all("{\"qdq_sim\": 1, \"overhead_us\": 1000000}", conv_float, NULL);
    qdq_bench_model r;

    (void)state;
    assert_ok(qdq_bench(&o.s, 1, NULL, &r, &err));
    assert_int_equal(r.runs, 20); /* a second each: no more than the least */
    close_all(&o);
    o = open_all("{\"qdq_sim\": 1, \"overhead_us\": 10000}", conv_float, NULL);
    assert_ok(qdq_bench(&o.s, 1, NULL, &r, &err));
    assert_in_range(r.runs, 195, 205); /* 2 s of 10 ms */
    close_all(&o);
}

static void bench_with_little_time_measures_less_or_says_that_it_cannot(void **state)
{
    opened o = open_all("{\"qdq_sim\": 1, \"overhead_us\": 1000000}", conv_float, NULL);
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model r;

    (void)state;
    opts.max_ms = 1e-6; /* over before it began */
    assert_fails(QDQ_E_UNSUPPORTED, "0 ms were over after 0 rounds: expected enough for 6",
                 qdq_bench(&o.s, 1, &opts, &r, &err));
    opts.max_ms = 1e9; /* of the clock, not of the engine's virtual one */
    assert_ok(qdq_bench(&o.s, 1, &opts, &r, &err));
    assert_int_equal(r.runs, 20);
    opts.max_ms = 23; /* legs of half a ms, where 5 are usual */
    close_all(&o);
    o = open_all("{\"qdq_sim\": 1, \"overhead_us\": 50}", conv_float, NULL);
    opts.rounds = 6;
    assert_ok(qdq_bench(&o.s, 1, &opts, &r, &err));
    assert_in_range(r.runs, 6 * 2, 6 * 30);
    close_all(&o);
}

static void bench_of_nothing_and_a_cancelled_one_end_with_a_reason(void **state)
{
    opened o = open_all("{\"qdq_sim\": 1}", conv_float, NULL);
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_bench_model r;
    qdq_cancel *cancel = qdq_cancel_new();

    (void)state;
    assert_fails(QDQ_E_USAGE, "bench of no models", qdq_bench(NULL, 0, NULL, &r, &err));
    qdq_cancel_set(cancel);
    job.cancel = cancel;
    opts.job = &job;
    assert_fails(QDQ_E_INTERRUPTED, "interrupted", qdq_bench(&o.s, 1, &opts, &r, &err));
    assert_near(r.median_ms, 0, 0);
    qdq_cancel_free(cancel);
    close_all(&o);
}

/* --- inputs ----------------------------------------------------------------------------------- */

typedef struct seen {
    char names[200];
    float first, least;
    double sum;
    int64_t count;
    qdq_array last;
} seen;

static qdq_status look(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    seen *s = ctx;

    (void)e;
    size_t used = strlen(s->names);
    snprintf(s->names + used, sizeof s->names - used, "%s;", name);
    s->last = *a;
    s->count = qdq_array_count(a);
    s->sum = 0;
    for (int64_t i = 0; a->elem == QDQ_FLOAT && i < s->count; i++) {
        float x = ((float *)a->data)[i];
        s->sum += x;
        s->least = i == 0 || x < s->least ? x : s->least;
    }
    if (a->elem == QDQ_FLOAT && s->count > 0)
        s->first = ((float *)a->data)[0];
    return QDQ_OK;
}

static void inputs_that_do_not_fit_are_refused_with_both_sides(void **state)
{
    float x[32] = {0};
    qdq_named_array in[2] = {{"x", {QDQ_FLOAT, 4, {2, 1, 4, 4}, x, sizeof x}}};
    opened o = open_all("{\"qdq_sim\": 1}", conv_float, NULL);

    (void)state;
    in[1] = in[0];
    assert_ok(qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    assert_fails(QDQ_E_USAGE, "input 'x' is missing",
                 qdq_session_run(o.s, NULL, 0, NULL, NULL, &err));
    assert_fails(QDQ_E_USAGE, "input 'x' is given twice",
                 qdq_session_run(o.s, in, 2, NULL, NULL, &err));
    in[1].name = "mask";
    assert_fails(QDQ_E_USAGE, "no input is named 'mask': the inputs are 'x'",
                 qdq_session_run(o.s, in, 2, NULL, NULL, &err));
    in[0].array.elem = QDQ_INT32;
    assert_fails(QDQ_E_USAGE, "input 'x' is int32: expected float",
                 qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.elem = QDQ_STRING;
    assert_fails(QDQ_E_UNSUPPORTED, "of strings", qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.elem = QDQ_FLOAT;
    in[0].array.dim[1] = 3;
    assert_fails(QDQ_E_USAGE, "input 'x' has shape 2x3x4x4: expected Nx1x4x4",
                 qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.rank = 0;
    assert_fails(QDQ_E_USAGE, "has shape scalar", qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.rank = 99;
    assert_fails(QDQ_E_USAGE, "has rank 99", qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.rank = 4;
    in[0].array.dim[1] = -1;
    assert_fails(QDQ_E_USAGE, "has dim -1 at axis 1",
                 qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    in[0].array.dim[1] = 1;
    in[0].array.bytes = 4;
    assert_fails(QDQ_E_USAGE, "has 4 bytes of data: its shape needs 128",
                 qdq_session_run(o.s, in, 1, NULL, NULL, &err));
    close_all(&o);
}

static void shapes_that_do_not_fit_the_model_are_refused(void **state)
{
    static const char two[] =
        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
        "g (float[N,4] a, float[N,4] b) => (float[N,4] y) { y = Add(a, b) }\n";
    static const struct {
        qdq_input_shape shape;
        const char *part;
    } bad[] = {
        {{"c", 2, {1, 4}}, "shape for 'c': the model has no such input"},
        {{"a", 3, {1, 4, 4}}, "has rank 3: expected 2"},
        {{"a", 2, {1, 5}}, "has 5 at axis 1: the model fixes it to 4"},
        {{"a", 2, {-2, 4}}, "has dim -2 at axis 0"},
    };
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = sim("{\"qdq_sim\": 1}");
    qdq_model *m = test_model(two);
    qdq_session *s;
    qdq_io io;

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(bad); i++) {
        opts.shapes = &bad[i].shape;
        opts.n_shapes = 1;
        assert_fails(QDQ_E_USAGE, bad[i].part, qdq_session_open(e, m, &opts, &s, &err));
        assert_null(s);
    }
    const qdq_input_shape clash[] = {{"a", 2, {2, 4}}, {"b", 2, {3, 4}}};
    opts.shapes = clash;
    opts.n_shapes = 2;
    assert_fails(QDQ_E_USAGE, "dim 'N' would be 2 in input 'a' and 3 in input 'b'",
                 qdq_session_open(e, m, &opts, &s, &err));
    opts.n_shapes = 1; /* a symbol that is fixed once is fixed everywhere */
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_true(qdq_session_input(s, 1, &io));
    assert_string_equal(io.name, "b");
    assert_int_equal(io.dim[0], 2);
    assert_true(qdq_session_output(s, 0, &io));
    assert_int_equal(io.dim[0], 2);
    assert_false(qdq_session_output(s, 1, &io));
    qdq_session_close(s);
    qdq_model_free(m);
    qdq_engine_close(e);
}

static void random_inputs_repeat_and_follow_the_types(void **state)
{
    opened o = open_all("{\"qdq_sim\": 1}",
                        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                        "g (float[N,100] x, int64[20] i) => (float[N,100] y) { y = Relu(x) }\n",
                        NULL);
    qdq_named_array *a, *b;
    size_t n;

    (void)state;
    assert_ok(qdq_random_inputs(o.s, 5, &a, &n, &err));
    assert_ok(qdq_random_inputs(o.s, 5, &b, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(a[0].name, "x");
    assert_int_equal(a[0].array.dim[0], 1);
    assert_int_equal(a[0].array.bytes, 400);
    assert_memory_equal(a[0].array.data, b[0].array.data, 400);
    assert_int_equal((uintptr_t)a[1].array.data % 64, 0);
    for (int i = 0; i < 20; i++)
        assert_in_range(((int64_t *)a[1].array.data)[i], 0, 1);
    qdq_free(b);
    assert_ok(qdq_random_inputs(o.s, 6, &b, &n, &err));
    assert_memory_not_equal(a[0].array.data, b[0].array.data, 400);
    qdq_free(a);
    qdq_free(b);
    close_all(&o);
}

/* --- outputs ---------------------------------------------------------------------------------- */

static seen run_on(qdq_session *s, uint64_t seed, int64_t batch)
{
    float x[64];
    qdq_array a = {QDQ_FLOAT, 4, {batch, 1, 4, 4}, x, (size_t)batch * 16 * sizeof *x};
    seen result = {0};

    assert_true(qdq_random_fill(&a, seed, "x"));
    qdq_named_array in = {"x", a};
    assert_ok(qdq_session_run(s, &in, 1, look, &result, &err));
    return result;
}

static void outputs_repeat_and_depend_on_the_inputs(void **state)
{
    opened o = open_all("{\"qdq_sim\": 1}", conv_float, NULL);
    seen a = run_on(o.s, 1, 1), b = run_on(o.s, 1, 1), c = run_on(o.s, 2, 1), d = run_on(o.s, 1, 3);

    (void)state;
    assert_string_equal(a.names, "y;");
    assert_int_equal(a.count, 16);
    assert_true(a.sum == b.sum);
    assert_true(a.sum != c.sum);
    assert_int_equal(d.count, 48); /* shapes follow the inputs */
    assert_int_equal(d.last.dim[0], 3);
    close_all(&o);
}

static void what_a_relu_makes_is_not_negative(void **state)
{
    opened o = open_all("{\"qdq_sim\": 1}", conv_float, NULL);
    seen r = run_on(o.s, 1, 4);

    (void)state;
    assert_true(r.least == 0 && r.sum > 0);
    close_all(&o);
}

static void a_relu_is_seen_through_q_and_dq(void **state)
{
    opened f = open_all("{\"qdq_sim\": 1}", conv_float, NULL);
    opened q = open_all("{\"qdq_sim\": 1}", conv_int8, NULL);
    seen a = run_on(f.s, 1, 4), b = run_on(q.s, 1, 4);

    (void)state;
    assert_near(a.sum, b.sum, 0); /* no error in this cost model: the very same numbers */
    assert_near(b.least, 0, 0);
    close_all(&f);
    close_all(&q);
}

static void eight_bit_kernels_add_the_error_of_the_cost_model(void **state)
{
    static const char json[] = "{\"qdq_sim\": 1, \"error\": 0.01,"
                               "\"ops\": {\"MatMul\": {\"int8_us\": 1, \"inputs\": 2}}}";
    static const char head[] =
        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
        "g (float[B,1,4,4] x) => (float[B,1,4,4] y) <float s = {1}, uint8 z = {0}>\n";
    char text[1000];

    (void)state;
    snprintf(text, sizeof text, "%s{ y = MatMul(x, x) }", head);
    opened f = open_all(json, text, NULL);
    snprintf(text, sizeof text,
             "%s{ q = QuantizeLinear(x, s, z)\n d = DequantizeLinear(q, s, z)\n y = MatMul(d, d) }",
             head);
    opened q = open_all(json, text, NULL);
    seen a = run_on(f.s, 1, 4), b = run_on(q.s, 1, 4);
    assert_true(a.first != b.first);
    assert_near(a.first, b.first, 0.06);
    assert_near(a.sum, b.sum, 0.01 * 64);
    close_all(&f);
    close_all(&q);
}

static void exposed_tensors_come_behind_the_models_own(void **state)
{
    static const char *const names[] = {"t", "x", "y", NULL};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;

    (void)state;
    opts.expose = names;
    opened o = open_all("{\"qdq_sim\": 1}", conv_float, &opts);
    assert_string_equal(run_on(o.s, 1, 1).names, "y;t;x;");
    close_all(&o);
    opts.only_exposed = true;
    opts.expose = names + 2;
    o = open_all("{\"qdq_sim\": 1}", conv_float, &opts);
    assert_string_equal(run_on(o.s, 1, 1).names, "y;");
    close_all(&o);
    static const char *const t[] = {"t", NULL};
    opts.expose = t;
    o = open_all("{\"qdq_sim\": 1}", conv_float, &opts);
    assert_string_equal(run_on(o.s, 1, 1).names, "t;");
    close_all(&o);
}

static void an_exposed_initializer_is_itself(void **state)
{
    static const char *const names[] = {"w", NULL};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;

    (void)state;
    opts.expose = names;
    opts.only_exposed = true;
    opened o = open_all("{\"qdq_sim\": 1}", conv_float, &opts);
    seen r = run_on(o.s, 1, 1);
    assert_int_equal(r.count, 1);
    assert_near(r.first, 2, 0);
    close_all(&o);
}

static void exposing_what_is_not_there_is_an_error(void **state)
{
    static const char *const names[] = {"nothing", NULL};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = sim("{\"qdq_sim\": 1}");
    qdq_model *m = test_model(conv_float);
    qdq_session *s;

    (void)state;
    opts.expose = names;
    assert_fails(QDQ_E_USAGE, "the main graph has no tensor 'nothing'",
                 qdq_session_open(e, m, &opts, &s, &err));
    opts.expose = NULL;
    opts.only_exposed = true;
    assert_fails(QDQ_E_USAGE, "only_exposed without", qdq_session_open(e, m, &opts, &s, &err));
    opts.only_exposed = false;
    opts.threads = -1;
    assert_fails(QDQ_E_USAGE, "-1 threads", qdq_session_open(e, m, &opts, &s, &err));
    qdq_model_free(m);
    qdq_engine_close(e);
}

static qdq_status stop(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    (void)ctx;
    (void)a;
    return qdq_fail(e, QDQ_E_GOAL, "enough of %s", name);
}

static void the_callers_error_ends_a_run(void **state)
{
    float x[16] = {0};
    qdq_named_array in = {"x", {QDQ_FLOAT, 4, {1, 1, 4, 4}, x, sizeof x}};
    opened o = open_all("{\"qdq_sim\": 1}", conv_float, NULL);

    (void)state;
    assert_fails(QDQ_E_GOAL, "enough of y", qdq_session_run(o.s, &in, 1, stop, NULL, &err));
    close_all(&o);
}

static void an_output_of_unknown_shape_is_named(void **state)
{
    float x[16] = {0};
    qdq_named_array in = {"x", {QDQ_FLOAT, 1, {16}, x, sizeof x}};
    opened o = open_all("{\"qdq_sim\": 1}",
                        "<ir_version: 9, opset_import: [\"\" : 17, \"my.own\" : 1]>\n"
                        "g (float[16] x) => (float[M] y) { y = my.own.Strange(x) }\n",
                        NULL);

    (void)state;
    assert_fails(QDQ_E_UNSUPPORTED, "output 'y'", qdq_session_run(o.s, &in, 1, look, NULL, &err));
    close_all(&o);
}

/* --- failures and mistakes -------------------------------------------------------------------- */

static void failures_happen_where_they_are_asked_for(void **state)
{
    float x[16] = {0};
    qdq_named_array in = {"x", {QDQ_FLOAT, 4, {1, 1, 4, 4}, x, sizeof x}};
    qdq_bench_model r;
    qdq_model *f = test_model(conv_float), *q = test_model(conv_int8);
    qdq_session *s;

    (void)state;
    qdq_engine *e = sim("{\"qdq_sim\": 1, " COSTS
                        ", \"fail\": [{\"at\": \"run\", \"nth\": 2, \"message\": \"crash\"},"
                        "{\"at\": \"open\", \"node\": \"conv\", \"message\": \"no kernel\"}]}");
    assert_fails(QDQ_E_ENGINE, "no kernel", qdq_session_open(e, q, NULL, &s, &err));
    assert_ok(qdq_session_open(e, f, NULL, &s, &err));
    assert_ok(qdq_session_run(s, &in, 1, NULL, NULL, &err));
    assert_fails(QDQ_E_ENGINE, "crash", qdq_session_run(s, &in, 1, NULL, NULL, &err));
    assert_ok(qdq_session_run(s, &in, 1, NULL, NULL, &err));
    assert_ok(qdq_bench(&s, 1, NULL, &r, &err));
    qdq_session_close(s);
    qdq_engine_close(e);

    e = sim("{\"qdq_sim\": 1, \"fail\": [{\"at\": \"time\"}]}");
    assert_ok(qdq_session_open(e, f, NULL, &s, &err));
    assert_fails(QDQ_E_ENGINE, "a failure that was asked for", qdq_bench(&s, 1, NULL, &r, &err));
    qdq_session_close(s);
    qdq_engine_close(e);
    qdq_model_free(f);
    qdq_model_free(q);
}

static qdq_status add_up(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    (void)name;
    (void)e;
    float *sum = ctx;

    *sum = 0;
    for (int64_t i = 0; i < qdq_array_count(a); i++)
        *sum += ((const float *)a->data)[i];
    return QDQ_OK;
}

static void outputs_memory_and_patience_can_be_spoilt(void **state)
{
    static const char *const how[] = {"",
                                      ", \"outputs\": \"nan\"",
                                      ", \"outputs\": \"inf\"",
                                      ", \"outputs\": \"zero\"",
                                      ", \"outputs\": \"wrong\"",
                                      ", \"hang\": 0.05"};
    float y[QDQ_COUNT(how)], x[16] = {1};
    qdq_named_array in = {"x", {QDQ_FLOAT, 4, {1, 1, 4, 4}, x, sizeof x}};
    char json[300];
    qdq_engine *e;
    qdq_model *m = test_model(CONV_INT8(""));
    qdq_session *s;

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(how); i++) {
        snprintf(json, sizeof json, "{\"qdq_sim\": 1, \"fail\": [{\"nth\": %d%s}]}", i > 0 ? 1 : 99,
                 how[i]);
        opened o = open_all(json, conv_float, NULL);
        assert_ok(qdq_session_run(o.s, &in, 1, add_up, &y[i], &err));
        close_all(&o);
    }
    assert_true(isnan(y[1]) && isinf(y[2]) && y[3] == 0 && y[4] != y[0] && isfinite(y[4]) &&
                y[5] == y[0]);

#ifndef QDQ_ARENA_MALLOC /* AddressSanitizer ends the program that asks for so much */
    e = sim("{\"qdq_sim\": 1, \"fail\": [{\"at\": \"open\", \"memory\": 16777216}]}"); /* 16 TiB */
    assert_fails(QDQ_E_NOMEM, "memory", qdq_session_open(e, m, NULL, &s, &err));
    qdq_engine_close(e);
#else
    (void)s;
    (void)e;
#endif
    qdq_model_free(m);
}

static void a_machine_becomes_slow(void **state)
{
    opened o = open_all("{\"qdq_sim\": 1, " COSTS
                        ", \"fail\": [{\"at\": \"time\", \"nth\": 3, \"slow\": 2}]}",
                        conv_float, NULL);
    uint64_t ns;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_ok(o.e->ops->time_runs(o.s, 1, &ns, &err));
        assert_near(ns, i < 2 ? 110e3 : 220e3, 1);
    }
    close_all(&o);
}

static void a_sample_is_found_again_by_its_number(void **state)
{
    opened o = open_all("{\"qdq_sim\": 1, \"noise\": 0.5}", conv_float, NULL);
    uint64_t first[4], again;

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_ok(o.e->ops->time_runs(o.s, 1, &first[i], &err));
    for (int i = 3; i >= 0; i--) {
        o.e->ops->seek(o.s, (uint64_t)i);
        assert_ok(o.e->ops->time_runs(o.s, 1, &again, &err));
        assert_true(again == first[i]);
    }
    assert_true(first[0] != first[1] && first[1] != first[2]);
    close_all(&o);
}

static void mistakes_in_a_cost_model_are_named(void **state)
{
    static const struct {
        const char *json, *part;
    } bad[] = {
        {"[]", "expected an object"},
        {"{\"qdq_sim\": 1", "sim.json"},
        {"{}", "expected an object with the key 'qdq_sim'"},
        {"{\"qdq_sim\": true}", "key 'qdq_sim': expected 1"},
        {"{\"qdq_sim\": 1, \"nois\": 1}", "top level: unknown key 'nois', expected 'qdq_sim'"},
        {"{\"qdq_sim\": 1, \"noise\": -1}", "'noise': expected a number of at least 0"},
        {"{\"qdq_sim\": 1, \"noise\": 1}", "key 'noise': expected a number below 1"},
        {"{\"qdq_sim\": 1, \"noise\": \"a\"}", "'noise': expected a number"},
        {"{\"qdq_sim\": 1, \"outlier_factor\": 0.5}",
         "'outlier_factor': expected a number of at least 1"},
        {"{\"qdq_sim\": 1, \"outlier_rate\": 1.5}",
         "'outlier_rate': expected a number from 0 to 1"},
        {"{\"qdq_sim\": 1, \"seed\": 1.5}", "'seed': expected a whole number of at least 0"},
        {"{\"qdq_sim\": 1, \"device\": 3}", "'device': expected a string"},
        {"{\"qdq_sim\": 1, \"ops\": []}", "'ops': expected an object"},
        {"{\"qdq_sim\": 1, \"ops\": {\"Conv\": 3}}", "ops, key 'Conv': expected an object"},
        {"{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"cost\": 3}}}",
         "ops.Conv: unknown key 'cost', expected 'float_us'"},
        {"{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"output_q\": 3}}}",
         "'output_q': expected true or false"},
        {"{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"output_q\": true}}}",
         "ops.Conv: properties of an 8-bit kernel, but no 'int8_us'"},
        {"{\"qdq_sim\": 1, \"wrong\": [{\"op\": \"Conv\", \"codes\": \"float\"}]}",
         "wrong[0], key 'codes': expected a type of codes"},
        {"{\"qdq_sim\": 1, \"wrong\": [{\"op\": \"Conv\", \"codes\": \"int8\", \"float\": true}]}",
         "wrong[0], key 'codes': expected a type of codes"},
        {"{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"types\": {\"uint8\": 2}}}}",
         "properties of an 8-bit kernel, but no 'int8_us'"},
        {"{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"int8_us\": 1, \"types\": {\"float\": 2}}}}",
         "ops.Conv, key 'types': expected an object whose keys are types of codes"},
        {"{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"int8_us\": 1, \"types\": {\"int8\": 0}}}}",
         "ops.Conv.types, key 'int8': expected a number of at least 1e-06"},
        {"{\"qdq_sim\": 1, \"nodes\": {\"a\": {\"epilogue\": \"Relu\"}}}",
         "nodes.a, key 'epilogue': expected a list of strings"},
        {"{\"qdq_sim\": 1, \"nodes\": {\"a\": {\"inputs\": -1}}}",
         "nodes.a, key 'inputs': expected a whole number from 1 to 1000"},
        {"{\"qdq_sim\": 1, \"fail\": {}}", "key 'fail': expected a list of objects"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"at\": \"noon\"}]}",
         "fail[0], key 'at': expected 'open', 'run' or 'time'"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"when\": 1}]}", "fail[0]: unknown key 'when'"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"crash\": \"SIGNAL\"}]}",
         "key 'crash': expected 'SIGABRT', 'SIGBUS'"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"hang\": -1}]}", "key 'hang': expected a number from 0"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"memory\": 0}]}",
         "key 'memory': expected a whole number from 1"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"hang\": 1, \"memory\": 1}]}",
         "fail[0]: more than one of 'crash'"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"outputs\": \"odd\"}]}",
         "key 'outputs': expected 'nan', 'inf'"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"at\": \"time\", \"outputs\": \"nan\"}]}",
         "spoilt at \"run\" only"},
        {"{\"qdq_sim\": 1, \"fail\": [{\"slow\": 2}]}", "felt at \"time\" only"},
    };
    qdq_engine *e = NULL;

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(bad); i++) {
        assert_fails(QDQ_E_FORMAT, bad[i].part, open_sim(bad[i].json, &e));
        assert_null(e);
    }
    assert_fails(QDQ_E_UNSUPPORTED, "key 'qdq_sim': version 2 of the format, expected 1",
                 open_sim("{\"qdq_sim\": 2}", &e));
}

static void the_example_in_the_repository_loads(void **state)
{
    qdq_engine *e = NULL;

    (void)state;
    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, &err));
    const qdq_engine_info *info = qdq_engine_get_info(e);
    assert_string_equal(info->name, "sim");
    assert_string_equal(info->device, "sim-basic");
    assert_int_equal(info->capabilities & QDQ_CAN_RUN, QDQ_CAN_RUN);
    qdq_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_nodes_cost_what_the_model_says),
        cmocka_unit_test(an_8_bit_kernel_takes_as_long_as_its_type_of_codes_says),
        cmocka_unit_test(a_fused_unit_pays_only_for_its_outer_conversions),
        cmocka_unit_test(without_a_q_behind_it_the_kernel_stays_float),
        cmocka_unit_test(a_second_reader_breaks_the_unit),
        cmocka_unit_test(costs_grow_with_elements_and_single_nodes_have_their_own),
        cmocka_unit_test(the_profile_lists_what_is_executed),
        cmocka_unit_test(a_session_opened_without_profile_has_none),
        cmocka_unit_test(groups_name_the_nodes_of_every_kernel),
        cmocka_unit_test(groups_without_runs_have_no_times),
        cmocka_unit_test(a_fingerprint_says_what_times_depend_on),
        cmocka_unit_test(noise_repeats_and_does_not_depend_on_inserted_names),
        cmocka_unit_test(bench_finds_the_true_ratio_within_its_interval),
        cmocka_unit_test(bench_stops_by_time_when_no_rounds_are_given),
        cmocka_unit_test(bench_with_little_time_measures_less_or_says_that_it_cannot),
        cmocka_unit_test(bench_of_nothing_and_a_cancelled_one_end_with_a_reason),
        cmocka_unit_test(inputs_that_do_not_fit_are_refused_with_both_sides),
        cmocka_unit_test(shapes_that_do_not_fit_the_model_are_refused),
        cmocka_unit_test(random_inputs_repeat_and_follow_the_types),
        cmocka_unit_test(outputs_repeat_and_depend_on_the_inputs),
        cmocka_unit_test(what_a_relu_makes_is_not_negative),
        cmocka_unit_test(a_relu_is_seen_through_q_and_dq),
        cmocka_unit_test(eight_bit_kernels_add_the_error_of_the_cost_model),
        cmocka_unit_test(exposed_tensors_come_behind_the_models_own),
        cmocka_unit_test(an_exposed_initializer_is_itself),
        cmocka_unit_test(exposing_what_is_not_there_is_an_error),
        cmocka_unit_test(the_callers_error_ends_a_run),
        cmocka_unit_test(an_output_of_unknown_shape_is_named),
        cmocka_unit_test(failures_happen_where_they_are_asked_for),
        cmocka_unit_test(outputs_memory_and_patience_can_be_spoilt),
        cmocka_unit_test(a_machine_becomes_slow),
        cmocka_unit_test(a_sample_is_found_again_by_its_number),
        cmocka_unit_test(mistakes_in_a_cost_model_are_named),
        cmocka_unit_test(the_example_in_the_repository_loads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
