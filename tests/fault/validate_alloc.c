/* validate_alloc.c - every allocation of a validation fails once: an error, no crash, no leak. */
#include "base/fail.h"
#include "support/alloc_fail.h"
#include "support/test.h"
#include "tune/validate/validate.h"

enum { ITEMS = 24 };

/* Item 5 does harm; 9 and 10 only one without the other; 17 cannot be built. */
static double time_of(const qdq_assign *a)
{
    double t = 1;

    for (size_t i = 0; i < ITEMS; i++)
        t += !qdq_assign_get(a, i) ? 0 : i == 5 ? 0.1 : -0.01;
    return t + (qdq_assign_get(a, 9) != qdq_assign_get(a, 10) ? 0.3 : 0);
}

static qdq_status measure(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *err)
{
    const double gain = 1 - time_of(candidate) / time_of(incumbent);

    (void)ctx;
    (void)err;
    *failed = qdq_assign_get(candidate, 17);
    *out = (qdq_test_result){.verdict = gain > test->enter ? QDQ_VERDICT_KEEP : QDQ_VERDICT_REJECT,
                             .gain = gain,
                             .sd = 1e-6,
                             .pairs = 5};
    return QDQ_OK;
}

static qdq_status merge(qdq_arena *arena, qdq_error *err)
{
    static const char *const names[] = {"nothing", "rules"};
    qdq_validate_item item[ITEMS];
    qdq_validate_link link[ITEMS - 1];
    qdq_assign start[2];
    qdq_validate_result out;

    if (!qdq_assign_new(&start[0], ITEMS, arena) || !qdq_assign_new(&start[1], ITEMS, arena))
        return qdq_nomem(err);
    qdq_assign_set(&start[1], 2, true);
    for (uint32_t i = 0; i < ITEMS; i++) {
        item[i] = (qdq_validate_item){.name = "group", .saves = 0.01, .place = i};
        if (!qdq_assign_new(&item[i].bits, ITEMS, arena))
            return qdq_nomem(err);
        qdq_assign_set(&item[i].bits, i, true);
        if (i > 0)
            link[i - 1] = (qdq_validate_link){{i - 1, i}};
    }
    const qdq_search_problem s = {
        .n_bits = ITEMS, .start = start, .start_name = names, .n_starts = 2, .base_ns = 1e6};
    const qdq_validate_problem p = {.search = &s,
                                    .item = item,
                                    .n_items = ITEMS,
                                    .link = link,
                                    .n_links = ITEMS - 1,
                                    .incremental = true};
    const qdq_search_opts o = {.test = QDQ_TEST_OPTS_INIT};
    const qdq_search_ops ops = {.measure = measure};
    QDQ_TRY(qdq_validate_run(&p, &o, &ops, arena, &out, err));
    assert_int_equal(out.search.best.word[0], 0xffffff & ~(1u << 5 | 1u << 17));
    return QDQ_OK;
}

static qdq_status run(void *ctx, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    const qdq_status st = merge(&arena, err);

    (void)ctx;
    qdq_arena_free(&arena);
    return st;
}

TEST(a_validation_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(run, NULL) >= 4);
}
