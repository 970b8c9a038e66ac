/* The search for the layers that go: on made-up items whose best answer is known. */
#include <math.h>

#include "quant/goal/goal_search.h"
#include "support/test.h"

static qdq_error err;

typedef struct world {
    double allowed;
    /* harm of each item, as it really is */
    const double *truth;
    size_t n;
    /* 0: never */
    unsigned trials, fail_at;
    /* with so many gone nothing is left; 0: never */
    size_t float_from;
    bool knows_excess;
} world;

static qdq_status try_it(void *ctx, const bool *gone, size_t n_gone, qdq_goal_trial *out,
                         qdq_error *e)
{
    world *w = ctx;
    double sensitivity = 0;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        sensitivity += gone[i] ? 0 : w->truth[i];
        n += gone[i];
    }
    assert_int_equal(n, n_gone);
    if (++w->trials == w->fail_at)
        return qdq_fail(e, QDQ_E_ENGINE, "out of luck");
    if (w->float_from > 0 && n >= w->float_from) {
        out->is_float = true;
        return QDQ_OK;
    }
    out->holds = sensitivity <= w->allowed;
    out->excess = w->knows_excess ? sensitivity / w->allowed : NAN;
    return QDQ_OK;
}

static qdq_arena arena;

static qdq_goal_search_result found(world *w, const qdq_goal_item *items, unsigned most)
{
    qdq_goal_search_result r;

    qdq_arena_free(&arena);
    assert_ok(qdq_goal_search(items, w->n, most, try_it, w, &arena, &r, &err));
    assert_int_equal(r.trials, w->trials);
    assert_true(r.trials <= most);
    return r;
}

static size_t count(const qdq_goal_search_result *r, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        k += r->gone[i];
    return k;
}

TEST(a_goal_that_holds_takes_one_trial)
{
    const double truth[] = {1, 2};
    const qdq_goal_item items[] = {{1, 1}, {2, 1}};
    world w = {.allowed = 3, .truth = truth, .n = 2};
    qdq_goal_search_result r = found(&w, items, 10);

    assert_true(r.reached);
    assert_int_equal(r.trials, 1);
    assert_int_equal(count(&r, 2), 0);
}

TEST(the_worst_ratio_goes_first)
{
    const double truth[] = {4, 3, 2, 1};
    const qdq_goal_item items[] = {{4, 100}, {3, 1}, {2, 100}, {1, 100}};
    world w = {.allowed = 7, .truth = truth, .n = 4};
    qdq_goal_search_result r = found(&w, items, 10);

    assert_true(r.reached);
    assert_int_equal(count(&r, 4), 1);
    assert_true(r.gone[1]);
}

/* Rules may leave in float what is alone when others have gone: a long way back from all of them.
 * Ten of the items do nearly all of the harm, which their ranks do not show. */
TEST(where_many_sets_leave_nothing_the_search_does_not_go_back_one_by_one)
{
    enum { N = 200 };
    double truth[N];
    qdq_goal_item items[N];
    world w = {.allowed = 2, .truth = truth, .n = N, .knows_excess = true, .float_from = 120};

    for (size_t i = 0; i < N; i++) {
        truth[i] = i >= 100 && i < 110 ? 100 : 0.01;
        items[i] = (qdq_goal_item){1, 1};
    }
    const qdq_goal_search_result r = found(&w, items, 24);
    assert_true(r.reached);
    assert_in_range(count(&r, N), 10, 119);
}

TEST(a_set_that_leaves_nothing_reaches_no_goal_and_fewer_go)
{
    const double truth[] = {5, 4, 3, 2, 1};
    const qdq_goal_item items[] = {{5, 1}, {4, 1}, {3, 1}, {2, 1}, {1, 1}};
    world w = {.allowed = 3, .truth = truth, .n = 5, .knows_excess = true, .float_from = 4};
    qdq_goal_search_result r = found(&w, items, 10);

    assert_true(r.reached);
    assert_int_equal(count(&r, 5), 3);
    w = (world){.allowed = 0.5, .truth = truth, .n = 5, .knows_excess = true, .float_from = 1};
    r = found(&w, items, 10);
    assert_false(r.reached);
}

TEST(a_known_excess_gives_the_first_guess)
{
    double truth[64];
    qdq_goal_item items[64];

    for (size_t i = 0; i < 64; i++) {
        truth[i] = 1;
        items[i] = (qdq_goal_item){1, 1};
    }
    world w = {.allowed = 24, .truth = truth, .n = 64, .knows_excess = true};
    qdq_goal_search_result r = found(&w, items, 3); /* none, 40, 20 */
    assert_true(r.reached);
    assert_int_equal(count(&r, 64), 40);
}

TEST(what_was_ranked_wrongly_comes_back)
{
    double truth[16] = {0};
    qdq_goal_item items[16];

    for (size_t i = 0; i < 16; i++)
        items[i] = (qdq_goal_item){16 - (double)i, 1}; /* says that the first is worst */
    truth[9] = 10;                                     /* but one alone is, and it is the tenth */
    world w = {.allowed = 1, .truth = truth, .n = 16};
    qdq_goal_search_result r = found(&w, items, 24);

    assert_true(r.reached);
    assert_int_equal(count(&r, 16), 1);
    assert_true(r.gone[9]);
}

