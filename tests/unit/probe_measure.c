/* probe_measure.c - the rules of a target, measured on the sim engine, whose hidden prices are
 * known here. */
#include "qdq/probe.h"

#include "base/buf.h"
#include "support/test.h"
#include "target/target.h"

static qdq_error err;

#define WORKER QDQ_BUILD_DIR "/qdq-worker"
#define COSTS  "\"default\": {\"float_us\": 100, \"int8_us\": 50}, \"convert\": {\"float_us\": 5}"

typedef struct measured {
    qdq_target *t;
    qdq_probe_report *r;
} measured;

/* `json`: the keys of the cost model. */
static qdq_status measure_on(const char *json, const qdq_target *t, double time_s,
                             const qdq_job *job, measured *out)
{
    qdq_engine_opts eo = QDQ_ENGINE_OPTS_INIT;
    qdq_probe_opts o = QDQ_PROBE_OPTS_INIT;
    qdq_buf all = QDQ_BUF_INIT(1 << 16);

    qdq_buf_printf(&all, "{\"qdq_sim\": 1, %s}", json);
    o.engine = test_sim_spec(all.data);
    qdq_buf_free(&all);
    eo.worker = WORKER;
    o.engine_opts = &eo;
    o.time_s = time_s;
    o.job = job;
    return qdq_target_measure(t, &o, &out->t, &out->r, &err);
}

static void measured_free(measured m)
{
    qdq_free(m.r);
    qdq_target_free(m.t);
}

/* --- a world whose prices are others ---------------------------------------------------------- */

/* The name of the node that the probe is about stands first in its graph: ["first-conv/Conv"]. */
static const char *label_of(const qdq_probe *p, char *text, size_t size)
{
    const char *from = strstr(p->graph, "[\""), *to = from != NULL ? strstr(from, "\"]") : NULL;

    if (to == NULL)
        fail_msg("%s of %s: its graph names no node", p->rule, p->op);
    snprintf(text, size, "%.*s", (int)(to - from) - 2, from + 2);
    return text;
}

/* Does the node run in 8 bits where the rule holds? Of a rule with other values of a key: in the
 * kernel that needs a Q behind it. */
static bool has_codes_with_it(const qdq_probe *p)
{
    if (strcmp(p->list, "stay_float") == 0)
        return false;
    return p->name[0] == '\0';
}

static bool needs_q(const qdq_target *t, const qdq_probe *p)
{
    const qdq_target_op *op = qdq_target_find(t, p->op);

    for (size_t i = 0; op == NULL && i < t->off.n; i++)
        if (strcmp(t->off.at[i].op, p->op) == 0)
            op = &t->off.at[i];
    if (strcmp(p->name, "output") == 0)
        return true;
    return (op->kind == QDQ_KIND_JOINT && op->quantize_output) || op->kind == QDQ_KIND_PASS;
}

/* Every second rule is wrong, from the first or from the second on. */
static bool is_wrong(size_t number, size_t first)
{
    return number % 2 == first;
}

/* Convs give codes on ONNX Runtime, and a Conv reads them: Q/DQ stand on both sides of these with
 * the rule and without it. What their scales are worth has no price on this engine. */
static bool differs_by_scales_alone(const qdq_target *t, const qdq_probe *p)
{
    static const char *const ops[] = {"Concat", "MaxPool", "Slice", "Split", "Gather"};
    bool found = false;

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        found |= strcmp(p->op, ops[i]) == 0;
    return found && p->name[0] == '\0' && strcmp(t->name, "ort-cpu") == 0;
}

static void put_prices(const qdq_target *t, size_t first, qdq_buf *out)
{
    qdq_buf_puts(out, COSTS ", \"noise\": 0.002, \"nodes\": {");
    for (size_t i = 0; i < t->probes.n; i++) {
        const qdq_probe *p = &t->probes.at[i];
        const bool float_is_faster = has_codes_with_it(p) == is_wrong(i, first);
        char label[200];

        qdq_buf_printf(out,
                       "%s\"%s\": {\"float_us\": 100, \"int8_us\": %d, \"output_q\": %s, "
                       "\"epilogue\": [\"Add\"]}",
                       i > 0 ? ", " : "", label_of(p, label, sizeof label),
                       float_is_faster ? 400 : 10, needs_q(t, p) ? "true" : "false");
    }
    qdq_buf_puts(out, "}");
}

