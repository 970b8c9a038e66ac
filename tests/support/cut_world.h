/* cut_world.h - a network whose costs the test knows, and profiles and pairs of it with noise. */
#ifndef QDQ_CUT_WORLD_H
#define QDQ_CUT_WORLD_H

#include <math.h>

#include "base/random.h"
#include "support/test.h"
#include "tune/mincut/mincut_search.h"

static qdq_error err;

enum { READERS = 4, GUARD = 3, MOST_BUILDS = 12 };

typedef struct world {
    qdq_mincut_graph graph;
    /* ns */
    qdq_energy truth;
    double rest;
    qdq_hyperedge *hyperedge;
    uint32_t *reader;
    qdq_arena arena;
    qdq_random random, noise;

    /* of a leg of a pair */
    double deviation;
    /* of a kernel's time in a profile; as much, if nobody says otherwise */
    double kernels;
    /* share of a Q that its producer's kernel does */
    double hidden;
    /* of a row of a profile */
    double overhead_us;
    /* profiles of something and not everything */
    unsigned mixed;
    const qdq_assign *now, *candidate;
    unsigned measured, profiled, events, kept;
    /* measurement that the budget does not allow */
    unsigned ends_at;
    /* a bit that cannot be built on; QDQ_CUT_FLOAT: none */
    uint32_t dead;
    /* no profiles */
    bool mute;
    /* of the first trials */
    const char *moves[16];
} world;

static inline void add_hyperedge(world *w, uint32_t from, size_t n_to, const uint32_t *to)
{
    const size_t t = w->graph.n_hyperedges++;

    for (size_t i = 0; i < n_to; i++)
        w->reader[READERS * t + i] = to[i];
    w->hyperedge[t] = (qdq_hyperedge){.from = from,
                                      .to = &w->reader[READERS * t],
                                      .n_to = n_to,
                                      .bytes = 1e4 + 1e6 * qdq_random_uniform(&w->random)};
}

/* One block behind `last`, from bit `i` on: a chain, one with a way around, or attention. */
static inline uint32_t add_block(world *w, uint32_t i, uint32_t last)
{
    switch (qdq_random_u64(&w->random) % 3) {
    case 0:
        add_hyperedge(w, last, 1, (uint32_t[]){i});
        add_hyperedge(w, i, 1, (uint32_t[]){i + 1});
        return i + 2;
    case 1:
        add_hyperedge(w, last, 2, (uint32_t[]){i, i + 3});
        for (uint32_t k = 0; k < 3; k++)
            add_hyperedge(w, i + k, 1, (uint32_t[]){i + k + 1});
        return i + 4;
    default:
        add_hyperedge(w, last, 4, (uint32_t[]){i, i + 1, i + 2, i + 6});
        add_hyperedge(w, i, 1, (uint32_t[]){i + 3});
        add_hyperedge(w, i + 1, 1, (uint32_t[]){i + 3});
        add_hyperedge(w, i + 2, 1, (uint32_t[]){i + 4});
        add_hyperedge(w, i + 3, 1, (uint32_t[]){QDQ_CUT_FLOAT}); /* softmax */
        add_hyperedge(w, QDQ_CUT_FLOAT, 1, (uint32_t[]){i + 4});
        add_hyperedge(w, i + 4, 1, (uint32_t[]){i + 5});
        add_hyperedge(w, i + 5, 1, (uint32_t[]){i + 6});
        return i + 7;
    }
}

static inline void begin(world *w, size_t most, uint64_t seed, double deviation)
{
    *w = (world){.random = qdq_random_new(seed, "world"),
                 .noise = qdq_random_new(seed, "noise"),
                 .deviation = deviation,
                 .kernels = deviation,
                 .overhead_us = 1.5,
                 .dead = QDQ_CUT_FLOAT};
    w->hyperedge = qdq_arena_array(&w->arena, 2 * most + 2, sizeof *w->hyperedge);
    w->reader = qdq_arena_array(&w->arena, (2 * most + 2) * READERS, sizeof *w->reader);
    assert_true(w->hyperedge != NULL && w->reader != NULL);
    w->graph.hyperedge = w->hyperedge;
}

/* About `most` groups. Conversions take time by their bytes, give or take `irregular` of it. */
static inline void build(world *w, size_t most, uint64_t seed, double deviation, double irregular)
{
    uint32_t last = QDQ_CUT_FLOAT, i = 0;

    begin(w, most, seed, deviation);
    while (i + 7 <= most) {
        i = add_block(w, i, last);
        last = i - 1;
    }
    add_hyperedge(w, last, 1, (uint32_t[]){QDQ_CUT_FLOAT});
    w->graph.n_bits = i;
    assert_ok(qdq_energy_new(&w->truth, &w->graph, &w->arena, &err));
    for (uint32_t k = 0; k < i; k++) {
        w->truth.off[k] = 2e4 + 2e5 * qdq_random_uniform(&w->random);
        w->truth.on[k] = w->truth.off[k] * (0.35 + qdq_random_uniform(&w->random));
    }
    for (size_t t = 0; t < w->graph.n_hyperedges; t++) {
        const double q = 2e3 + 0.05 * w->hyperedge[t].bytes,
                     dq = 1e3 + 0.03 * w->hyperedge[t].bytes;
        w->truth.q[t] = q * (1 + irregular * (2 * qdq_random_uniform(&w->random) - 1));
        w->truth.dq[t] = dq * (1 + irregular * (2 * qdq_random_uniform(&w->random) - 1));
    }
    w->rest = 2e4 * i;
}

static inline double time_of(const world *w, const qdq_assign *a)
{
    return w->rest + qdq_energy_value(&w->truth, a);
}

static inline double noisy(world *w, double deviation)
{
    return 1 + deviation * (double)qdq_random_normal(&w->noise);
}

