/* tune_edge_worlds.c - 200 worlds on the sim engine with a price on every edge that no target
 * tells: what subgraph mode finds, beside the best of all placements of groups and edges. */
#include <math.h>

#include "base/json.h"
#include "base/random.h"
#include "quant/quantize_steps.h"
#include "support/sim_time.h"
#include "support/spaced.h"
#include "support/tuned.h"
#include "tune/space/space_edges.h"

enum { WORLDS = 200, FEW_WORLDS = 60, MOST_BITS = 12 };

static qdq_error err;

/* A product, three operators without a kernel in the target, one that copies, and a product at the
 * end. */
static const char inner[] =
    "h1 = MatMul(x, a) n = LayerNormalization(h1, g) h2 = MatMul(n, a) t = Transpose<perm = [1, "
    "0]>(h2) s = Softmax(t) h3 = MatMul(t, a) m = Mul(h3, s) y = MatMul(m, a)";

/* The graph's input goes to a product and to two operators without a kernel in the target. */
static const char from_input[] =
    "h1 = MatMul(x, a) s = Softmax(x) m = Mul(h1, s) n = LayerNormalization(x, g) h2 = MatMul(n, "
    "a) y = Mul(m, h2)";

static qdq_model *network(const char *nodes)
{
    static char text[8000];

    snprintf(text, sizeof text,
             "g (float[8,8] x) => (float[8,8] y) <float[8,8] a = {%s}, float[8] g = {1, 1, 1, 1, "
             "1, 1, 1, 1}> { %s }",
             test_tuned_weights(), nodes);
    return test_model(text);
}

/* Each operator with its times in float and on codes; some are slower on codes. */
static const char *costs(qdq_random *r)
{
    static const char *const ops[] = {"MatMul", "LayerNormalization", "Transpose", "Softmax",
                                      "Mul"};
    static char text[1000];
    size_t at = 0;

    for (size_t i = 0; i < QDQ_COUNT(ops); i++) {
        const double us = i == 0 ? 100 : 20 + 60 * qdq_random_uniform(r);
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "%s\"%s\": {\"float_us\": %.1f, \"int8_us\": %.1f, \"inputs\": %d}",
                               i > 0 ? ", " : "", ops[i], us,
                               us * (i == 0 ? 0.4 : 1.4) * qdq_random_uniform(r) + 2,
                               i == 0 || i == 4 ? 2 : 1);
    }
    return test_tuned_costs(text, NULL);
}

/* An edge of an input that one operator reads is what its group says. */
static bool is_single(const qdq_space_edge *e)
{
    return e->node != NULL && (e->value->producer != NULL || e->value->n_use > 1);
}

/* The least time of all assignments of groups and single edges. */
static double best_of_all(test_space *t)
{
    size_t edge[MOST_BITS], n_edges = 0;
    double best = INFINITY;
    qdq_assign a;

    for (size_t i = 0; i < t->s->n_edges; i++)
        if (is_single(&t->s->edge[i]))
            edge[n_edges++] = i;
    const size_t bits = t->s->n_groups + n_edges;
    assert_true(bits <= MOST_BITS && n_edges > 0);
    assert_true(qdq_assign_new(&a, qdq_space_edge_bits(t->s), &t->arena));
    for (uint32_t k = 0; k < 1u << bits; k++) {
        for (size_t i = 0; i < a.n; i++)
            qdq_assign_set(&a, i, false);
        for (size_t i = 0; i < bits; i++)
            if ((k >> i & 1) != 0 && i < t->s->n_groups)
                qdq_assign_set(&a, i, true);
            else if ((k >> i & 1) != 0)
                qdq_space_flip(t->s, &a, edge[i - t->s->n_groups]);
        qdq_plan *p = test_space_plan(t, &a);
        qdq_model *m = test_space_applied(t, p);
        best = fmin(best, test_sim_time(t->engine, m));
        qdq_model_free(m);
        qdq_plan_free(p);
    }
    return best;
}

/* Rules of ort-cpu; of those operators that are in `off` they are switched off, as if they had
 * harmed elsewhere. */
static qdq_target *target_without(const char *const *off, size_t n)
{
    json_t *root, *rule;
    qdq_target *t;
    char *text;
    size_t i;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "engine", "sim", &err));
    assert_ok(
        qdq_json_parse(qdq_target_text(t), strlen(qdq_target_text(t)), "target", &root, &err));
    json_array_foreach(json_object_get(root, "operators"), i, rule)
    {
        for (size_t k = 0; k < n; k++)
            if (strcmp(json_string_value(json_object_get(rule, "op")), off[k]) == 0)
                assert_int_equal(json_object_set_new(rule, "off", json_true()), 0);
    }
    assert_ok(qdq_json_dump(json_object_get(root, "operators"), &text, &err));
    assert_ok(qdq_target_set(t, "operators", text, &err));
    qdq_free(text);
    json_decref(root);
    return t;
}

typedef struct tally {
    double gain, most, worst;
    /* worlds with less than 98 % of their gain */
    unsigned below;
    unsigned builds;
} tally;

