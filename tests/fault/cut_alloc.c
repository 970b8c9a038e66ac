/* cut_alloc.c - every allocation of a cut, of a front and of the strategy mincut fails once: an
 * error, no crash, no leak. */
#include "base/fail.h"
#include "support/alloc_fail.h"
#include "support/test.h"
#include "tune/mincut/mincut_search.h"
#include "tune/mincut/pareto_front.h"

enum { BITS = 4 };

static const uint32_t readers[] = {1, 2, 3};
static const qdq_hyperedge hyperedges[] = {{.from = 0, .to = readers, .n_to = 3},
                                           {.from = 1, .to = &readers[2], .n_to = 1}};
static const qdq_mincut_tie ties[] = {{2, 3}};
static const qdq_mincut_graph graph = {
    .n_bits = BITS, .hyperedge = hyperedges, .n_hyperedges = 2, .tie = ties, .n_ties = 1};

static qdq_status fill(qdq_energy *e, qdq_arena *arena, qdq_error *err)
{
    QDQ_TRY(qdq_energy_new(e, &graph, arena, err));
    for (size_t i = 0; i < BITS; i++)
        e->off[i] = 2;
    for (size_t i = 0; i < 2; i++)
        e->q[i] = e->dq[i] = 1;
    return QDQ_OK;
}

static qdq_status cut(void *ctx, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_energy e;
    qdq_assign a;

    (void)ctx;
    qdq_status st = fill(&e, &arena, err);
    if (st == QDQ_OK && !qdq_assign_new(&a, BITS, &arena))
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_energy_minimize(&e, &a, err);
    if (st == QDQ_OK)
        assert_int_equal(a.word[0], 0xf);
    qdq_arena_free(&arena);
    return st;
}

TEST(a_cut_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(cut, NULL) >= 2);
}

/* --- fronts ----------------------------------------------------------------------------------- */

static const double sensitivity[BITS] = {3, 1, 1, 2};

static qdq_status find_front(void *ctx, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_mincut_point *at;
    qdq_energy e;
    qdq_assign a;
    bool fits;
    size_t n;

    (void)ctx;
    qdq_status st = fill(&e, &arena, err);
    if (st == QDQ_OK && !qdq_assign_new(&a, BITS, &arena))
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_mincut_minimize_within(&e, sensitivity, 4, &a, &fits, err);
    if (st == QDQ_OK)
        st = qdq_mincut_front(&e, sensitivity, 4, &arena, &at, &n, err);
    if (st == QDQ_OK)
        assert_true(fits && n >= 2);
    qdq_arena_free(&arena);
    return st;
}

TEST(a_front_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(find_front, NULL) >= 4);
}

/* --- the strategy ----------------------------------------------------------------------------- */

enum { GROUPS = 40 };

typedef struct world {
    uint32_t reader[GROUPS];
    qdq_hyperedge hyperedge[GROUPS];
    qdq_mincut_graph graph;
    bool is_bounded;
} world;

/* In a row: two save half of their time on codes, two lose as much. */
static double us_of(size_t i, bool on)
{
    return !on ? 10 : i % 4 < 2 ? 5 : 15;
}

static double conversion_us(const world *w, size_t t, const qdq_assign *a)
{
    const qdq_conversion_state s = qdq_hyperedge_state(&w->hyperedge[t], a);

    return s == QDQ_HYPEREDGE_Q || s == QDQ_HYPEREDGE_DQ ? 1 : 0;
}

static double time_of(const world *w, const qdq_assign *a)
{
    double sum = 0;

    for (size_t i = 0; i < GROUPS; i++)
        sum += us_of(i, qdq_assign_get(a, i));
    for (size_t t = 0; t < w->graph.n_hyperedges; t++)
        sum += conversion_us(w, t, a);
    return sum;
}

static qdq_status measure(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *err)
{
    const double gain = 1 - time_of(ctx, candidate) / time_of(ctx, incumbent);

    (void)err;
    *failed = false;
    *out = (qdq_test_result){.verdict = gain > test->enter ? QDQ_VERDICT_KEEP : QDQ_VERDICT_REJECT,
                             .gain = gain,
                             .sd = 1e-6,
                             .pairs = 5};
    return QDQ_OK;
}

static qdq_status profile(void *ctx, const qdq_assign *a, qdq_mincut_profile *out, bool *known,
                          qdq_error *err)
{
    const world *w = ctx;

    (void)err;
    *known = true;
    for (size_t i = 0; i < GROUPS; i++)
        out->own[i] = (qdq_mincut_time){us_of(i, qdq_assign_get(a, i)), 1};
    for (size_t t = 0; t < w->graph.n_hyperedges; t++)
        out->hyperedge[t] = (qdq_mincut_time){conversion_us(w, t, a), 1};
    return QDQ_OK;
}

/* Four more than may be on. */
static qdq_status evaluate_assignment(void *ctx, const qdq_assign *a, qdq_mincut_verdict *out,
                                      qdq_error *err)
{
    const double on = (double)qdq_assign_count(a), most = GROUPS / 2.0 - 4;

    (void)ctx;
    (void)err;
    *out = (qdq_mincut_verdict){.known = true, .holds = on <= most, .excess = on / most};
    return QDQ_OK;
}

static qdq_status search(void *ctx, qdq_error *err)
{
    static const char *const names[] = {"nothing"};
    world *w = ctx;
    double alike[GROUPS];
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_assign start;
    qdq_mincut_result out;

    for (uint32_t i = 0; i + 1 < GROUPS; i++) {
        w->reader[i] = i + 1;
        w->hyperedge[i] = (qdq_hyperedge){.from = i, .to = &w->reader[i], .n_to = 1};
    }
    w->graph =
        (qdq_mincut_graph){.n_bits = GROUPS, .hyperedge = w->hyperedge, .n_hyperedges = GROUPS - 1};
    const qdq_search_problem p = {.n_bits = GROUPS,
                                  .start = &start,
                                  .start_name = names,
                                  .n_starts = 1,
                                  .base_ns = 1e4 * GROUPS};
    for (size_t i = 0; i < GROUPS; i++)
        alike[i] = 1;
    const qdq_mincut_problem cut = {.search = &p,
                                    .graph = &w->graph,
                                    .profile = profile,
                                    .profile_ctx = w,
                                    .sensitivity = w->is_bounded ? alike : NULL,
                                    .max_sensitivity = GROUPS,
                                    .evaluate = w->is_bounded ? evaluate_assignment : NULL};
    const qdq_search_opts o = {.test = QDQ_TEST_OPTS_INIT};
    const qdq_search_ops ops = {.ctx = w, .measure = measure};
    qdq_status st = qdq_assign_new(&start, GROUPS, &arena) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_mincut_search_run(&cut, &o, &ops, &arena, &out, err);
    if (st == QDQ_OK) {
        const size_t on = qdq_assign_count(&out.search.best);
        assert_true(out.known &&
                    (w->is_bounded ? on > 8 && on <= GROUPS / 2 - 4 : on == GROUPS / 2));
    }
    qdq_arena_free(&arena);
    return st;
}

TEST(the_strategy_survives_every_allocation_failure)
{
    world w = {.is_bounded = false}, bounded = {.is_bounded = true};

    assert_true(test_every_alloc_fails(search, &w) >= 4);
    assert_true(test_every_alloc_fails(search, &bounded) >= 4);
}
