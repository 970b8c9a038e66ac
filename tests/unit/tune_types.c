/* tune_types.c - whole runs on the sim engine whose kernels take longer or shorter for another type
 * of quantized values: the tuner finds the tensors where it pays, and nothing else is changed. */
#include <math.h>

#include "base/json.h"
#include "base/random.h"
#include "support/build.h"
#include "support/tuned.h"
#include "target/target.h"

static qdq_error err;

enum { PRODUCTS = 4 };

/* Products of different sizes, so that each tensor is of a kind of its own, and a Tanh. */
static qdq_model *network(void)
{
    static const int64_t size[PRODUCTS + 1] = {8, 16, 24, 12, 20};
    test_builder b = test_build(17);
    char weight[8], name[8], before[8] = "x";

    TEST_INPUT(&b, "x", 8, 8);
    for (int i = 0; i < PRODUCTS; i++) {
        snprintf(weight, sizeof weight, "w%d", i + 1);
        snprintf(name, sizeof name, "h%d", i + 1);
        TEST_RANDOM(&b, weight, size[i], size[i + 1]);
        TEST_NODE(&b, "MatMul", name, before, weight);
        snprintf(before, sizeof before, "%s", name);
    }
    TEST_NODE(&b, "Tanh", "y", before);
    test_output(&b, "y");
    return test_built(&b);
}

/* What an 8-bit product takes with int8 instead of the target's uint8: a factor for each. */
static const char *costs(const double *times, const char *more)
{
    static char text[1000];
    size_t n = (size_t)snprintf(text, sizeof text, "\"nodes\": {");

    for (int i = 0; i < PRODUCTS; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "%s\"h%d\": {\"float_us\": 200, \"int8_us\": 50, \"types\": {\"int8\": %.3f}}",
            i > 0 ? ", " : "", i + 1, times[i]);
    snprintf(text + n, sizeof text - n, "}%s%s", more != NULL ? ", " : "",
             more != NULL ? more : "");
    return test_tuned_costs("\"Tanh\": {\"float_us\": 20}", text);
}

#define INT8 "[{\"activation\": {\"type\": \"int8\", \"symmetric\": true}}]"

static qdq_tune_result tune_for(const char *target, const qdq_model *m, const char *folder,
                                const char *others, const qdq_tune_opts *o)
{
    const qdq_goal_opts goal = test_tuned_two_forms(o);
    qdq_tune_opts own = *o;
    qdq_target *t, *here;
    qdq_tune_result *r;

    own.goal = &goal;
    assert_ok(qdq_target_load(target, &t, &err));
    assert_ok(qdq_target_set(t, "engine", "sim", &err));
    if (others != NULL)
        assert_ok(qdq_target_set(t, "other_activations", others, &err));
    assert_ok(qdq_target_for_cpu(t, "vnni", NULL, &here, &err));
    assert_ok(qdq_autotune(m, here, NULL, folder, &own, &r, &err));
    test_keep(r);
    qdq_target_free(here);
    qdq_target_free(t);
    return *r;
}

static qdq_tune_result tune(const qdq_model *m, const char *folder, const char *others,
                            const qdq_tune_opts *o)
{
    return tune_for("ort-cpu", m, folder, others, o);
}

static qdq_tune_result run(const char *folder, const double *times, qdq_tune_mode mode)
{
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(times, NULL));

    o.mode = mode;
    qdq_tune_result r = tune(m, folder, INT8, &o);
    qdq_model_free(m);
    return r;
}

static json_t *plan_in(const char *folder)
{
    char *text = test_tuned_file(folder, "plan.json");
    json_t *p;

    assert_ok(qdq_json_parse(text, strlen(text), "plan", &p, &err));
    qdq_free(text);
    return p;
}

/* Types of what the products read, in the plan of the folder: "int8 uint8 ..."; "-": floats. Static
 * storage. */