/* Another tool's file: a placement by chance. */
static qdq_model *baseline(test_space *t, const char *path, qdq_random *r)
{
    qdq_assign a;
    qdq_model *m;

    assert_true(qdq_assign_new(&a, t->s->n_groups, &t->arena));
    for (size_t i = 0; i < a.n; i++)
        qdq_assign_set(&a, i, i == 0 || qdq_random_uniform(r) < 0.5);
    qdq_plan *p = test_space_plan(t, &a);
    qdq_model *made = test_space_applied(t, p);
    assert_ok(qdq_model_save(made, path, NULL, &err));
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    qdq_model_free(made);
    qdq_plan_free(p);
    return m;
}

/* One world: what a run in subgraph mode finds by the rules of `target`, beside the best of all. */
static void try_world(const qdq_target *target, const char *nodes, const char *folder,
                      bool with_baseline, qdq_random *r, tally *sum)
{
    static const char *const set[] = {"engine", "sim", NULL};
    qdq_engine *e;
    const char *spec = costs(r);
    qdq_tune_opts o = test_tuned_opts(spec);
    const qdq_goal_opts goal = test_tuned_two_forms(&o);
    qdq_tune_result *found;
    qdq_model *m = network(nodes), *tuned, *given = NULL;
    const qdq_model *baselines[2] = {NULL};
    char path[4300];

    assert_ok(qdq_engine_open(spec, NULL, &e, &err));
    test_space t = test_space_open_with(m, "ort-cpu", set, e);
    o.goal = &goal;
    o.mode = QDQ_TUNE_SUBGRAPH;
    snprintf(path, sizeof path, "%s.onnx", folder);
    if (with_baseline) {
        baselines[0] = given = baseline(&t, path, r);
        o.qdq_baselines = baselines;
    }
    assert_ok(qdq_autotune(m, target, NULL, folder, &o, &found, &err));
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    assert_ok(qdq_model_load(path, NULL, &tuned, &err));
    const double in_float = test_sim_time(e, m), best = best_of_all(&t),
                 mine = test_sim_time(e, tuned);
    const double share = (in_float - mine) / (in_float - best);
    sum->gain += in_float - mine;
    sum->most += in_float - best;
    sum->worst = fmin(sum->worst, share);
    sum->below += share < 0.98;
    sum->builds = found->builds > sum->builds ? found->builds : sum->builds;
    qdq_free(found);
    qdq_model_free(tuned);
    qdq_model_free(given);
    test_space_close(&t);
    qdq_engine_close(e);
}

static void expect(const tally *sum, unsigned worlds)
{
    print_message("%.4f of the best gain; below 0.98 in %u of %u worlds, %.4f in the worst; %u "
                  "builds at most\n",
                  sum->gain / sum->most, sum->below, worlds, sum->worst, sum->builds);
    assert_true(sum->gain >= 0.98 * sum->most);
    assert_true(sum->builds <= 14);
}

TEST(the_cut_finds_nearly_all_that_edges_can_bring)
{
    qdq_random r = qdq_random_new(1, "worlds");
    qdq_target *t = target_without(NULL, 0);
    tally sum = {.worst = 1};

    for (int w = 0; w < WORLDS; w++)
        try_world(t, inner, test_path("world%d", w), false, &r, &sum);
    expect(&sum, WORLDS);
    qdq_target_free(t);
}

TEST(the_cut_finds_nearly_all_that_edges_of_an_input_can_bring)
{
    qdq_random r = qdq_random_new(4, "inputs");
    qdq_target *t = target_without(NULL, 0);
    tally sum = {.worst = 1};

    for (int w = 0; w < WORLDS; w++)
        try_world(t, from_input, test_path("input%d", w), false, &r, &sum);
    expect(&sum, WORLDS);
    qdq_target_free(t);
}

/* Every second rule of the network's operators is off, though in many of these worlds its kernel
 * pays. */
TEST(rules_that_are_wrong_cost_next_to_nothing)
{
    static const char *const rules[] = {"MatMul", "Mul", "Transpose", "Softmax", "Relu"};
    qdq_random r = qdq_random_new(2, "wrong rules");
    tally sum = {.worst = 1};

    for (int w = 0; w < FEW_WORLDS; w++) {
        const char *off[QDQ_COUNT(rules)];
        size_t n = 0;
        for (size_t i = 0; i < QDQ_COUNT(rules); i++)
            if (qdq_random_uniform(&r) < 0.5)
                off[n++] = rules[i];
        qdq_target *t = target_without(off, n);
        try_world(t, inner, test_path("wrong%d", w), false, &r, &sum);
        qdq_target_free(t);
    }
    expect(&sum, FEW_WORLDS);
}

TEST(a_baseline_takes_no_build_that_would_find_more)
{
    qdq_random r = qdq_random_new(3, "baselines");
    qdq_target *t = target_without(NULL, 0);
    tally sum = {.worst = 1};

    for (int w = 0; w < FEW_WORLDS; w++)
        try_world(t, inner, test_path("given%d", w), true, &r, &sum);
    expect(&sum, FEW_WORLDS);
    qdq_target_free(t);
}