static void assert_each_is_found(const measured *m, const qdq_target *t, size_t first)
{
    assert_int_equal(m->r->n, t->probes.n);
    for (size_t i = 0; i < t->probes.n; i++) {
        const qdq_probe_outcome *o = &m->r->outcomes[i];

        const bool wrong = is_wrong(i, first), stays = strcmp(o->before, o->after) == 0;

        /* both sides' nodes have one name, and the engine one price for a name: see below */
        if (t->probes.at[i].dynamic || differs_by_scales_alone(t, &t->probes.at[i]))
            continue;
        if (strcmp(o->verdict, wrong ? "harms" : "pays") != 0 ||
            /* off by another probe of the rule */
            (wrong && !t->probes.at[i].for_accuracy && stays && strcmp(o->before, "off") != 0))
            fail_msg("%s of %s, probe '%s': %s, was %s, now %s (%s)", o->rule, o->op, o->probe,
                     o->verdict, o->before, o->after, o->why);
    }
}

TEST(each_wrong_rule_is_found_where_every_second_one_is_wrong)
{
    for (size_t i = 0; i < 4; i++) {
        qdq_target *t = NULL;
        qdq_buf prices = QDQ_BUF_INIT(1 << 16);
        measured m = {NULL, NULL};

        assert_ok(qdq_target_load(i < 2 ? "ort-cpu" : "openvino", &t, &err));
        put_prices(t, i % 2, &prices);
        assert_ok(measure_on(prices.data, t, 0, NULL, &m));
        assert_each_is_found(&m, t, i % 2);
        assert_string_equal(m.t->measured_on.engine, "sim");
        qdq_buf_free(&prices);
        measured_free(m);
        qdq_target_free(t);
    }
}

static void keep_dynamic_probes(qdq_target *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->probes.n; i++)
        if (t->probes.at[i].dynamic)
            t->probes.at[n++] = t->probes.at[i];
    t->probes.n = n;
}

TEST(rules_about_data_quantized_at_run_time_are_found_by_prices_of_operators)
{
    for (int float_is_faster = 0; float_is_faster < 2; float_is_faster++) {
        const int us = float_is_faster ? 10 : 1000;
        qdq_target *t = NULL;
        measured m = {NULL, NULL};
        char prices[400];

        snprintf(prices, sizeof prices,
                 COSTS ", \"ops\": {\"MatMul\": {\"float_us\": %d}, \"Gemm\": {\"float_us\": %d}, "
                       "\"LSTM\": {\"float_us\": %d}}",
                 us, us, us);
        assert_ok(qdq_target_load("ort-cpu", &t, &err));
        keep_dynamic_probes(t);
        assert_ok(measure_on(prices, t, 0, NULL, &m));
        assert_int_equal(m.r->n, 4);
        for (size_t i = 0; i < m.r->n; i++) {
            const bool keeps_float = strcmp(t->probes.at[i].list, "stay_float") == 0;

            assert_string_equal(m.r->outcomes[i].verdict,
                                keeps_float == (float_is_faster != 0) ? "pays" : "harms");
        }
        measured_free(m);
        qdq_target_free(t);
    }
}

/* --- thresholds ------------------------------------------------------------------------------- */

#define HEAD                                                                                       \
    "{\"qdq_target\": 1, \"name\": \"t\", \"engine\": \"ort\", \"activation\": {\"type\": "        \
    "\"uint8\"}, "                                                                                 \
    "\"weight\": {\"type\": \"int8\", \"symmetric\": true}, \"graph_output\": \"dequantized\", "   \
    "\"operators\": [{\"op\": \"Conv\", \"rule\": \"conv\", \"kind\": \"linear\", \"data\": [0], " \
    "\"weight\": 1, \"axis\": \"0\", \"output\": \"quantized\"}], "