static const char *types_in(const char *folder, const char *file)
{
    static const char *const tensor[PRODUCTS] = {"x", "h1", "h2", "h3"};
    static char text[300];
    char *plan = test_tuned_file(folder, file);
    size_t n = 0, i;
    json_t *p, *t;

    assert_ok(qdq_json_parse(plan, strlen(plan), "plan", &p, &err));
    for (int k = 0; k < PRODUCTS; k++) {
        const char *type = "-";
        json_array_foreach(json_object_get(p, "tensors"), i, t)
        {
            if (strcmp(json_string_value(json_object_get(t, "tensor")), tensor[k]) == 0)
                type = json_string_value(json_object_get(t, "type"));
        }
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", k > 0 ? " " : "", type);
    }
    json_decref(p);
    qdq_free(plan);
    return text;
}

static const char *types(const char *folder)
{
    return types_in(folder, "plan.json");
}

static bool page_has(const char *folder, const char *text)
{
    char *page = test_tuned_file(folder, "report.html");
    const bool found = strstr(page, text) != NULL;

    qdq_free(page);
    return found;
}

static bool was_tried(const char *folder)
{
    return page_has(folder, "int8 activations</td>");
}

static const double some[PRODUCTS] = {0.5, 1.6, 0.6, 1.5}, all[PRODUCTS] = {0.6, 0.7, 0.6, 0.7},
                    none[PRODUCTS] = {2, 3, 2, 3};

/* --- what pays -------------------------------------------------------------------------------- */

TEST(tensors_whose_kernels_are_faster_with_another_type_get_it)
{
    static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};
    static const char *const names[] = {"some_region", "some_subgraph"};

    for (size_t i = 0; i < 2; i++) {
        const char *folder = test_path("%s", names[i]);
        const qdq_tune_result r = run(folder, some, modes[i]);
        assert_string_equal(types(folder), "int8 uint8 int8 uint8");
        assert_true(was_tried(folder));
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_true(modes[i] == QDQ_TUNE_REGION || r.builds <= 14);
        assert_int_equal(r.n_typed, 1);
        assert_string_equal(r.typed[0].type, "int8");
        assert_string_equal(r.typed[0].instead_of, "uint8");
        assert_int_equal(r.typed[0].tensors, 2);
        assert_true(r.typed[0].trial > 0 && r.typed[0].gain > 0.02);
    }
}

/* What a rule says of processors is no bound: with builds left over, its hope is measured. */
TEST(a_type_that_was_found_slow_on_this_processor_is_tried_with_the_builds_left)
{
    static const char elsewhere[] =
        "[{\"activation\": {\"type\": \"int8\", \"symmetric\": true}, \"cpu\": [\"arm\"]}]";
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(some, NULL));

    o.mode = QDQ_TUNE_SUBGRAPH;
    o.max_builds = 14;
    const qdq_tune_result r = tune(m, test_path("elsewhere"), elsewhere, &o);
    assert_string_equal(types(test_path("elsewhere")), "int8 uint8 int8 uint8");
    assert_true(r.builds <= 14);
    o.max_builds = 7;
    tune(m, test_path("none_left"), elsewhere, &o);
    assert_false(was_tried(test_path("none_left")));
    o.max_builds = 0; /* of the preset: none for what loses */
    tune(m, test_path("preset"), elsewhere, &o);
    assert_false(was_tried(test_path("preset")));
    o.preset = QDQ_TUNE_EXTENSIVE;
    tune(m, test_path("extensive"), elsewhere, &o);
    assert_string_equal(types(test_path("extensive")), "int8 uint8 int8 uint8");
    qdq_model_free(m);
}

