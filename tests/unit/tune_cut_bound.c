/* tune_cut_bound.c - minimum cuts under a bound on what is judged: what decisions do is believed to
 * be something else than it is, and the bound follows what is found. Times are exact. */
#include <math.h>

#include "base/random.h"
#include "support/test.h"
#include "tune/mincut/mincut_search.h"
#include "tune/mincut/pareto_front.h"

enum { BITS = 40, SEEDS = 60 };

static qdq_error err;

typedef struct world {
    uint32_t reader[BITS];
    qdq_hyperedge hyperedge[BITS];
    qdq_mincut_graph graph;
    /* ns */
    qdq_energy truth;
    double sensitivity[BITS], believed[BITS], allowed;
    /* is it told by how much it is missed? */
    bool has_number;
    unsigned judged, most_evaluated;
    qdq_arena arena;
} world;

/* In a row. `off`: what is believed of a decision is up to so many times too much, or too little;
 * `all`: of all together. */
static void begin(world *w, uint64_t seed, double off, double all)
{
    qdq_random r = qdq_random_new(seed, "bound");

    *w = (world){.has_number = true, .most_evaluated = 16};
    for (uint32_t i = 0; i + 1 < BITS; i++) {
        w->reader[i] = i + 1;
        w->hyperedge[i] = (qdq_hyperedge){.from = i, .to = &w->reader[i], .n_to = 1, .bytes = 1e5};
    }
    w->graph =
        (qdq_mincut_graph){.n_bits = BITS, .hyperedge = w->hyperedge, .n_hyperedges = BITS - 1};
    assert_ok(qdq_energy_new(&w->truth, &w->graph, &w->arena, &err));
    for (size_t i = 0; i < BITS; i++) {
        w->truth.off[i] = 2e4 + 2e5 * qdq_random_uniform(&r);
        w->truth.on[i] = w->truth.off[i] * (0.35 + 0.4 * qdq_random_uniform(&r));
        w->sensitivity[i] = 1e-4 * pow(10, 2 * qdq_random_uniform(&r));
        w->believed[i] = all * w->sensitivity[i] * pow(off, 2 * qdq_random_uniform(&r) - 1);
        w->allowed += w->sensitivity[i] / 4;
    }
    for (size_t t = 0; t + 1 < BITS; t++)
        w->truth.q[t] = w->truth.dq[t] = 4e3;
}

static double sensitivity_of(const world *w, const qdq_assign *a)
{
    double sum = 0;

    for (size_t i = 0; i < BITS; i++)
        sum += qdq_assign_get(a, i) ? w->sensitivity[i] : 0;
    return sum;
}

static qdq_status evaluate_assignment(void *ctx, const qdq_assign *a, qdq_mincut_verdict *out,
                                      qdq_error *ignored)
{
    world *w = ctx;
    const double excess = sensitivity_of(w, a) / w->allowed;

    (void)ignored;
    *out = (qdq_mincut_verdict){.known = w->judged < w->most_evaluated,
                                .holds = excess <= 1,
                                .excess = w->has_number ? excess : NAN};
    w->judged += out->known;
    return QDQ_OK;
}

static qdq_status measure(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *ignored)
{
    const world *w = ctx;
    const double gain =
        1 - qdq_energy_value(&w->truth, candidate) / qdq_energy_value(&w->truth, incumbent);

    (void)ignored;
    assert_true(sensitivity_of(w, candidate) <= w->allowed); /* nothing else is built */
    *failed = false;
    *out = (qdq_test_result){.verdict = gain > test->enter ? QDQ_VERDICT_KEEP : QDQ_VERDICT_REJECT,
                             .gain = gain,
                             .sd = 1e-6,
                             .pairs = 5};
    return QDQ_OK;
}