#define SIZE(n) "{\"out_channels_max\": " #n "}"
#define FAMILY(more)                                                                               \
    HEAD "\"stay_float\": [{\"op\": \"Conv\", \"rule\": \"few\", \"reason\": \"slow\"" more        \
         ", \"probe\": [{"                                                                         \
         "\"graph\": \"graph (float[1,4,10,10] x) => (float[1,$out_channels_max,10,10] y) "        \
         "<float[$out_channels_max,4,1,1] w> { c = Conv(x, w) y = Abs(c) }\", "                    \
         "\"threshold\": \"out_channels_max\", \"sizes\": [" SIZE(2) ", " SIZE(4) ", " SIZE(       \
             8) ", " SIZE(16) ", " SIZE(32) "]}]}]}"

/* In float a thousand numbers take 50 us, in 8 bits 10; but a kernel in 8 bits takes 40 more: equal
 * at 10 channels. */
static const char crossing[] =
    "\"ops\": {\"Conv\": {\"float_us\": 10, \"float_us_per_k\": 50, \"int8_us\": 50, "
    "\"int8_us_per_k\": 10}}, \"convert\": {\"float_us\": 0}, \"default\": {\"float_us\": 0}";

static qdq_target *parse(const char *text)
{
    qdq_target *t = NULL;

    assert_ok(qdq_target_parse(text, strlen(text), "t", &t, &err));
    return t;
}

static void assert_threshold(const char *description, const char *costs, const char *before,
                             const char *after)
{
    qdq_target *t = parse(description);
    measured m = {NULL, NULL};

    assert_ok(measure_on(costs, t, 0, NULL, &m));
    assert_int_equal(m.r->n, 1);
    assert_string_equal(m.r->outcomes[0].before, before);
    assert_string_equal(m.r->outcomes[0].after, after);
    measured_free(m);
    qdq_target_free(t);
}

TEST(a_threshold_is_found_by_bisection)
{
    assert_threshold(FAMILY(", \"out_channels_max\": 32"), crossing, "32", "8");
    assert_threshold(FAMILY(", \"out_channels_max\": 3"), crossing, "3", "8");
    /* between 8 and 16 */
    assert_threshold(FAMILY(", \"out_channels_max\": 12"), crossing, "12", "12");
    assert_threshold(FAMILY(""), crossing, "any", "8");
    assert_threshold(FAMILY(", \"off\": true"), crossing, "off", "8");
    assert_threshold(
        FAMILY(", \"out_channels_max\": 64, \"cpu\": [\"arm\"]"),
        "\"ops\": {\"Conv\": {\"float_us\": 10, \"int8_us\": 50}}, \"default\": {\"float_us\": 0}",
        "64", "64"); /* pays at all sizes */
    assert_threshold(
        FAMILY(", \"out_channels_max\": 8"),
        "\"ops\": {\"Conv\": {\"float_us\": 100, \"int8_us\": 10}}, \"default\": {\"float_us\": 0}",
        "8", "off");
}

TEST(figures_of_all_sizes_stand_beside_the_rule)
{
    qdq_target *t = parse(FAMILY(", \"out_channels_max\": 32"));
    measured m = {NULL, NULL};

    assert_ok(measure_on(crossing, t, 0, NULL, &m));
    const qdq_rule_facts *f = &m.t->stay.at[0].facts;
    assert_int_equal(f->n_measured, 3);
    for (size_t i = 0; i < f->n_measured; i++) {
        const qdq_measured *g = &f->measured[i];

        assert_string_equal(g->key, "out_channels_max");
        assert_string_equal(g->engine, "sim");
        assert_int_equal(g->verdict, g->at <= 8 ? QDQ_RULE_PAYS : QDQ_RULE_HARMS);
    }
    assert_int_equal(m.r->outcomes[0].at, 8);
    assert_true(m.r->outcomes[0].factor < 1);
    measured_free(m);
    qdq_target_free(t);
}