static inline double best_time(world *w)
{
    qdq_assign a;

    assert_true(qdq_assign_new(&a, w->graph.n_bits, &w->arena));
    assert_ok(qdq_energy_minimize(&w->truth, &a, &err));
    return time_of(w, &a);
}

static inline qdq_status take(void *ctx, unsigned pair, double *incumbent_ns, double *candidate_ns,
                              qdq_error *e)
{
    world *w = ctx;

    (void)pair;
    (void)e;
    *incumbent_ns = time_of(w, w->now) * noisy(w, w->deviation);
    *candidate_ns = time_of(w, w->candidate) * noisy(w, w->deviation);
    return QDQ_OK;
}

static inline qdq_status measure(void *ctx, const qdq_assign *incumbent,
                                 const qdq_assign *candidate, const qdq_test_opts *test,
                                 qdq_test_result *out, bool *failed, qdq_error *e)
{
    world *w = ctx;
    qdq_test_opts o = *test;

    if (w->ends_at > 0 && w->measured + 1 == w->ends_at)
        return QDQ_E_GOAL;
    w->measured++;
    *failed = w->dead != QDQ_CUT_FLOAT && qdq_assign_get(candidate, w->dead);
    if (*failed)
        return QDQ_OK;
    w->now = incumbent;
    w->candidate = candidate;
    o.floor_sd = w->deviation * 1.4;
    return qdq_test_run(&o, take, w, out, e);
}

static inline qdq_status event(void *ctx, const qdq_search_event *e, qdq_error *ignored)
{
    world *w = ctx;

    (void)ignored;
    if (w->events < 16)
        w->moves[w->events] = e->move;
    w->events++;
    w->kept += e->accepted;
    return QDQ_OK;
}

/* The model is built once to begin with. */
static inline unsigned builds(void *ctx)
{
    const world *w = ctx;

    return 1 + w->measured + w->profiled;
}

static inline qdq_mincut_time row(world *w, double ns)
{
    return (qdq_mincut_time){ns * 1e-3 * noisy(w, w->kernels) + w->overhead_us, 1};
}

static inline qdq_status profile(void *ctx, const qdq_assign *a, qdq_mincut_profile *out,
                                 bool *known, qdq_error *e)
{
    world *w = ctx;

    (void)e;
    w->profiled++;
    *known = !w->mute && (w->dead == QDQ_CUT_FLOAT || !qdq_assign_get(a, w->dead));
    const size_t on = qdq_assign_count(a);
    w->mixed += on > 0 && on < w->graph.n_bits;
    for (size_t i = 0; i < w->graph.n_bits; i++)
        out->own[i] = row(w, qdq_assign_get(a, i) ? w->truth.on[i] : w->truth.off[i]);
    for (size_t t = 0; t < w->graph.n_hyperedges; t++) {
        const qdq_conversion_state s = qdq_hyperedge_state(&w->hyperedge[t], a);
        const uint32_t from = w->hyperedge[t].from;
        const double hidden =
            s == QDQ_HYPEREDGE_Q && from != QDQ_CUT_FLOAT ? w->hidden * w->truth.q[t] : 0;
        if (s == QDQ_HYPEREDGE_Q)
            out->hyperedge[t] = row(w, w->truth.q[t] - hidden);
        if (s == QDQ_HYPEREDGE_DQ)
            out->hyperedge[t] = row(w, w->truth.dq[t]);
        if (hidden > 0)
            out->own[from].us += hidden * 1e-3;
    }
    out->remainder = row(w, w->rest);
    return QDQ_OK;
}

static inline qdq_search_opts options(unsigned most_builds)
{
    return (qdq_search_opts){.test = QDQ_TEST_OPTS_INIT, .max_builds = most_builds};
}

/* For worlds without noise: everything can be seen. */
static inline qdq_search_opts sharp_options(unsigned most_builds)
{
    qdq_search_opts o = options(most_builds);

    o.test.gain = 1e-5;
    o.test.enter = 1e-6;
    return o;
}

static inline qdq_mincut_result run_with(world *w, const qdq_search_opts *o,
                                         const qdq_assign *allowed, const double *sensitivity,
                                         double max_sensitivity, bool starts_everything)
{
    static const char *const names[] = {"nothing", "everything"};
    const qdq_search_ops ops = {.ctx = w, .measure = measure, .event = event, .builds = builds};
    qdq_assign starts[2];
    qdq_mincut_result out;

    assert_true(qdq_assign_new(&starts[0], w->graph.n_bits, &w->arena) &&
                qdq_assign_new(&starts[1], w->graph.n_bits, &w->arena));
    for (size_t i = 0; i < w->graph.n_bits; i++)
        qdq_assign_set(&starts[1], i, allowed == NULL || qdq_assign_get(allowed, i));
    const qdq_search_problem p = {.n_bits = w->graph.n_bits,
                                  .start = starts,
                                  .start_name = names,
                                  .n_starts = starts_everything ? 2 : 1,
                                  .allowed = allowed,
                                  .base_ns = time_of(w, &starts[0])};
    const qdq_mincut_problem cut = {.search = &p,
                                    .graph = &w->graph,
                                    .profile = profile,
                                    .profile_ctx = w,
                                    .sensitivity = sensitivity,
                                    .max_sensitivity = max_sensitivity};
    assert_ok(qdq_mincut_search_run(&cut, o, &ops, &w->arena, &out, &err));
    assert_true(o->max_builds == 0 || builds(w) <= o->max_builds);
    return out;
}

static inline qdq_mincut_result run(world *w, const qdq_search_opts *o)
{
    return run_with(w, o, NULL, NULL, 0, true);
}

#endif /* QDQ_CUT_WORLD_H */