static qdq_status profile(void *ctx, const qdq_assign *a, qdq_mincut_profile *out, bool *known,
                          qdq_error *ignored)
{
    const world *w = ctx;

    (void)ignored;
    *known = true;
    for (size_t i = 0; i < BITS; i++)
        out->own[i] =
            (qdq_mincut_time){(qdq_assign_get(a, i) ? w->truth.on[i] : w->truth.off[i]) * 1e-3, 1};
    for (size_t t = 0; t < w->graph.n_hyperedges; t++) {
        const qdq_conversion_state s = qdq_hyperedge_state(&w->hyperedge[t], a);
        if (s == QDQ_HYPEREDGE_Q || s == QDQ_HYPEREDGE_DQ)
            out->hyperedge[t] = (qdq_mincut_time){w->truth.q[t] * 1e-3, 1};
    }
    return QDQ_OK;
}

/* How much slower it is than the best within the bound, if all were known. */
static double search(world *w)
{
    static const char *const names[] = {"nothing"};
    const qdq_search_ops ops = {.ctx = w, .measure = measure};
    const qdq_search_opts o = {.test = QDQ_TEST_OPTS_INIT};
    qdq_assign start, best;
    qdq_mincut_result out;
    bool fits;

    assert_true(qdq_assign_new(&start, BITS, &w->arena) && qdq_assign_new(&best, BITS, &w->arena));
    const qdq_search_problem p = {.n_bits = BITS,
                                  .start = &start,
                                  .start_name = names,
                                  .n_starts = 1,
                                  .base_ns = qdq_energy_value(&w->truth, &start)};
    const qdq_mincut_problem cut = {.search = &p,
                                    .graph = &w->graph,
                                    .profile = profile,
                                    .profile_ctx = w,
                                    .sensitivity = w->believed,
                                    .max_sensitivity = w->has_number ? w->allowed : INFINITY,
                                    .evaluate = evaluate_assignment,
                                    .evaluate_ctx = w};
    assert_ok(qdq_mincut_search_run(&cut, &o, &ops, &w->arena, &out, &err));
    assert_ok(
        qdq_mincut_minimize_within(&w->truth, w->sensitivity, w->allowed, &best, &fits, &err));
    assert_true(sensitivity_of(w, &out.search.best) <= w->allowed &&
                w->judged <= w->most_evaluated);
    return qdq_energy_value(&w->truth, &out.search.best) / qdq_energy_value(&w->truth, &best) - 1;
}

static double worlds(const char *what, double off, double all, bool has_number)
{
    double gap = 0, worst = 0, judged = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        world w;
        begin(&w, seed, off, all);
        w.has_number = has_number;
        const double mine = search(&w);
        gap += mine / SEEDS;
        worst = fmax(worst, mine);
        judged += (double)w.judged / SEEDS;
        qdq_arena_free(&w.arena);
    }
    print_message(
        "%s: %.2f %% above the best within the bound, at most %.2f %%; %.1f were judged\n", what,
        gap * 100, worst * 100, judged);
    return gap;
}

TEST(what_is_known_exactly_is_used_up)
{
    assert_true(worlds("exact", 1, 1, true) < 0.01);
}

TEST(a_scale_that_is_wrong_is_found_out)
{
    assert_true(worlds("three times too much", 1, 3, true) < 0.015);
    assert_true(worlds("a fifth of it", 1, 0.2, true) < 0.015);
}

TEST(single_decisions_may_be_wrong)
{
    assert_true(worlds("each off by 2 at most", 2, 1, true) < 0.03);
}

/* As of an accuracy on labels. */
TEST(without_a_number_bounds_are_bisected)
{
    assert_true(worlds("no number", 1, 1, false) < 0.02);
    assert_true(worlds("no number, each off by 2", 2, 1, false) < 0.04);
}

TEST(what_nobody_judges_is_not_built)
{
    world w;

    begin(&w, 1, 1, 1);
    w.most_evaluated = 0;
    assert_true(search(&w) > 0.01);
    assert_int_equal(w.judged, 0);
    qdq_arena_free(&w.arena);
}

TEST(a_bound_that_nothing_keeps_leaves_all_in_float)
{
    world w;

    begin(&w, 2, 1, 1);
    w.allowed = 1e-9;
    assert_true(search(&w) == 0); /* neither does what would be best */
    qdq_arena_free(&w.arena);
}