/* Equal at 8 channels, where the rule holds: only larger sizes are decided. */
TEST(a_threshold_that_no_size_pays_for_is_not_reported_as_paying)
{
    qdq_target *t = parse(FAMILY(", \"out_channels_max\": 8"));
    measured m = {NULL, NULL};

    assert_ok(measure_on("\"ops\": {\"Conv\": {\"float_us\": 10, \"float_us_per_k\": 50, "
                         "\"int8_us\": 42, \"int8_us_per_k\": 10}}, "
                         "\"convert\": {\"float_us\": 0}, \"default\": {\"float_us\": 0}",
                         t, 0, NULL, &m));
    const qdq_probe_outcome *o = &m.r->outcomes[0];
    assert_string_equal(o->after, "8");
    assert_string_equal(o->verdict, "harms");
    assert_int_equal(o->at, 16);
    assert_true(o->low > 1);
    measured_free(m);
    qdq_target_free(t);
}

TEST(an_undecided_rule_stays_as_it_was)
{
    static const char equal[] =
        "\"default\": {\"float_us\": 100}, \"convert\": {\"float_us\": 0}, \"noise\": 0.01";

    assert_threshold(FAMILY(", \"out_channels_max\": 12"), equal, "12", "12");
    assert_threshold(FAMILY(", \"off\": true"), equal, "off", "off");
    qdq_target *t = parse(FAMILY(", \"off\": true"));
    measured m = {NULL, NULL};
    assert_ok(measure_on(equal, t, 0, NULL, &m));
    assert_string_equal(m.r->outcomes[0].verdict, "undecided");
    assert_int_equal(m.r->n_undecided, 1);
    measured_free(m);
    qdq_target_free(t);
}

TEST(a_rule_that_keeps_accuracy_is_not_switched_off_by_times)
{
#define SLOW                                                                                       \
    "{\"op\": \"Conv\", \"rule\": \"few\", \"reason\": \"inexact\", \"probe\": [{\"graph\": "      \
    "\"graph "                                                                                     \
    "(float[1,4,10,10] x) => (float[1,4,10,10] y) <float[4,4,1,1] w> { c = Conv(x, w) y = "        \
    "Abs(c) }\"}]"
    static const char float_is_slower[] =
        "\"ops\": {\"Conv\": {\"float_us\": 400, \"int8_us\": 10}}, \"convert\": {\"float_us\": 0}";

    assert_threshold(HEAD "\"stay_float\": [" SLOW "}]}", float_is_slower, "on", "off");
    assert_threshold(HEAD "\"stay_float\": [" SLOW ", \"accuracy\": true}]}", float_is_slower,
                     "on, for accuracy", "on, for accuracy");
    qdq_target *t = parse(HEAD "\"stay_float\": [" SLOW ", \"accuracy\": true}]}");
    measured m = {NULL, NULL};
    assert_ok(measure_on(float_is_slower, t, 0, NULL, &m));
    assert_string_equal(m.r->outcomes[0].verdict, "harms");
    assert_int_equal(m.r->n_changed, 0);
    assert_int_equal(m.t->stay.n, 1);
    assert_int_equal(m.t->stay.at[0].facts.n_measured, 1);
    measured_free(m);
    qdq_target_free(t);
}

/* --- ends ------------------------------------------------------------------------------------- */

TEST(a_busy_machine_measures_nothing)
{
    qdq_target *t = parse(FAMILY(""));
    measured m = {NULL, NULL};

    assert_fails(QDQ_E_ENGINE,
                 "the machine is busy: the 95 % interval of a model's time over its own time is ",
                 measure_on(COSTS ", \"noise\": 0.6", t, 0, NULL, &m));
    assert_null(m.t);
    assert_null(m.r);
    qdq_target_free(t);
}