/* Groups apart have other names, so that operators have the costs. */
TEST(greedy_uses_the_same_types)
{
    const char *folder = test_path("greedy");
    qdq_model *m = network();
    qdq_tune_opts o =
        test_tuned_opts(test_tuned_costs("\"MatMul\": {\"float_us\": 200, \"int8_us\": 50, "
                                         "\"inputs\": 2, \"types\": {\"int8\": 0.6}}",
                                         NULL));

    o.mode = QDQ_TUNE_SUBGRAPH;
    o.strategy = QDQ_TUNE_GREEDY;
    tune(m, folder, INT8, &o);
    assert_string_equal(types(folder), "int8 int8 int8 int8");
    qdq_model_free(m);
}

TEST(where_another_type_pays_everywhere_all_tensors_get_it)
{
    const char *folder = test_path("all");

    const qdq_tune_result r = run(folder, all, QDQ_TUNE_SUBGRAPH);
    assert_string_equal(types(folder), "int8 int8 int8 int8");
    assert_int_equal(r.typed[0].tensors, PRODUCTS);
}

/* All in one type bring more than nine tenths of what the mixture does, and are tried first. */
TEST(a_tensor_that_loses_a_little_beside_others_that_gain_gets_its_type_back)
{
    static const double nearly_all[PRODUCTS] = {0.5, 0.5, 0.5, 1.15};
    const char *folder = test_path("nearly_all");

    const qdq_tune_result r = run(folder, nearly_all, QDQ_TUNE_SUBGRAPH);
    assert_string_equal(types(folder), "int8 int8 int8 uint8");
    assert_int_equal(r.typed[0].tensors, PRODUCTS - 1);
}

/* The mixture without the one that gains nothing is refused. */
TEST(a_type_that_was_kept_is_reported_though_giving_it_back_was_tried)
{
    static const double equal[PRODUCTS] = {0.5, 0.5, 0.5, 1};
    const char *folder = test_path("equal");

    const qdq_tune_result r = run(folder, equal, QDQ_TUNE_SUBGRAPH);
    assert_string_equal(types(folder), "int8 int8 int8 int8");
    assert_int_equal(r.n_typed, 1);
    assert_int_equal(r.typed[0].tensors, PRODUCTS);
}

TEST(without_profiles_all_tensors_are_tried_at_once)
{
    static const double *const times[] = {all, some, none};
    static const char *const want[] = {"int8 int8 int8 int8", "uint8 uint8 uint8 uint8",
                                       "uint8 uint8 uint8 uint8"};

    for (size_t i = 0; i < 3; i++) {
        const char *folder = test_path("blind%zu", i);
        qdq_model *m = network();
        qdq_tune_opts o = test_tuned_opts(costs(times[i], TEST_TUNED_BLIND));
        tune(m, folder, INT8, &o);
        assert_string_equal(types(folder), want[i]);
        assert_true(was_tried(folder));
        qdq_model_free(m);
    }
}

/* Two products whose results a Concat joins; a third one reads that, a fourth one reads the
 * second's result alone. */
static qdq_model *joined(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 8, 8);
    TEST_RANDOM(&b, "wa", 8, 16);
    TEST_RANDOM(&b, "wb", 8, 16);
    TEST_RANDOM(&b, "wc", 32, 12);
    TEST_RANDOM(&b, "wd", 16, 20);
    TEST_NODE(&b, "MatMul", "a", "x", "wa");
    TEST_NODE(&b, "MatMul", "b", "x", "wb");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "a", "b"), "axis", 1));
    TEST_NODE(&b, "MatMul", "c", "cc", "wc");
    TEST_NODE(&b, "MatMul", "d", "b", "wd");
    test_output(&b, "c");
    test_output(&b, "d");
    test_output(&b, "b");
    return test_built(&b);
}

/* The product behind the Concat gains and the one that reads an operand of it loses, or the other
 * way round. The other operand and the result have one scale. */
