/* tune_cut_costs.c - costs from profiles that are written down by hand. */
#include "tune/mincut/costs.h"

#include <math.h>

#include "support/test.h"

static qdq_error err;

enum { BITS = 3, HYPEREDGES = 4, MOST = 4 };

/* In, a, b, c, out: in a row. */
static const uint32_t readers[] = {0, 1, 2, QDQ_CUT_FLOAT};
static const qdq_hyperedge hyperedges[HYPEREDGES] = {
    {.from = QDQ_CUT_FLOAT, .to = &readers[0], .n_to = 1, .bytes = 1000},
    {.from = 0, .to = &readers[1], .n_to = 1, .bytes = 2000},
    {.from = 1, .to = &readers[2], .n_to = 1, .bytes = 4000},
    {.from = 2, .to = &readers[3], .n_to = 1, .bytes = 8000}};
static const qdq_mincut_graph graph = {
    .n_bits = BITS, .hyperedge = hyperedges, .n_hyperedges = HYPEREDGES};

typedef struct sightings {
    qdq_mincut_seen at[MOST];
    size_t n;
    qdq_arena arena;
} sightings;

static qdq_mincut_seen *see(sightings *s, uint64_t bits, const double own[BITS],
                            const double hyperedge[HYPEREDGES], double rest)
{
    qdq_mincut_seen *k = &s->at[s->n++];

    assert_true(qdq_assign_new(&k->assign, BITS, &s->arena));
    k->assign.word[0] = bits;
    k->time_ns = NAN;
    assert_ok(qdq_mincut_profile_new(&k->profile, &graph, &s->arena, &err));
    for (size_t i = 0; i < BITS; i++)
        k->profile.own[i] = (qdq_mincut_time){own[i], 1};
    for (size_t t = 0; t < HYPEREDGES; t++)
        k->profile.hyperedge[t] = (qdq_mincut_time){hyperedge[t], hyperedge[t] > 0};
    k->profile.remainder = (qdq_mincut_time){rest, 1};
    return k;
}

static qdq_mincut_costs fit(sightings *s)
{
    qdq_mincut_costs c;

    assert_ok(qdq_mincut_costs_fit(&c, &graph, s->at, s->n, NULL, &s->arena, &err));
    return c;
}

static void assert_near(double x, double expected)
{
    if (!(fabs(x - expected) <= 1e-9 * fabs(expected) + 1e-6))
        fail_msg("%.12g: expected %.12g", x, expected);
}

TEST(kernels_and_conversions_are_read_from_profiles)
{
    sightings s = {0};

    see(&s, 0, (double[]){10, 20, 30}, (double[]){0, 0, 0, 0}, 5);
    see(&s, 7, (double[]){5, 8, 12}, (double[]){2, 0, 0, 9}, 5);
    see(&s, 2, (double[]){10, 8, 30}, (double[]){0, 3, 5, 0}, 5);
    const qdq_mincut_costs c = fit(&s);
    assert_near(c.energy.off[1], 20e3);
    assert_near(c.energy.on[0], 5e3);
    assert_near(c.energy.on[1], 8e3);
    assert_near(c.energy.q[0], 2e3);
    assert_near(c.energy.q[1], 3e3);
    assert_near(c.energy.dq[2], 5e3);
    assert_near(c.energy.dq[3], 9e3);
    assert_near(c.remainder, 5e3);
    assert_near(c.noise, 0);
    for (size_t k = 0; k < s.n; k++) { /* the costs tell what was seen */
        double sum = s.at[k].profile.remainder.us;
        for (size_t i = 0; i < BITS; i++)
            sum += s.at[k].profile.own[i].us;
        for (size_t t = 0; t < HYPEREDGES; t++)
            sum += s.at[k].profile.hyperedge[t].us;
        assert_near(c.remainder + qdq_energy_value(&c.energy, &s.at[k].assign), sum * 1e3);
    }
    qdq_arena_free(&s.arena);
}

/* One us for 1000 bytes, and one for each: a Q of 8000 bytes was never seen. DQ: one for 1000
 * bytes. */
TEST(conversions_never_seen_cost_what_their_size_does)
{
    sightings s = {0};

    see(&s, 0, (double[]){10, 20, 30}, (double[]){0, 0, 0, 0}, 5);
    see(&s, 7, (double[]){5, 8, 12}, (double[]){2, 0, 0, 8}, 5);
    see(&s, 2, (double[]){10, 8, 30}, (double[]){0, 3, 4, 0}, 5);
    const qdq_mincut_costs c = fit(&s);
    assert_near(c.energy.q[2], 5e3);
    assert_near(c.energy.dq[1], 2e3);
    assert_true(c.q_doubt[2] == 0.5 * c.energy.q[2]);
    assert_true(c.q_doubt[1] == 0);
    qdq_arena_free(&s.arena);
}

