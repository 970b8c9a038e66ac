/* tune_greedy.c - whole runs by the strategy greedy on the sim engine: groups are measured apart,
 * what saves time there is put together, and stays as far as the whole model is faster for it.
 * Nodes have other names apart: "g5/MatMul@h3" in group 5 without Q/DQ, "g5.1/MatMul@h3" with the
 * first scheme, and so on; so costs and failures may be of either. */
#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "ir/ir.h"
#include "support/tuned.h"

/* Both operands in codes: a half is no kernel in 8 bits. */
#define OPS                                                                                        \
    "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2}, \"Add\": {\"float_us\": "    \
    "20, "                                                                                         \
    "\"int8_us\": 60, \"inputs\": 2}"

#define SLOW(node) "\"" node "\": {\"float_us\": 100, \"int8_us\": 250, \"inputs\": 2}"
/* In the whole model alone; apart alone. */
#define SLOW_TOGETHER "\"nodes\": {" SLOW("MatMul@h4") "}"
#define SLOW_ISOLATED                                                                              \
    "\"nodes\": {" SLOW("g5/MatMul@h3") "," SLOW("g5.1/MatMul@h3") "," SLOW(                       \
        "g5.2/MatMul@h3") "," SLOW("g5.3/MatMul@h3") "}"

static qdq_error err;

static qdq_tune_opts opts(const char *engine)
{
    qdq_tune_opts o = test_tuned_opts(engine);

    o.mode = QDQ_TUNE_SUBGRAPH;
    o.strategy = QDQ_TUNE_GREEDY;
    return o;
}

static qdq_tune_result run(const char *folder, const char *engine)
{
    const qdq_tune_opts o = opts(engine);
    qdq_tune_result r;

    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_string_equal(r.strategy, "greedy");
    return r;
}

/* --- what a run left -------------------------------------------------------------------------- */

/* json_decref() */
static json_t *json_of(const char *folder, const char *name)
{
    char *text = test_tuned_file(folder, name);
    json_t *j;

    assert_ok(qdq_json_parse(text, strlen(text), name, &j, &err));
    qdq_free(text);
    return j;
}

/* How often a text is in a file of the folder. */
static unsigned count_text(const char *folder, const char *file, const char *what)
{
    char *text = test_tuned_file(folder, file);
    unsigned n = 0;

    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        n++;
    qdq_free(text);
    return n;
}

static unsigned count_q(const char *folder, const char *name)
{
    char path[4300];
    qdq_model *m;
    unsigned n = 0;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    QDQ_FOR_NODES (node, m->graph)
        n += strcmp(node->type, "QuantizeLinear") == 0;
    qdq_model_free(m);
    return n;
}

/* What the report says of a group: "verdict" or "scheme"; "": it was not proposed. Static
 * storage. */
static const char *decision(const char *folder, const char *node, const char *key)
{
    static char text[40];
    json_t *report = json_of(folder, "report.json"), *one;
    size_t i;

    text[0] = '\0';
    json_array_foreach(json_object_get(report, "decisions"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "node")), node) == 0)
            snprintf(text, sizeof text, "%s", json_string_value(json_object_get(one, key)));
    }
    json_decref(report);
    return text;
}

/* --- what is found ---------------------------------------------------------------------------- */

TEST(what_pays_is_kept_and_what_does_not_stays_float)
{
    const char *folder = test_path("pays");
    qdq_tune_result r = run(folder, test_tuned_costs(OPS, SLOW_ISOLATED));

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(test_tuned_quantizes(folder, "MatMul", "h1") &&
                test_tuned_quantizes(folder, "MatMul", "h2") &&
                test_tuned_quantizes(folder, "MatMul", "h4"));
    assert_false(test_tuned_quantizes(
        folder, "MatMul", "h3")); /* it would pay in the whole model, but nobody proposed it */
    assert_true(r.accepted == 3 && r.rejected == 0 && r.undecided == 0 && r.not_isolated == 0);
    assert_string_equal(decision(folder, "MatMul@h1", "scheme"), "full");
    assert_string_equal(decision(folder, "MatMul@h1", "verdict"), "kept");
    assert_string_equal(decision(folder, "MatMul@h4", "verdict"), "kept");
    assert_string_equal(decision(folder, "MatMul@h3", "verdict"), "");
    assert_int_equal(count_text(folder, "report.json", "\"apart_by\": \"layers\""), 1);
    assert_true(r.speedup > 1.5 && fabs(r.raw_ms / r.final_ms - 1) < 0.01);
}