TEST(tensors_that_share_a_scale_change_together)
{
    static const double factor[2][2] = {{0.4, 1.2}, {1.2, 0.4}};

    for (size_t i = 0; i < 4; i++) {
        char ops[400], type[3][16] = {"", "", ""};
        const char *const tensor[3] = {"a", "b", "cc"}, *folder = test_path("joined%zu", i);
        snprintf(ops, sizeof ops,
                 "\"nodes\": {\"c\": {\"float_us\": 200, \"int8_us\": 50, \"types\": {\"uint8\": "
                 "%.1f}}, \"d\": "
                 "{\"float_us\": 200, \"int8_us\": 50, \"types\": {\"uint8\": %.1f}}}",
                 factor[i / 2][0], factor[i / 2][1]);
        qdq_model *m = joined();
        qdq_tune_opts o = test_tuned_opts(
            test_tuned_costs("\"MatMul\": {\"float_us\": 200, \"int8_us\": 50}, \"Concat\": "
                             "{\"float_us\": 30, \"int8_us\": 5, "
                             "\"inputs\": 2}",
                             ops));
        o.mode = i % 2 == 0 ? QDQ_TUNE_REGION : QDQ_TUNE_SUBGRAPH;
        tune_for("openvino", m, folder, NULL, &o);
        json_t *p = plan_in(folder), *t;
        size_t k;
        json_array_foreach(json_object_get(p, "tensors"), k, t)
        {
            for (size_t j = 0; j < 3; j++)
                if (strcmp(json_string_value(json_object_get(t, "tensor")), tensor[j]) == 0)
                    snprintf(type[j], sizeof type[j], "%s",
                             json_string_value(json_object_get(t, "type")));
        }
        assert_string_equal(type[0], type[2]);
        assert_string_equal(type[i < 2 ? 0 : 1], "uint8");
        json_decref(p);
        qdq_model_free(m);
    }
}

/* Three products, two of which read what is not negative. */
static qdq_model *relus(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 8, 8);
    TEST_RANDOM(&b, "wa", 8, 16);
    TEST_RANDOM(&b, "wb", 16, 24);
    TEST_RANDOM(&b, "wc", 24, 12);
    TEST_NODE(&b, "MatMul", "a", "x", "wa");
    TEST_NODE(&b, "Relu", "ra", "a");
    TEST_NODE(&b, "MatMul", "b", "ra", "wb");
    TEST_NODE(&b, "Relu", "rb", "b");
    TEST_NODE(&b, "MatMul", "y", "rb", "wc");
    test_output(&b, "y");
    return test_built(&b);
}

/* The target has int8 where values are negative and uint8 from 0 elsewhere; kernels are faster on
 * int8, which two more formats have. Tensors that these give the same codes are left alone. */
TEST(one_type_with_and_without_a_zero_point_are_two_choices)
{
    static const struct {
        const char *others, *name;
        int zero_point;
    } rows[] = {
        {"[{\"activation\": {\"unsigned_if_non_negative\": false}}]", "symmetric int8", 0},
        {"[{\"activation\": {\"symmetric\": false, \"unsigned_if_non_negative\": false}}, "
         "{\"activation\": {\"unsigned_if_non_negative\": false}}]",
         "asymmetric int8", -128},
    };

    for (size_t i = 0; i < QDQ_COUNT(rows); i++) {
        const char *folder = test_path("formats%zu", i);
        qdq_model *m = relus();
        qdq_tune_opts o = test_tuned_opts(test_tuned_costs(
            "\"MatMul\": {\"float_us\": 200, \"int8_us\": 50, \"types\": {\"int8\": 0.5}}", NULL));
        o.mode = QDQ_TUNE_SUBGRAPH;
        const qdq_tune_result r = tune_for("openvino", m, folder, rows[i].others, &o);
        assert_int_equal(r.n_typed, 1);
        assert_string_equal(r.typed[0].type, rows[i].name);
        assert_string_equal(r.typed[0].instead_of, "symmetric int8, unsigned if not negative");
        json_t *p = plan_in(folder), *t;
        size_t k, n = 0;
        json_array_foreach(json_object_get(p, "tensors"), k, t)
        {
            if (strcmp(json_string_value(json_object_get(t, "tensor")), "x") == 0)
                continue;
            assert_string_equal(json_string_value(json_object_get(t, "type")), "int8");
            assert_int_equal(json_integer_value(json_object_get(t, "zero_point")),
                             rows[i].zero_point);
            n++;
        }
        assert_int_equal(n, 2);
        json_decref(p);
        qdq_model_free(m);
    }
}