/* Where only the other kind was seen, that is what there is. */
TEST(one_kind_of_conversion_stands_for_the_other)
{
    sightings s = {0};

    see(&s, 0, (double[]){10, 20, 30}, (double[]){0, 0, 0, 0}, 5);
    see(&s, 4, (double[]){10, 20, 12}, (double[]){0, 0, 4, 0}, 5);
    s.at[1].profile.hyperedge[3].us = NAN;
    const qdq_mincut_costs c = fit(&s);
    assert_near(c.energy.q[2], 4e3);
    assert_near(c.energy.dq[3], 4e3);
    qdq_arena_free(&s.arena);
}

/* 8 rows of 1 us too much each: the model takes 60 us, its rows say 68. */
TEST(what_profiling_adds_is_taken_off)
{
    sightings s = {0};

    see(&s, 0, (double[]){11, 21, 31}, (double[]){0, 0, 0, 0}, 6)->time_ns = 65e3;
    see(&s, 2, (double[]){11, 9, 31}, (double[]){0, 4, 6, 0}, 6);
    const qdq_mincut_costs c = fit(&s);
    assert_near(c.overhead_us, 1);
    assert_near(c.energy.off[0], 10e3);
    assert_near(c.energy.on[1], 8e3);
    assert_near(c.energy.q[1], 3e3);
    assert_near(c.remainder, 5e3);
    qdq_arena_free(&s.arena);
}

/* On two threads rows say twice the time of the model. */
TEST(the_time_of_the_model_scales_what_no_row_explains)
{
    sightings s = {0};

    see(&s, 0, (double[]){20, 40, 60}, (double[]){0, 0, 0, 0}, 20)->time_ns = 35e3;
    const qdq_mincut_costs c = fit(&s);
    double sum = c.remainder;
    for (size_t i = 0; i < BITS; i++)
        sum += c.energy.off[i];
    assert_near(sum, 35e3);
    assert_true(c.energy.off[2] > 2 * c.energy.off[0]);
    qdq_arena_free(&s.arena);
}

/* a's kernel takes 4 us longer where it quantizes its output: that is the conversion, not a. */
TEST(what_kernels_do_for_a_conversion_counts_for_it)
{
    sightings s = {0};

    see(&s, 0, (double[]){10, 20, 30}, (double[]){0, 0, 0, 0}, 5);
    see(&s, 7, (double[]){5, 8, 12}, (double[]){2, 0, 0, 9}, 5);
    see(&s, 2, (double[]){14, 8, 30}, (double[]){0, 0, 5, 0}, 5);
    const qdq_mincut_costs c = fit(&s);
    assert_true(c.energy.off[0] < 10.3e3);
    assert_true(c.energy.q[1] > 3.5e3);
    qdq_arena_free(&s.arena);
}

/* A copy between b and c: 6 us in float, 2 on codes. */
TEST(copies_go_with_the_producer)
{
    sightings s = {0};

    see(&s, 0, (double[]){10, 20, 30}, (double[]){0, 0, 6, 0}, 5);
    see(&s, 7, (double[]){5, 8, 12}, (double[]){2, 0, 2, 9}, 5);
    see(&s, 2, (double[]){10, 8, 30}, (double[]){0, 3, 7, 0}, 5);
    const qdq_mincut_costs c = fit(&s);
    assert_near(c.energy.off[1], 26e3);
    assert_near(c.energy.on[1], 10e3);
    assert_near(c.energy.dq[2], 5e3);
    qdq_arena_free(&s.arena);
}

TEST(what_was_never_on_is_doubtful)
{
    sightings s = {0};
    qdq_assign allowed;
    qdq_mincut_costs c;

    see(&s, 0, (double[]){10, 20, 30}, (double[]){0, 0, 0, 0}, 5);
    see(&s, 2, (double[]){10, 8, 30}, (double[]){0, 3, 5, 0}, 5);
    s.at[1].profile.own[2].us = NAN; /* its layer has no name there */
    assert_true(qdq_assign_new(&allowed, BITS, &s.arena));
    qdq_assign_set(&allowed, 0, true);
    qdq_assign_set(&allowed, 1, true);
    assert_ok(qdq_mincut_costs_fit(&c, &graph, s.at, s.n, &allowed, &s.arena, &err));
    assert_near(c.energy.on[0], 10e3);
    assert_near(c.doubt[0], 3e3);
    assert_true(isinf(c.energy.on[2]));
    assert_near(c.energy.off[2], 30e3);
    qdq_arena_free(&s.arena);
}
