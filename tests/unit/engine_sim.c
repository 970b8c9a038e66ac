/* engine_sim.c - the engine sim: costs, groups, noise. */
#include <math.h>

#include "base/buf.h"
#include "base/random.h"
#include "engine/engine_ops.h"
#include "support/test.h"
#include "support/simmed.h"

/* --- models and engines ----------------------------------------------------------------------- */

#define COSTS                                                                                      \
    "\"overhead_us\": 10, \"default\": {\"float_us\": 2}, \"convert\": {\"float_us\": 5},"         \
    "\"ops\": {\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true,"  \
    "\"epilogue\": [\"Relu\"]}}"

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

TEST(float_nodes_cost_what_the_model_says)
{
    /* Relu is in the epilogue */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}", conv_float()), 110, 1e-6);
}

/* The first input has uint8 codes. */
TEST(an_8_bit_kernel_takes_as_long_as_its_type_of_codes_says)
{
    assert_near(time_of("{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"int8_us\": 30, \"inputs\": 2, "
                        "\"types\": {\"uint8\": "
                        "2}}}, \"convert\": {}, \"default\": {}}",
                        conv_int8()),
                60, 1e-6);
    assert_near(time_of("{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"int8_us\": 30, \"inputs\": 2, "
                        "\"types\": {\"int8\": "
                        "2}}}, \"convert\": {}, \"default\": {}}",
                        conv_int8()),
                30, 1e-6);
}

TEST(a_fused_unit_pays_only_for_its_outer_conversions)
{
    /* 10 overhead, 30 kernel, 5 for the Q of the input, 5 for the DQ of the output */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}", conv_int8()), 50, 1e-6);
}

/* 10 overhead, and the Relu in the epilogue; the DQ costs 5 where no kernel takes it in. */
TEST(a_kernel_with_its_weight_alone_in_8_bits_takes_its_own_time)
{
    const char *weight = test_graph_text(__func__);
    static const char costs[] =
        "{\"qdq_sim\": 1, \"overhead_us\": 10, \"convert\": {\"float_us\": 5}, \"ops\": "
        "{\"Conv\": {\"float_us\": 100, \"weight_us\": 40, \"int8_us\": 30, \"inputs\": 2, "
        "\"output_q\": true, \"epilogue\": [\"Relu\"]}}}";

    assert_near(time_of(costs, weight), 50, 1e-6);
    assert_near(time_of(costs, conv_float()), 110, 1e-6);
    assert_near(time_of(costs, conv_int8()), 50, 1e-6); /* 30, Q and DQ of 5 */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}", weight), 115, 1e-6);
}

TEST(without_a_q_behind_it_the_kernel_stays_float)
{
    /* 10 + 100 + three conversions of 5, the weight's included: it runs each time */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}", test_graph_text(__func__)), 125, 1e-6);
}

TEST(a_second_reader_breaks_the_unit)
{
    /* The Conv's result is an output as well: float, and all four conversions cost. */
    assert_near(time_of("{\"qdq_sim\": 1, " COSTS "}", test_graph_text(__func__)), 10 + 100 + 5 * 5,
                1e-6);
}

TEST(costs_grow_with_elements_and_single_nodes_have_their_own)
{
    const char *text = test_graph_text(__func__);
    static const char json[] =
        "{\"qdq_sim\": 1, \"ops\": {\"Relu\": {\"float_us\": 1, \"float_us_per_k\": 3}},"
        "\"nodes\": {\"b\": {\"float_us\": 50}}}";
    qdq_input_shape shape = {"x", 2, {4, 1000}};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_bench_model result;

    assert_near(time_of(json, text), 1 + 3 + 50, 1e-6); /* symbolic dims count as 1 */
    opts.shapes = &shape;
    opts.n_shapes = 1;
    opened o = open_all(json, text, &opts);
    assert_ok(qdq_bench(&o.s, 1, NULL, &result, &err));
    assert_near(result.median_ms * 1e3, 1 + 12 + 50, 1e-6);
    close_all(&o);
}