/* --- what does not ---------------------------------------------------------------------------- */

TEST(a_type_that_profiles_show_to_be_slower_is_not_measured)
{
    const char *folder = test_path("none");

    const qdq_tune_result r = run(folder, none, QDQ_TUNE_SUBGRAPH);
    assert_string_equal(types(folder), "uint8 uint8 uint8 uint8");
    assert_false(was_tried(folder));
    assert_int_equal(r.n_typed, 0);
}

TEST(a_target_without_other_types_tries_none)
{
    const char *folder = test_path("no_others");
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(all, NULL));

    tune(m, folder, "[]", &o);
    assert_string_equal(types(folder), "uint8 uint8 uint8 uint8");
    assert_false(was_tried(folder));
    qdq_model_free(m);
}

TEST(a_format_that_gives_all_tensors_the_codes_that_they_have_is_not_built)
{
    const char *folder = test_path("same");
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(all, NULL));

    o.mode = QDQ_TUNE_SUBGRAPH;
    const qdq_tune_result without = tune_for("openvino", m, test_path("same0"), "[]", &o);
    const qdq_tune_result r = tune_for(
        "openvino", m, folder, "[{\"activation\": {\"unsigned_if_non_negative\": false}}]", &o);
    assert_false(page_has(folder, "symmetric int8 activations</td>"));
    assert_int_equal(r.builds, without.builds);
    assert_int_equal(r.n_typed, 0);
    qdq_model_free(m);
}

/* Products compute another number on int8 codes: 20 dB below the float model's are left of it. */
TEST(a_type_that_misses_the_goal_is_not_kept)
{
    static const char wrong[] =
        "\"wrong\": [{\"node\": \"h1\", \"codes\": \"int8\", \"times\": 0.9}]";
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(all, wrong));
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;

    goal.min_sqnr = 30;
    o.goal = &goal;
    for (int mode = 0; mode < 2; mode++) {
        const char *folder = test_path("goal%d", mode);
        o.mode = mode == 0 ? QDQ_TUNE_REGION : QDQ_TUNE_SUBGRAPH;
        const qdq_tune_result r = tune(m, folder, INT8, &o);
        assert_true(strncmp(types(folder), "uint8", 5) == 0); /* what h1 reads */
        assert_true(r.sqnr_db >= 30);
        assert_true(page_has(folder, "int8 activations"));
    }
    qdq_model_free(m);
}

TEST(what_the_engine_computes_wrongly_is_not_kept)
{
    static const char wrong[] =
        "\"wrong\": [{\"op\": \"MatMul\", \"codes\": \"int8\", \"times\": 3, \"fixed\": true}]";
    const char *folder = test_path("wrong");
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(all, wrong));

    tune(m, folder, INT8, &o);
    assert_string_equal(types(folder), "uint8 uint8 uint8 uint8");
    qdq_model_free(m);
}

/* --- budgets, again, files -------------------------------------------------------------------- */

TEST(a_bound_on_builds_holds_for_types_too)
{
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(some, NULL));

    o.mode = QDQ_TUNE_SUBGRAPH;
    for (o.max_builds = 7; o.max_builds < 18; o.max_builds++) {
        const qdq_tune_result r = tune(m, test_path("builds%u", o.max_builds), INT8, &o);
        assert_true(r.builds <= o.max_builds);
    }
    qdq_model_free(m);
}