TEST(where_nothing_pays_the_given_model_is_written)
{
    const char *folder = test_path("nothing");
    qdq_tune_result r =
        run(folder, test_tuned_costs("\"MatMul\": {\"float_us\": 100, \"int8_us\": 110}", NULL));

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_true(r.accepted == 0 && r.raw_ms == r.baseline_ms);
    assert_true(test_tuned_exists(folder, "model_raw.onnx") &&
                count_q(folder, "model_raw.onnx") == 0);
}

/* Bad in the whole model, good apart. */
TEST(what_does_harm_in_the_whole_is_rejected)
{
    const char *folder = test_path("harm");
    qdq_tune_result r = run(folder, test_tuned_costs(OPS, SLOW_TOGETHER));

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(r.accepted == 3 && r.rejected == 1);
    assert_string_equal(decision(folder, "MatMul@h4", "verdict"), "rejected");
    assert_true(test_tuned_quantizes(folder, "MatMul", "h1") &&
                test_tuned_quantizes(folder, "MatMul", "h2") &&
                test_tuned_quantizes(folder, "MatMul", "h3"));
    assert_false(test_tuned_quantizes(folder, "MatMul", "h4"));
    assert_true(r.raw_ms > 1.3 * r.final_ms);
    assert_true(count_q(folder, "model_raw.onnx") > count_q(folder, "model.onnx"));
    assert_int_equal(count_q(folder, "baseline.onnx"), 0);
}

/* From some run on, while it searches or later, the machine takes twice as long. */
TEST(the_raw_model_is_timed_when_what_ships_is_timed)
{
    const qdq_tune_result steady = run(test_path("steady"), test_tuned_costs(OPS, SLOW_TOGETHER));

    for (unsigned nth = 20; nth <= 180; nth += 20) {
        char tires[300];
        snprintf(tires, sizeof tires,
                 SLOW_TOGETHER ", \"fail\": [{\"at\": \"time\", \"nth\": %u, \"slow\": 2}]", nth);
        const qdq_tune_result r = run(test_path("tires%u", nth), test_tuned_costs(OPS, tires));
        assert_true(fabs(r.raw_ms / r.final_ms - steady.raw_ms / steady.final_ms) < 0.03);
    }
}