TEST(a_target_without_probes_and_another_engine_are_refused)
{
    qdq_target *none = NULL, *t = parse(FAMILY(""));
    qdq_probe_opts o = QDQ_PROBE_OPTS_INIT;
    measured m = {NULL, NULL};

    assert_ok(qdq_target_load("tensorrt", &none, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "target 'tensorrt': its rules have no probes",
                 measure_on(COSTS, none, 0, NULL, &m));
    qdq_target_free(none);
    assert_ok(qdq_target_set(t, "engine", "trtexec", &err));
    qdq_engine *ort = test_ort();
    if (ort != NULL) {
        qdq_engine_opts eo = QDQ_ENGINE_OPTS_INIT;

        eo.ort_library = qdq_engine_get_info(ort)->library;
        o.engine = "ort";
        o.engine_opts = &eo;
        assert_fails(QDQ_E_USAGE, "engine ort does not run target 't'; expected engine trtexec",
                     qdq_target_measure(t, &o, &m.t, &m.r, &err));
    }
    qdq_target_free(t);
}

/* Figures of this run, beside which the description has those of real processors. */
static size_t count_figures(const measured *m, const char *op)
{
    const qdq_rule_facts *f = &qdq_target_find(m->t, op)->facts;
    size_t n = 0;

    for (size_t i = 0; i < f->n_measured; i++)
        n += strcmp(f->measured[i].engine, "sim") == 0;
    return n;
}

static void cancel_at_three(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    (void)stage, (void)total;
    if (done == 3)
        qdq_cancel_set(ctx);
}

TEST(an_interrupt_keeps_the_probes_that_are_done)
{
    qdq_cancel *cancel = qdq_cancel_new();
    const qdq_job job = {
        .size = sizeof job, .ctx = cancel, .progress = cancel_at_three, .cancel = cancel};
    qdq_target *t = NULL;
    measured m = {NULL, NULL};

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_int_equal(measure_on(COSTS, t, 0, &job, &m), QDQ_E_INTERRUPTED);
    assert_int_equal(m.r->n, 3);
    assert_int_equal(count_figures(&m, "Conv"), 1);
    assert_int_equal(count_figures(&m, "Add"), 0);
    measured_free(m);
    qdq_target_free(t);
    qdq_cancel_free(cancel);
}

TEST(without_time_for_any_probe_there_is_no_target)
{
    qdq_target *t = NULL;
    measured m = {NULL, NULL};

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_fails(QDQ_E_ENGINE, "target 'ort-cpu': none of ", measure_on(COSTS, t, 0.001, NULL, &m));
    assert_non_null(strstr(err.text, " probes was measured; the first: no time was left"));
    assert_null(m.t);
    assert_null(m.r);
    qdq_target_free(t);
}

TEST(an_engine_that_dies_of_every_probe_leaves_no_target)
{
    qdq_target *t = parse(FAMILY(", \"out_channels_max\": 8"));
    measured m = {NULL, NULL};

    /* the control runs the side that is float */
    assert_fails(QDQ_E_ENGINE, "target 't': none of 1 probes was measured; the first: ",
                 measure_on("\"ops\": {\"Conv\": {\"float_us\": 10, \"int8_us\": 50}}, "
                            "\"fail\": [{\"at\": \"time\", \"node\": \"Conv@c\", "
                            "\"crash\": \"SIGSEGV\"}]",
                            t, 0, NULL, &m));
    assert_non_null(strstr(err.text, "crash"));
    assert_null(m.t);
    qdq_target_free(t);
}

/* Those of a rule, which has one, and up to `more` others. */
static void keep_probes(qdq_target *t, const char *rule, size_t more)
{
    size_t n = 0;

    for (size_t i = 0; i < t->probes.n; i++) {
        const bool other = strcmp(t->probes.at[i].rule, rule) != 0;
        if (other && more == 0)
            continue;
        more -= other;
        t->probes.at[n++] = t->probes.at[i];
    }
    t->probes.n = n;
}

TEST(an_engine_that_dies_of_one_side_costs_this_probe_alone)
{
    qdq_target *t = NULL;
    measured m = {NULL, NULL};

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    keep_probes(t, "leakyrelu-of-8-bit", 2);
    assert_ok(measure_on(COSTS ", \"fail\": [{\"at\": \"time\", \"node\": "
                               "\"leakyrelu-of-8-bit/LeakyRelu\", \"crash\": \"SIGSEGV\"}]",
                         t, 0, NULL, &m));
    assert_int_equal(m.r->n_not_measured, 1);
    assert_int_equal(m.r->n, 3);
    for (size_t i = 0; i < m.r->n; i++) {
        const qdq_probe_outcome *o = &m.r->outcomes[i];

        if (strcmp(o->rule, "leakyrelu-of-8-bit") != 0)
            continue;
        assert_string_equal(o->verdict, "");
        assert_non_null(strstr(o->why, "crash"));
        assert_string_equal(o->after, o->before);
    }
    measured_free(m);
    qdq_target_free(t);
}