TEST(the_profile_lists_what_is_executed)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in;
    qdq_layer *l;
    size_t n_in, n;

    opts.profile = true;
    opened o = open_all("{\"qdq_sim\": 1, " COSTS "}", conv_int8(), &opts);
    assert_ok(qdq_random_inputs(o.s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_profile(o.s, in, n_in, 3, &l, &n, &err));
    assert_int_equal(n, 3);
    assert_string_equal(l[0].layer, "QuantizeLinear@xq");
    assert_string_equal(l[0].op, "QuantizeLinear");
    assert_string_equal(l[1].layer, "conv");
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

TEST(a_session_opened_without_profile_has_none)
{
    qdq_layer *l;
    size_t n;

    opened o = open_all("{\"qdq_sim\": 1}", conv_float(), NULL);
    assert_fails(QDQ_E_USAGE, "opened with `profile`",
                 qdq_session_profile(o.s, NULL, 0, 3, &l, &n, &err));
    assert_null(l);
    close_all(&o);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* "a + b" */
static const char *nodes_of(const qdq_layer *g)
{
    static char text[200];

    text[0] = '\0';
    for (size_t i = 0; i < g->n_nodes; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " + " : "",
                 g->node[i]);
    return text;
}

TEST(groups_name_the_nodes_of_every_kernel)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in;
    qdq_layer *g;
    size_t n_in, n;

    opts.layers = true;
    opened o = open_all("{\"qdq_sim\": 1, " COSTS "}", conv_int8(), &opts);
    assert_true((qdq_engine_get_info(o.e)->capabilities & QDQ_CAN_LIST_LAYERS) != 0);
    assert_ok(qdq_random_inputs(o.s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_layers(o.s, in, n_in, 3, &g, &n, &err));
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
    assert_int_equal(g[1].source, QDQ_LAYER_EXACT);
    assert_near(g[1].median_us, 30, 1e-9);
    qdq_free(g);
    assert_fails(QDQ_E_USAGE, "not yet asked", qdq_session_layers(o.s, in, n_in, 3, &g, &n, &err));
    assert_true(g == NULL && n == 0);
    qdq_free(in);
    close_all(&o);
}

TEST(groups_without_runs_have_no_times)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_layer *g;
    size_t n;

    opts.layers = true;
    opened o = open_all("{\"qdq_sim\": 1, " COSTS "}", conv_float(), &opts);
    assert_ok(qdq_session_layers(o.s, NULL, 0, 0, &g, &n, &err));
    assert_int_equal(n, 1);
    assert_string_equal(nodes_of(&g[0]), "conv + relu");
    assert_string_equal(g[0].in_type, "f32");
    assert_true(isnan(g[0].median_us));
    qdq_free(g);
    close_all(&o);
    o = open_all("{\"qdq_sim\": 1, " COSTS "}", conv_float(), NULL);
    assert_fails(QDQ_E_USAGE, "opened with `groups`",
                 qdq_session_layers(o.s, NULL, 0, 0, &g, &n, &err));
    close_all(&o);
}

TEST(a_fingerprint_says_what_times_depend_on)
{
    qdq_engine *e = test_sim("{\"qdq_sim\": 1, \"device\": \"toaster\"}");

    /* and a digest of what it computes */
    assert_ptr_equal(strstr(qdq_engine_get_info(e)->fingerprint, "sim 1 toaster "),
                     qdq_engine_get_info(e)->fingerprint);
    qdq_engine_close(e);
}

/* --- noise ------------------------------------------------------------------------------------ */

#define NOISY "{\"qdq_sim\": 1, \"noise\": 0.05, " COSTS ", \"seed\": "

TEST(noise_repeats_and_does_not_depend_on_inserted_names)
{
    double a = time_of(NOISY "1}", conv_int8());

    assert_true(a > 47.5 && a < 52.5);
    assert_true(a == time_of(NOISY "1}", conv_int8()));
    assert_true(a == time_of(NOISY "1}", conv_int8_with_other_names()));
    assert_true(a != time_of(NOISY "2}", conv_int8()));
}

TEST(bench_finds_the_true_ratio_within_its_interval)
{
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    opened a =
        open_all(NOISY "3, \"outlier_rate\": 0.1, \"outlier_factor\": 4}", conv_float(), NULL);
    qdq_model *m = test_model(conv_int8());
    qdq_session *s[2] = {a.s, NULL};
    qdq_bench_model r[2];

    assert_ok(qdq_session_open(a.e, m, NULL, &s[1], &err));
    opts.rounds = 200;
    assert_ok(qdq_bench(s, 2, &opts, r, &err));
    assert_near(r[0].speedup, 1, 0);
    assert_near(r[0].ci_low, 1, 0);
    assert_near(r[1].speedup, 110.0 / 50, 0.05);
    assert_true(r[1].ci_low < 2.2 && 2.2 < r[1].ci_high && r[1].ci_high - r[1].ci_low < 0.1);
    assert_true(r[1].p10_ms < r[1].median_ms && r[1].median_ms < r[1].p90_ms);
    /* 5 ms a sample: 46 runs of 110 us, 100 of 50 us, give or take the noise */
    assert_in_range(r[0].runs / 200, 44, 49);
    assert_in_range(r[1].runs / 200, 95, 106);
    qdq_session_close(s[1]);
    qdq_model_free(m);
    close_all(&a);
}

TEST(bench_stops_by_time_when_no_rounds_are_given)
{
    opened o = open_all("{\"qdq_sim\": 1, \"overhead_us\": 1000000}", conv_float(), NULL);
    qdq_bench_model r;

    assert_ok(qdq_bench(&o.s, 1, NULL, &r, &err));
    assert_int_equal(r.runs, 20); /* a second each: no more than the least */
    close_all(&o);
    o = open_all("{\"qdq_sim\": 1, \"overhead_us\": 10000}", conv_float(), NULL);
    assert_ok(qdq_bench(&o.s, 1, NULL, &r, &err));
    assert_in_range(r.runs, 195, 205); /* 2 s of 10 ms */
    close_all(&o);
}

TEST(bench_with_little_time_measures_less_or_says_that_it_cannot)
{
    opened o = open_all("{\"qdq_sim\": 1, \"overhead_us\": 1000000}", conv_float(), NULL);
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model r;

    opts.max_ms = 1e-6; /* over before it began */
    assert_fails(QDQ_E_UNSUPPORTED, "0 ms were over after 0 rounds: expected enough for 6",
                 qdq_bench(&o.s, 1, &opts, &r, &err));
    opts.max_ms = 1e9; /* of the clock, not of the engine's virtual one */
    assert_ok(qdq_bench(&o.s, 1, &opts, &r, &err));
    assert_int_equal(r.runs, 20);
    opts.max_ms = 23; /* legs of half a ms, where 5 are usual */
    close_all(&o);
    o = open_all("{\"qdq_sim\": 1, \"overhead_us\": 50}", conv_float(), NULL);
    opts.rounds = 6;
    assert_ok(qdq_bench(&o.s, 1, &opts, &r, &err));
    assert_in_range(r.runs, 6 * 2, 6 * 30);
    close_all(&o);
}

TEST(bench_of_nothing_and_a_cancelled_one_end_with_a_reason)
{
    opened o = open_all("{\"qdq_sim\": 1}", conv_float(), NULL);
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_bench_model r;
    qdq_cancel *cancel = qdq_cancel_new();

    assert_fails(QDQ_E_USAGE, "bench of no models", qdq_bench(NULL, 0, NULL, &r, &err));
    qdq_cancel_set(cancel);
    job.cancel = cancel;
    opts.job = &job;
    assert_fails(QDQ_E_INTERRUPTED, "interrupted", qdq_bench(&o.s, 1, &opts, &r, &err));
    assert_near(r.median_ms, 0, 0);
    qdq_cancel_free(cancel);
    close_all(&o);
}

/* --- failures and mistakes -------------------------------------------------------------------- */

TEST(failures_happen_where_they_are_asked_for)
{
    float x[16] = {0};
    qdq_named_array in = {"x", {QDQ_FLOAT, 4, {1, 1, 4, 4}, x, sizeof x}};
    qdq_bench_model r;
    qdq_model *f = test_model(conv_float()), *q = test_model(conv_int8());
    qdq_session *s;

    qdq_engine *e =
        test_sim("{\"qdq_sim\": 1, " COSTS
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

    e = test_sim("{\"qdq_sim\": 1, \"fail\": [{\"at\": \"time\"}]}");
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

TEST(outputs_memory_and_patience_can_be_spoilt)
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
    qdq_model *m = test_model(conv_int8());
    qdq_session *s;

    for (size_t i = 0; i < QDQ_COUNT(how); i++) {
        snprintf(json, sizeof json, "{\"qdq_sim\": 1, \"fail\": [{\"nth\": %d%s}]}", i > 0 ? 1 : 99,
                 how[i]);
        opened o = open_all(json, conv_float(), NULL);
        assert_ok(qdq_session_run(o.s, &in, 1, add_up, &y[i], &err));
        close_all(&o);
    }
    assert_true(isnan(y[1]) && isinf(y[2]) && y[3] == 0 && y[4] != y[0] && isfinite(y[4]) &&
                y[5] == y[0]);

#ifndef QDQ_ARENA_MALLOC /* AddressSanitizer ends the program that asks for so much */
    e = test_sim(
        "{\"qdq_sim\": 1, \"fail\": [{\"at\": \"open\", \"memory\": 16777216}]}"); /* 16 TiB */
    assert_fails(QDQ_E_NOMEM, "memory", qdq_session_open(e, m, NULL, &s, &err));
    qdq_engine_close(e);
#else
    (void)s;
    (void)e;
#endif
    qdq_model_free(m);
}

TEST(a_machine_becomes_slow)
{
    opened o = open_all("{\"qdq_sim\": 1, " COSTS
                        ", \"fail\": [{\"at\": \"time\", \"nth\": 3, \"slow\": 2}]}",
                        conv_float(), NULL);
    uint64_t ns;

    for (int i = 0; i < 5; i++) {
        assert_ok(o.e->ops->time_runs(o.s, 1, &ns, &err));
        assert_near(ns, i < 2 ? 110e3 : 220e3, 1);
    }
    close_all(&o);
}

TEST(a_sample_is_found_again_by_its_number)
{
    opened o = open_all("{\"qdq_sim\": 1, \"noise\": 0.5}", conv_float(), NULL);
    uint64_t first[4], again;

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

TEST(mistakes_in_a_cost_model_are_named)
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
        {"{\"qdq_sim\": 1, \"wrong\": [{\"op\": \"Conv\", \"weight\": true, \"float\": true}]}",
         "wrong[0], key 'weight': expected false beside"},
        {"{\"qdq_sim\": 1, \"wrong\": [{\"op\": \"Conv\", \"weight\": true, \"codes\": \"int8\"}]}",
         "wrong[0], key 'weight': expected false beside"},
        {"{\"qdq_sim\": 1, \"ops\": {\"Conv\": {\"weight_us\": -1}}}",
         "ops.Conv, key 'weight_us': expected a number of at least 0"},
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

    for (size_t i = 0; i < QDQ_COUNT(bad); i++) {
        assert_fails(QDQ_E_FORMAT, bad[i].part, open_sim(bad[i].json, &e));
        assert_null(e);
    }
    assert_fails(QDQ_E_UNSUPPORTED, "key 'qdq_sim': version 2 of the format, expected 1",
                 open_sim("{\"qdq_sim\": 2}", &e));
}

TEST(the_example_in_the_repository_loads)
{
    qdq_engine *e = NULL;

    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, &err));
    const qdq_engine_info *info = qdq_engine_get_info(e);
    assert_string_equal(info->name, "sim");
    assert_string_equal(info->device, "sim-basic");
    assert_int_equal(info->capabilities & QDQ_CAN_RUN, QDQ_CAN_RUN);
    assert_true((info->capabilities & QDQ_RUNS_AS_WRITTEN) != 0);
    qdq_engine_close(e);
}
