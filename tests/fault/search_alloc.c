/* search_alloc.c - every allocation of a search, of a test of pairs, and of reading a profile fails
 * once: an error, no crash, no leak. */
#include "base/fail.h"
#include "support/alloc_fail.h"
#include "support/test.h"
#include "tune/measure/layer_times.h"
#include "tune/search/search.h"

/* --- a search --------------------------------------------------------------------------------- */

enum { BITS = 6 };

/* On codes each takes 70 % of its time, but for the last, which takes twice as long. */
static double share_of(const qdq_assign *a, size_t i)
{
    return !qdq_assign_get(a, i) ? 1.0 / BITS : i + 1 < BITS ? 0.7 / BITS : 2.0 / BITS;
}

static double time_of(const qdq_assign *a)
{
    double t = 0;

    for (size_t i = 0; i < BITS; i++)
        t += share_of(a, i);
    return t;
}

static qdq_status measure(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *err)
{
    const double gain = 1 - time_of(candidate) / time_of(incumbent);

    (void)ctx;
    (void)err;
    *failed = false;
    *out = (qdq_test_result){.verdict = gain > test->enter ? QDQ_VERDICT_KEEP : QDQ_VERDICT_REJECT,
                             .gain = gain,
                             .sd = 1e-6,
                             .pairs = 5};
    return QDQ_OK;
}

static qdq_status profile(void *ctx, const qdq_assign *a, qdq_search_cost *cost, bool *known,
                          qdq_error *err)
{
    (void)ctx;
    (void)err;
    *known = true;
    for (size_t i = 0; i < BITS; i++)
        cost[i] = (qdq_search_cost){.own = share_of(a, i) / time_of(a)};
    return QDQ_OK;
}

static qdq_status search(void *ctx, qdq_error *err)
{
    static const uint32_t bit[BITS] = {0, 1, 2, 3, 4, 5}, border[2] = {1, 2};
    static const char *const names[] = {"nothing", "everything"};
    const bool *profiles = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_choice choice[BITS];
    qdq_assign start[2];
    qdq_search_result out;

    for (size_t i = 0; i < BITS; i++)
        choice[i] = (qdq_search_choice){&bit[i], 1e6 / BITS, true};
    const qdq_search_unit unit[] = {
        {.name = "a", .choice = choice, .n_choices = 2, .n_instances = 1},
        {.name = "b", .choice = choice + 2, .n_choices = 4, .n_instances = 1}};
    const qdq_search_boundary boundaries[] = {{border, 2}};
    const qdq_search_problem p = {.n_bits = BITS,
                                  .unit = unit,
                                  .n_units = 2,
                                  .boundary = boundaries,
                                  .n_boundaries = 1,
                                  .start = start,
                                  .start_name = names,
                                  .n_starts = 2,
                                  .base_ns = 1e6};
    const qdq_search_opts o = {.test = QDQ_TEST_OPTS_INIT,
                               .schemes_per_unit = 8,
                               .exhaustive = 2,
                               .mutations = 3,
                               .stale = 3,
                               .seed = 1};
    const qdq_search_ops ops = {.measure = measure, .profile = *profiles ? profile : NULL};
    qdq_status st =
        qdq_assign_new(&start[0], BITS, &arena) && qdq_assign_new(&start[1], BITS, &arena)
            ? QDQ_OK
            : qdq_nomem(err);
    for (size_t i = 0; i < BITS && st == QDQ_OK; i++)
        qdq_assign_set(&start[1], i, true);
    if (st == QDQ_OK)
        st = qdq_search_run(&p, &o, &ops, &arena, &out, err);
    if (st == QDQ_OK)
        assert_int_equal(out.best.word[0], 0x1f);
    qdq_arena_free(&arena);
    return st;
}

TEST(a_search_survives_every_allocation_failure)
{
    bool profiles[] = {false, true};

    for (int i = 0; i < 2; i++)
        assert_true(test_every_alloc_fails(search, &profiles[i]) >= 4);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static qdq_status take(void *ctx, unsigned pair, double *incumbent_ns, double *candidate_ns,
                       qdq_error *err)
{
    (void)ctx;
    (void)err;
    *incumbent_ns = 1e6 + pair;
    *candidate_ns = 9e5 + pair;
    return QDQ_OK;
}

static qdq_status test_pairs(void *ctx, qdq_error *err)
{
    const qdq_test_opts o = QDQ_TEST_OPTS_INIT;
    qdq_test_result r;
    qdq_aa_test e;

    (void)ctx;
    QDQ_TRY(qdq_aa_test_begin(&o, take, NULL, &e, err));
    return qdq_test_run(&o, take, NULL, &r, err);
}

TEST(pairs_survive_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(test_pairs, NULL) >= 8);
}

/* --- a profile -------------------------------------------------------------------------------- */

typedef struct reading {
    const qdq_model *m;
    const qdq_layer *layer;
    size_t n;
} reading;

static qdq_status attribute(void *ctx, qdq_error *err)
{
    const reading *r = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_tune_times times;
    qdq_status st = qdq_tune_attribute(r->m->graph, r->layer, r->n, &arena, &times, err);

    if (st == QDQ_OK)
        assert_true(times.is_known && times.sum == 12);
    qdq_arena_free(&arena);
    return st;
}

TEST(reading_a_profile_survives_every_allocation_failure)
{
    static const qdq_layer layers[] = {
        {.layer = "add_token_3", .op = "QLinearAdd", .median_us = 9},
        {.layer = "y_QuantizeLinear", .op = "QuantizeLinear", .median_us = 1},
        {.layer = "relu", .op = "Relu", .median_us = 2}};
    qdq_model *m =
        test_model("g (float[1,4] x) => (float[1,4] z) { [add] y = Add(x, x) [relu] z = Relu(y) }");
    reading r = {m, layers, QDQ_COUNT(layers)};

    assert_true(test_every_alloc_fails(attribute, &r) >= 2);
    qdq_model_free(m);
}