TEST(few_trials_give_a_set_that_holds_if_one_was_found)
{
    double truth[100];
    qdq_goal_item items[100];

    for (size_t i = 0; i < 100; i++) {
        truth[i] = 1;
        items[i] = (qdq_goal_item){1, 1 + (double)i};
    }
    for (unsigned most = 1; most < 20; most++) {
        world w = {.allowed = 70, .truth = truth, .n = 100};
        qdq_goal_search_result r = found(&w, items, most);

        if (r.reached)
            assert_true(count(&r, 100) >= 30);
        assert_true(r.reached == (most >= 7)); /* none, 1, 2, 4, 8, 16, 32 */
    }
}

TEST(a_goal_that_needs_all_gone_is_not_reached)
{
    const double truth[] = {1, 1, 1, 1, 1};
    const qdq_goal_item items[] = {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    world w = {.allowed = 0.5, .truth = truth, .n = 5};
    qdq_goal_search_result r = found(&w, items, 24);

    assert_false(r.reached);
    assert_int_equal(count(&r, 5), 4); /* the nearest */
    w = (world){.allowed = 0.5, .truth = truth, .n = 1};
    r = found(&w, items, 24);
    assert_false(r.reached);
    assert_int_equal(r.trials, 1);
    w = (world){.allowed = -1, .truth = truth, .n = 0};
    assert_false(found(&w, items, 24).reached);
}

TEST(odd_numbers_do_no_harm)
{
    const double truth[] = {1, 1, 1};
    const qdq_goal_item items[] = {{(double)INFINITY, 0}, {0, 0}, {1, -5}};
    world w = {.allowed = 2, .truth = truth, .n = 3, .knows_excess = true};
    qdq_goal_search_result r = found(&w, items, 24);

    assert_true(r.reached && r.gone[0]);
}

TEST(a_trial_that_fails_ends_the_search)
{
    const double truth[] = {1, 1, 1, 1};
    const qdq_goal_item items[] = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};

    for (unsigned k = 1; k <= 4; k++) {
        world w = {.allowed = 2, .truth = truth, .n = 4, .fail_at = k};
        qdq_goal_search_result r;

        qdq_arena_free(&arena);
        assert_fails(QDQ_E_ENGINE, "out of luck",
                     qdq_goal_search(items, 4, 24, try_it, &w, &arena, &r, &err));
    }
}

/* --- all of them may come back ---------------------------------------------------------------- */

static qdq_goal_search_result found_back(world *w, const qdq_goal_item *items, unsigned most)
{
    qdq_goal_search_result r;

    qdq_arena_free(&arena);
    assert_ok(qdq_goal_search_back(items, w->n, most, try_it, w, &arena, &r, &err));
    assert_int_equal(r.trials, w->trials);
    assert_true(r.trials <= most);
    return r;
}

TEST(all_that_may_come_back_comes_back_in_one_trial)
{
    const double truth[] = {1, 2, 1};
    const qdq_goal_item items[] = {{1, 1}, {1, 2}, {1, 3}};
    world w = {.allowed = 4, .truth = truth, .n = 3};
    qdq_goal_search_result r = found_back(&w, items, 10);

    assert_true(r.reached);
    assert_int_equal(r.trials, 1);
    assert_int_equal(count(&r, 3), 0);
}

TEST(one_that_must_stay_gone_does_not_keep_others_away)
{
    const double truth[] = {1, 100, 1, 1};
    const qdq_goal_item items[] = {{1, 1}, {1, 2}, {1, 3}, {1, 4}};
    world w = {.allowed = 4, .truth = truth, .n = 4};
    qdq_goal_search_result r = found_back(&w, items, 10);

    assert_true(r.reached);
    assert_int_equal(count(&r, 4), 1);
    assert_true(r.gone[1]);
}

TEST(where_nothing_may_come_back_all_stay_gone)
{
    const double truth[] = {5, 5, 5};
    const qdq_goal_item items[] = {{1, 1}, {1, 2}, {1, 3}};

    for (size_t n = 0; n <= 3; n++) {
        world w = {.allowed = 4, .truth = truth, .n = n};
        qdq_goal_search_result r = found_back(&w, items, 10);

        assert_false(r.reached);
        assert_int_equal(count(&r, n), n);
        assert_true(n > 0 || r.trials == 0);
    }
}

TEST(a_trial_that_fails_ends_the_way_back)
{
    const double truth[] = {1};
    const qdq_goal_item items[] = {{1, 1}};
    world w = {.allowed = 4, .truth = truth, .n = 1, .fail_at = 1};
    qdq_goal_search_result r;

    assert_fails(QDQ_E_ENGINE, "out of luck",
                 qdq_goal_search_back(items, 1, 4, try_it, &w, &arena, &r, &err));
}