/* The other way round as in the test before: nobody asks for parts of it. */
TEST(without_incremental_validation_all_stay_or_go_as_one)
{
    const char *folder = test_path("as_one"), *bad = test_path("none_of_it");
    qdq_tune_opts o = opts(test_tuned_costs(OPS, SLOW_TOGETHER));
    qdq_tune_result parts = run(test_path("parts"), o.engine), r;

    o.strategy = QDQ_TUNE_AUTO; /* which means greedy then, although there are times of layers */
    test_tuned_details(&o)->validate_whole = true;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_string_equal(r.strategy, "greedy");
    assert_true(r.accepted == 4 && r.rejected == 0 && test_tuned_quantizes(folder, "MatMul", "h4"));
    assert_true(r.builds < parts.builds && r.final_ms > parts.final_ms);

    o.engine =
        test_tuned_costs(OPS, "\"nodes\": {\"MatMul@h4\": {\"float_us\": 100, \"int8_us\": 900}}");
    assert_ok(test_tuned_run(test_tuned, bad, &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_true(r.accepted == 0 && r.rejected == 4);
    assert_true(test_tuned_exists(bad, "model_raw.onnx"));
}

/* --- engines that tell less ------------------------------------------------------------------- */

static char lines[20000];

static void record_line(void *ctx, qdq_log_level level, const char *line)
{
    (void)ctx, (void)level;
    snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s\n", line);
}

/* Without times of layers each scheme of a group is a model of its own. */
TEST(schemes_of_a_group_are_no_more_than_users_allow)
{
    static const unsigned most[] = {0, 1, 2, 1000};
    qdq_tune_opts o = opts(test_tuned_costs(OPS, TEST_TUNED_BLIND));
    qdq_tune_result r[QDQ_COUNT(most)];

    for (size_t i = 0; i < QDQ_COUNT(most); i++) {
        const char *folder = test_path("at_most%u", most[i]);
        test_tuned_details(&o)->schemes_per_region = most[i];
        assert_ok(test_tuned_run(test_tuned, folder, &o, &r[i], &err));
        assert_string_equal(r[i].strategy, "greedy");
        assert_string_equal(decision(folder, "MatMul@h1", "scheme"), "full");
        assert_int_equal(r[i].verdict, QDQ_TUNED);
    }
    assert_true(0 < r[1].isolated_builds && r[1].isolated_builds < r[2].isolated_builds);
    assert_true(r[2].isolated_builds < r[0].isolated_builds &&
                r[0].isolated_builds == r[3].isolated_builds);
}

TEST(without_times_of_layers_groups_are_timed_whole)
{
    const char *blind = test_path("blind"), *told = test_path("told");
    qdq_tune_opts o = opts(test_tuned_costs(OPS, SLOW_ISOLATED ", " TEST_TUNED_BLIND));
    qdq_job job = QDQ_JOB_INIT;
    qdq_tune_result r;

    lines[0] = '\0';
    job.log = record_line;
    o.job = &job;
    assert_ok(test_tuned_run(test_tuned, blind, &o, &r, &err));
    assert_non_null(strstr(lines, "measured in isolation by end-to-end latency"));
    assert_int_equal(count_text(blind, "report.json", "\"apart_by\": \"whole times\""), 1);
    assert_int_equal(count_text(blind, "autotune_cache.json", "\"best_compute_ms\": null"), 4);
    /* the group that stays float has its time, too */
    assert_int_equal(count_text(blind, "autotune_cache.json", "\"best_scheme_name\": \"baseline\""),
                     1);
    assert_int_equal(count_text(blind, "autotune_cache.json", "_latency_ms\": null"), 0);
    run(told, test_tuned_costs(OPS, SLOW_ISOLATED));
    test_tuned_same(blind, told, "plan.json");
}

/* --- engines that fail ------------------------------------------------------------------------ */

/* By layers all groups are in one model, which dies with it. */
TEST(a_group_that_kills_the_engine_apart_is_left_alone)
{
    static const char *const harm[] = {"\"message\": \"no kernel\"", "\"crash\": \"SIGKILL\""};
    static const char *const also[] = {"", ", " TEST_TUNED_BLIND};
    char more[400];

    for (size_t i = 0; i < 4; i++) {
        const char *folder = test_path("dies%zu", i);
        snprintf(more, sizeof more,
                 "\"fail\": [{\"at\": \"open\", \"node\": \"%s/MatMul@h3\", %s}]%s",
                 i < 2 ? "g5.1" : "g5", harm[i % 2], also[i / 2]);
        qdq_tune_result r = run(folder, test_tuned_costs(OPS, more));
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_true(r.accepted == 3 && r.rejected == 0);
        assert_string_equal(decision(folder, "MatMul@h3", "verdict"), "");
        assert_string_equal(decision(folder, "MatMul@h4", "verdict"), "kept");
        assert_false(test_tuned_quantizes(folder, "MatMul", "h3"));
    }
}

/* Without a weight there are no halves: "full" is all that can be tried with the product of x and
 * z. */
TEST(groups_that_the_engine_never_takes_are_counted)
{
    const char *folder = test_path("never");
    qdq_model *m = test_graph(__func__);
    qdq_tune_opts o = opts(test_tuned_costs(
        OPS,
        "\"fail\": [{\"at\": \"open\", \"node\": \"g0.1/none\", \"message\": \"no kernel\"}]"));
    qdq_tune_result r;

    assert_ok(test_tuned_run(m, folder, &o, &r, &err));
    assert_true(r.accepted == 2 && r.rejected == 0 && r.not_isolated == 1);
    assert_int_equal(count_text(folder, "autotune_cache.json", "no kernel"), 1);
    assert_false(test_tuned_quantizes(folder, "MatMul", "h"));
    qdq_model_free(m);
}

TEST(a_group_that_kills_the_engine_in_the_whole_is_left_out)
{
    const char *folder = test_path("fails");
    qdq_tune_result r = run(
        folder,
        test_tuned_costs(OPS, "\"fail\": [{\"at\": \"open\", \"node\": \"MatMul@h3\", \"crash\": "
                              "\"SIGSEGV\"}]"));

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(r.accepted == 3 && r.rejected == 1);
    assert_string_equal(decision(folder, "MatMul@h3", "verdict"), "failed");
    assert_true(test_tuned_quantizes(folder, "MatMul", "h1") &&
                test_tuned_quantizes(folder, "MatMul", "h2") &&
                test_tuned_quantizes(folder, "MatMul", "h4"));
    assert_false(test_tuned_quantizes(folder, "MatMul", "h3"));
    assert_true(isnan(r.raw_ms));
}

/* Random indices would be outside of a table of one row: that group and its neighbours are no model
 * that runs. */
TEST(groups_that_cannot_be_measured_apart_are_counted)
{
    const char *folder = test_path("apart");
    qdq_model *m = test_graph(__func__);
    qdq_tune_opts o = opts(test_tuned_costs(OPS, NULL));
    qdq_job job = QDQ_JOB_INIT;
    qdq_tune_result r;

    lines[0] = '\0';
    job.log = record_line;
    o.job = &job;
    assert_ok(test_tuned_run(m, folder, &o, &r, &err));
    assert_true(r.not_isolated == 1 && r.accepted == 2);
    assert_non_null(
        strstr(lines, "cannot be measured in isolation: random indices may be outside: 'i'"));
    assert_int_equal(count_text(folder, "report.json", "\"not_apart\": 1"), 1);
    assert_int_equal(count_text(folder, "autotune_cache.json", "random indices may be outside"), 1);
    assert_false(test_tuned_quantizes(folder, "MatMul", "h"));
    qdq_model_free(m);
}

/* --- what users want -------------------------------------------------------------------------- */

/* A filter is about kinds of groups: the first two are of one. */
TEST(the_filter_holds)
{
    static const char *const names[] = {"one", "two", "three"};
    static const char *const filters[] = {"tw?\n", "thr*\n"};
    static const bool on[2][3] = {{true, true, false}, {false, false, true}};
    char *filter = strdup(test_path("filter.txt")), text[100];
    qdq_model *m = test_graph(__func__);
    qdq_tune_opts o = opts(test_tuned_costs(OPS, NULL));
    qdq_tune_result r;

    test_tuned_details(&o)->node_filter = filter;
    for (size_t i = 0; i < QDQ_COUNT(filters); i++) {
        const char *folder = test_path("filtered%zu", i);
        assert_ok(qdq_write_file(filter, true, filters[i], strlen(filters[i]), &err));
        assert_ok(test_tuned_run(m, folder, &o, &r, &err));
        for (size_t k = 0; k < QDQ_COUNT(names); k++) {
            snprintf(text, sizeof text, "{\"node\": \"%s\", \"op\": \"MatMul\"}", names[k]);
            assert_int_equal(count_text(folder, "plan.json", text), on[i][k]);
        }
        assert_int_equal(r.accepted, i == 0 ? 2 : 1);
    }
    qdq_model_free(m);
    free(filter);
}

TEST(no_bound_on_builds_is_passed)
{
    qdq_tune_opts o = opts(test_tuned_costs(OPS, SLOW_TOGETHER));
    qdq_tune_result r;

    for (unsigned most = 7; most <= 11; most++) {
        o.max_builds = most;
        assert_ok(test_tuned_run(test_tuned, test_path("most%u", most), &o, &r, &err));
        if (r.builds > most)
            fail_msg("%u builds, at most %u were allowed", r.builds, most);
        assert_int_equal(r.accepted + r.rejected + r.undecided, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_pays_is_kept_and_what_does_not_stays_float),
        cmocka_unit_test(where_nothing_pays_the_given_model_is_written),
        cmocka_unit_test(what_does_harm_in_the_whole_is_rejected),
        cmocka_unit_test(the_raw_model_is_timed_when_what_ships_is_timed),
        cmocka_unit_test(without_incremental_validation_all_stay_or_go_as_one),
        cmocka_unit_test(schemes_of_a_group_are_no_more_than_users_allow),
        cmocka_unit_test(without_times_of_layers_groups_are_timed_whole),
        cmocka_unit_test(a_group_that_kills_the_engine_apart_is_left_alone),
        cmocka_unit_test(groups_that_the_engine_never_takes_are_counted),
        cmocka_unit_test(a_group_that_kills_the_engine_in_the_whole_is_left_out),
        cmocka_unit_test(groups_that_cannot_be_measured_apart_are_counted),
        cmocka_unit_test(the_filter_holds),
        cmocka_unit_test(no_bound_on_builds_is_passed),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