TEST(a_run_again_ends_with_the_same_types)
{
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(some, NULL));

    o.mode = QDQ_TUNE_SUBGRAPH;
    tune(m, test_path("once"), INT8, &o);
    tune(m, test_path("twice"), INT8, &o);
    test_tuned_same(test_path("once"), test_path("twice"), "plan.json");
    const uint64_t before = test_tuned_samples(test_path("once"));
    const qdq_tune_result again = tune(m, test_path("once"), INT8, &o);
    assert_int_equal(test_tuned_samples(test_path("once")), before);
    assert_int_equal(again.n_typed, 1);
    qdq_model_free(m);
}

TEST(the_plan_that_is_saved_makes_the_same_file)
{
    const char *folder = test_path("applied");
    qdq_model *m = network();

    run(folder, some, QDQ_TUNE_SUBGRAPH);
    test_tuned_replays(folder, m);
    qdq_model_free(m);
}

TEST(models_of_the_front_have_the_types_too)
{
    const char *folder = test_path("front");
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(costs(some, "\"error\": 0.01"));

    o.mode = QDQ_TUNE_SUBGRAPH;
    test_tuned_details(&o)->pareto = 3;
    const qdq_tune_result r = tune(m, folder, INT8, &o);
    assert_true(r.n_pareto >= 1);
    assert_string_equal(types_in(folder, "pareto/plan_1.json"), "int8 uint8 int8 uint8");
    qdq_model_free(m);
}

/* --- what is reported ------------------------------------------------------------------------- */

TEST(the_report_names_the_tensors_and_the_trial)
{
    const char *folder = test_path("report");
    json_t *j;

    const qdq_tune_result r = run(folder, some, QDQ_TUNE_SUBGRAPH);
    char *text = test_tuned_file(folder, "report.json");
    assert_ok(qdq_json_parse(text, strlen(text), "report", &j, &err));
    const json_t *row = json_array_get(json_object_get(j, "types"), 0),
                 *names = json_object_get(row, "tensors");
    assert_string_equal(json_string_value(json_object_get(row, "type")), "int8");
    assert_string_equal(json_string_value(json_object_get(row, "instead_of")), "uint8");
    assert_int_equal(json_integer_value(json_object_get(row, "trial")), r.typed[0].trial);
    assert_int_equal(json_array_size(names), 2);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "h2");
    assert_string_equal(json_string_value(json_array_get(names, 1)), "x");
    json_decref(j);
    qdq_free(text);
    assert_true(page_has(folder, "Tensors with another type"));
    assert_true(page_has(folder, "another type of 2 tensors, this one among them,"));
}

/* --- worlds ----------------------------------------------------------------------------------- */

/* Hidden factors for each tensor: the best is the faster type everywhere. */
TEST(nearly_all_that_types_can_bring_is_found)
{
    enum { WORLDS = 24 };
    qdq_random r = qdq_random_new(1, "types");
    double found = 0, possible = 0;
    unsigned builds = 0;

    for (int w = 0; w < WORLDS; w++) {
        double times[PRODUCTS], best = 0, mine = 0;
        const char *folder = test_path("world%d", w), *type;
        for (int i = 0; i < PRODUCTS; i++)
            times[i] = 0.5 + 1.2 * qdq_random_uniform(&r);
        const qdq_tune_result result = run(folder, times, QDQ_TUNE_SUBGRAPH);
        builds = result.builds > builds ? result.builds : builds;
        type = types(folder);
        for (int i = 0; i < PRODUCTS; i++) {
            best += 200 - 50 * fmin(1, times[i]);
            mine += 200 - 50 * (strncmp(type, "int8", 4) == 0 ? times[i] : 1);
            type += strcspn(type, " ") + 1;
        }
        found += mine;
        possible += best;
    }
    print_message("%.4f of the best gain, %u builds at most\n", found / possible, builds);
    assert_true(found >= 0.98 * possible);
    assert_true(builds <= 14);
}
