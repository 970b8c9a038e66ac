/* tune_pareto_front.c - cost against harm, compared with all assignments. */
#include "tune/mincut/pareto_front.h"

#include <math.h>

#include "base/random.h"
#include "support/test.h"

enum { BITS = 12, HYPEREDGES = 16 };

static qdq_error err;

typedef struct world {
    qdq_mincut_graph graph;
    qdq_hyperedge hyperedge[HYPEREDGES];
    uint32_t reader[HYPEREDGES][2];
    qdq_energy energy;
    double sensitivity[BITS];
    qdq_arena arena;
} world;

static void build(world *w, uint64_t seed)
{
    qdq_random r = qdq_random_new(seed, "fronts");

    *w = (world){.graph = {.n_bits = BITS, .n_hyperedges = HYPEREDGES}};
    w->graph.hyperedge = w->hyperedge;
    assert_ok(qdq_energy_new(&w->energy, &w->graph, &w->arena, &err));
    for (uint32_t t = 0; t < HYPEREDGES; t++) {
        const uint32_t from = t < BITS - 1 ? t : (uint32_t)(qdq_random_u64(&r) % 4);
        w->reader[t][0] = from + 1;
        w->reader[t][1] = from + 2 + (uint32_t)(qdq_random_u64(&r) % 5);
        w->hyperedge[t] =
            (qdq_hyperedge){.from = from,
                            .to = w->reader[t],
                            .n_to = w->reader[t][1] < BITS ? 1 + qdq_random_u64(&r) % 2 : 1};
        w->energy.q[t] = w->energy.dq[t] = 0.5 * qdq_random_uniform(&r);
    }
    for (size_t i = 0; i < BITS; i++) {
        w->energy.off[i] = 2 + 2 * qdq_random_uniform(&r);
        w->energy.on[i] = 1 + 2 * qdq_random_uniform(&r);
        w->sensitivity[i] =
            i == 5 ? 0 : qdq_random_uniform(&r) * 1e-6; /* noise power is a small number */
    }
}

static double sensitivity_of(const world *w, const qdq_assign *a)
{
    double sum = 0;

    for (size_t i = 0; i < BITS; i++)
        sum += qdq_assign_get(a, i) ? w->sensitivity[i] : 0;
    return sum;
}

/* The least cost with so much harm at most. */
static double best_within(world *w, double most)
{
    double best = INFINITY;
    qdq_assign a;

    assert_true(qdq_assign_new(&a, BITS, &w->arena));
    for (uint64_t set = 0; set < 1 << BITS; set++) {
        a.word[0] = set;
        if (sensitivity_of(w, &a) <= most)
            best = fmin(best, qdq_energy_value(&w->energy, &a));
    }
    return best;
}

TEST(a_bound_is_kept_and_little_is_lost_by_it)
{
    double lost = 0, at_stake = 0;

    for (uint64_t seed = 0; seed < 40; seed++) {
        world w;
        qdq_assign a;
        build(&w, seed);
        assert_true(qdq_assign_new(&a, BITS, &w.arena));
        const double nothing = qdq_energy_value(&w.energy, &a);
        for (double most = 0; most < 6e-6; most += 0.7e-6) {
            bool fits;
            assert_ok(qdq_mincut_minimize_within(&w.energy, w.sensitivity, most, &a, &fits, &err));
            assert_true(fits && sensitivity_of(&w, &a) <= most);
            const double best = best_within(&w, most), mine = qdq_energy_value(&w.energy, &a);
            assert_true(mine >= best - 1e-9);
            lost += mine - best;
            at_stake += nothing - best;
        }
        qdq_arena_free(&w.arena);
    }
    print_message("of what bounds leave to be saved, %.1f %% is lost\n", 100 * lost / at_stake);
    assert_true(lost < 0.1 * at_stake);
}

TEST(a_bound_that_cannot_be_kept_is_told)
{
    qdq_assign a;
    bool fits;
    world w;

    build(&w, 1);
    w.energy.off[3] = INFINITY;
    assert_true(qdq_assign_new(&a, BITS, &w.arena));
    assert_ok(qdq_mincut_minimize_within(&w.energy, w.sensitivity, w.sensitivity[3] / 2, &a, &fits,
                                         &err));
    assert_false(fits);
    assert_true(qdq_assign_get(&a, 3));
    assert_true(sensitivity_of(&w, &a) == w.sensitivity[3]);
    assert_ok(
        qdq_mincut_minimize_within(&w.energy, w.sensitivity, w.sensitivity[3], &a, &fits, &err));
    assert_true(fits);
    qdq_arena_free(&w.arena);
}

TEST(a_front_goes_from_the_cheapest_to_the_least_harmful)
{
    for (uint64_t seed = 0; seed < 40; seed++)
        for (size_t most = 2; most < 9; most++) {
            qdq_mincut_point *at;
            qdq_assign a;
            size_t n;
            world w;
            build(&w, seed);
            assert_ok(qdq_mincut_front(&w.energy, w.sensitivity, most, &w.arena, &at, &n, &err));
            assert_true(n >= 1 && n <= most);
            assert_true(qdq_assign_new(&a, BITS, &w.arena));
            assert_ok(qdq_energy_minimize(&w.energy, &a, &err));
            assert_true(qdq_assign_equal(&at[0].assign, &a));
            assert_true(at[n - 1].sensitivity == 0);
            for (size_t i = 0; i < n; i++) {
                assert_true(at[i].sensitivity == sensitivity_of(&w, &at[i].assign));
                assert_true(fabs(at[i].cost - best_within(&w, at[i].sensitivity)) <
                            1e-9); /* nothing is better in both */
                assert_true(i == 0 || (at[i].cost > at[i - 1].cost &&
                                       at[i].sensitivity < at[i - 1].sensitivity));
            }
            qdq_arena_free(&w.arena);
        }
}

TEST(a_front_of_one_is_one)
{
    qdq_mincut_point *at;
    size_t n;
    world w;

    build(&w, 1);
    for (size_t i = 0; i < BITS; i++)
        w.energy.on[i] = 9; /* nothing pays */
    assert_ok(qdq_mincut_front(&w.energy, w.sensitivity, 5, &w.arena, &at, &n, &err));
    assert_int_equal(n, 1);
    assert_int_equal(qdq_assign_count(&at[0].assign), 0);
    qdq_arena_free(&w.arena);
}

TEST(wrong_harm_is_refused)
{
    qdq_mincut_point *at;
    qdq_assign a;
    bool fits;
    size_t n;
    world w;

    build(&w, 1);
    assert_true(qdq_assign_new(&a, BITS, &w.arena));
    assert_fails(QDQ_E_USAGE, "a front of 1 points",
                 qdq_mincut_front(&w.energy, w.sensitivity, 1, &w.arena, &at, &n, &err));
    w.sensitivity[2] = -1;
    assert_fails(QDQ_E_USAGE, "bit 2: harm of -1",
                 qdq_mincut_minimize_within(&w.energy, w.sensitivity, 1, &a, &fits, &err));
    qdq_arena_free(&w.arena);
}
