/* tune_search.c - the search on cost models whose best assignment is known by trying all. */
#include "tune/search/search.h"

#include <math.h>

#include "base/random.h"
#include "support/test.h"

enum { MAX_BITS = 16, MAX_EDGES = 64, MAX_UNITS = 16 };

/* Groups in a graph: each has a time in float and on codes; an edge between two that differ costs a
 * conversion. */
typedef struct world {
    size_t n, n_edges;
    double time[2][MAX_BITS];
    struct {
        /* -1: the graph's input or output, which are float */
        int from, to;
        double cost;
    } edge[MAX_EDGES];
    /* what no assignment changes */
    double rest;

    size_t n_units;
    qdq_search_unit unit[MAX_UNITS];
    qdq_search_boundary boundary;
    qdq_search_choice choice[MAX_BITS];
    uint32_t bit[MAX_BITS];

    qdq_random noise;
    double deviation;
    unsigned measured, fails_at;
    /* a candidate with such a bit cannot be built */
    qdq_assign dead_bit;
    qdq_assign now, candidate;
    unsigned events, kept;
    unsigned profiled;
    /* deviation of what profiles say of a kernel */
    double lies;
    /* n 0: all */
    qdq_assign allowed;
    /* of the first trials */
    const char *move[2];
} world;

static double time_of(const world *w, const qdq_assign *a)
{
    double t = w->rest;

    for (size_t i = 0; i < w->n; i++)
        t += w->time[qdq_assign_get(a, i)][i];
    for (size_t e = 0; e < w->n_edges; e++) {
        bool from = w->edge[e].from >= 0 && qdq_assign_get(a, (size_t)w->edge[e].from);
        bool to = w->edge[e].to >= 0 && qdq_assign_get(a, (size_t)w->edge[e].to);
        t += from != to ? w->edge[e].cost : 0;
    }
    return t;
}

static void add_edge(world *w, int from, int to, double cost)
{
    assert_true(w->n_edges < MAX_EDGES);
    w->edge[w->n_edges].from = from;
    w->edge[w->n_edges].to = to;
    w->edge[w->n_edges++].cost = cost;
}

/* Blocks of a pattern one behind the other: a chain, or one with a way around (residual), or three
 * that meet (attention). Instances of a pattern have the same costs. */
static void build(world *w, qdq_arena *arena, uint64_t seed, double deviation)
{
    qdq_random r = qdq_random_new(seed, "world");
    int last = -1;

    *w = (world){.noise = qdq_random_new(seed, "noise"), .deviation = deviation, .rest = 50e3};
    while (w->n + 6 <= MAX_BITS) {
        size_t size = 1 + (size_t)(qdq_random_u64(&r) % 3);
        size_t instances = 1 + (size_t)(qdq_random_u64(&r) % 3);
        while (size * instances > MAX_BITS - w->n)
            instances--;
        int shape = (int)(qdq_random_u64(&r) % 3);
        double f[3], q[3], convert = 1e3 + 9e3 * qdq_random_uniform(&r);
        for (size_t k = 0; k < size; k++) {
            f[k] = 1e4 + 2e5 * qdq_random_uniform(&r);
            q[k] = f[k] * (0.3 + qdq_random_uniform(&r));
        }
        qdq_search_unit *u = &w->unit[w->n_units];
        *u = (qdq_search_unit){.name = qdq_arena_printf(arena, "unit%zu", w->n_units),
                               .choice = &w->choice[w->n],
                               .n_choices = size,
                               .n_instances = instances};
        w->n_units++;
        uint32_t *bits = qdq_arena_array(arena, size * instances, sizeof *bits);
        for (size_t k = 0; k < size; k++)
            w->choice[w->n + k] =
                (qdq_search_choice){bits + k * instances, f[k] * (double)instances, true};
        for (size_t i = 0; i < instances; i++) {
            int first = (int)w->n, before = last;
            for (size_t k = 0; k < size; k++) {
                size_t at = w->n++;
                bits[k * instances + i] = (uint32_t)at;
                w->time[0][at] = f[k];
                w->time[1][at] = q[k];
                add_edge(w, shape == 2 ? before : last, (int)at, convert);
                if (shape == 2 && k > 0)
                    add_edge(w, first, (int)at, convert / 2);
                last = (int)at;
            }
            if (shape == 1 && size > 1)
                add_edge(w, before, last, convert);
        }
    }
    add_edge(w, last, -1, 5e3);
}

/* Tries all ends of an assignment whose first `i` bits cost `t`. Costs are not negative: where `t`
 * is no better than the best so far, no end is. */
static void try_ends(const world *w, qdq_assign *a, size_t i, double t, double *best)
{
    if (t >= *best)
        return;
    if (i == w->n) {
        *best = t;
        return;
    }
    for (int on = 0; on < 2; on++) {
        double cost = w->time[on][i];

        qdq_assign_set(a, i, on != 0);
        for (size_t e = 0; e < w->n_edges; e++) {
            const int from = w->edge[e].from, to = w->edge[e].to;
            if (from != (int)i && to != (int)i)
                continue;
            if (from <= (int)i && to <= (int)i)
                cost += (from >= 0 && qdq_assign_get(a, (size_t)from)) !=
                                (to >= 0 && qdq_assign_get(a, (size_t)to))
                            ? w->edge[e].cost
                            : 0;
        }
        try_ends(w, a, i + 1, t + cost, best);
    }
}

static double best_time(const world *w, qdq_arena *arena)
{
    qdq_assign a;
    double best = INFINITY;

    assert_true(qdq_assign_new(&a, w->n, arena));
    try_ends(w, &a, 0, w->rest, &best);
    return best;
}

static qdq_status take(void *ctx, unsigned pair, double *incumbent_ns, double *candidate_ns,
                       qdq_error *err)
{
    world *w = ctx;

    (void)pair;
    (void)err;
    *incumbent_ns = time_of(w, &w->now) * (1 + w->deviation * (double)qdq_random_normal(&w->noise));
    *candidate_ns =
        time_of(w, &w->candidate) * (1 + w->deviation * (double)qdq_random_normal(&w->noise));
    return QDQ_OK;
}

static qdq_status measure(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *err)
{
    world *w = ctx;
    qdq_test_opts o = *test;

    w->measured++;
    for (size_t i = 0; i < w->n && w->allowed.n > 0; i++)
        assert_true(qdq_assign_get(&w->allowed, i) || !qdq_assign_get(candidate, i));
    if (w->fails_at > 0 && w->measured == w->fails_at)
        return QDQ_E_GOAL;
    *failed = w->dead_bit.n > 0 && (candidate->word[0] & w->dead_bit.word[0]) != 0;
    if (*failed)
        return QDQ_OK;
    w->now = *incumbent;
    w->candidate = *candidate;
    o.floor_sd = w->deviation * 1.4;
    return qdq_test_run(&o, take, w, out, err);
}

static qdq_status event(void *ctx, const qdq_search_event *e, qdq_error *err)
{
    world *w = ctx;

    (void)err;
    w->events++;
    w->kept += e->accepted;
    if (w->events <= 2)
        w->move[w->events - 1] = e->move;
    return QDQ_OK;
}

/* What runs, and the conversions beside it, as an engine's profile has them. */
static qdq_status profile(void *ctx, const qdq_assign *a, qdq_search_cost *cost, bool *known,
                          qdq_error *err)
{
    world *w = ctx;
    const double all = time_of(w, a);

    (void)err;
    w->profiled++;
    *known = true;
    for (size_t i = 0; i < w->n; i++) {
        const double own =
            w->time[qdq_assign_get(a, i)][i] * (1 + w->lies * (double)qdq_random_normal(&w->noise));
        cost[i] = (qdq_search_cost){.own = own / all};
    }
    for (size_t e = 0; e < w->n_edges; e++) {
        const int from = w->edge[e].from, to = w->edge[e].to;
        if ((from >= 0 && qdq_assign_get(a, (size_t)from)) ==
            (to >= 0 && qdq_assign_get(a, (size_t)to)))
            continue;
        if (from >= 0)
            cost[from].boundary += w->edge[e].cost / all;
        if (to >= 0)
            cost[to].boundary += w->edge[e].cost / all;
    }
    return QDQ_OK;
}

static unsigned builds(void *ctx)
{
    const world *w = ctx;

    return w->measured + w->profiled;
}

static qdq_search_opts options(uint64_t seed)
{
    return (qdq_search_opts){.test = QDQ_TEST_OPTS_INIT,
                             .schemes_per_unit = 8,
                             .exhaustive = 2,
                             .mutations = 3,
                             .stale = 3,
                             .seed = seed};
}

static qdq_search_result run_with(world *w, const qdq_search_opts *o, bool profiles,
                                  qdq_arena *arena)
{
    qdq_assign starts[2];
    static const char *const names[] = {"nothing", "everything"};
    const qdq_search_ops ops = {.ctx = w,
                                .measure = measure,
                                .event = event,
                                .builds = builds,
                                .profile = profiles ? profile : NULL};
    qdq_search_result out;

    assert_true(qdq_assign_new(&starts[0], w->n, arena) && qdq_assign_new(&starts[1], w->n, arena));
    for (size_t i = 0; i < w->n; i++)
        qdq_assign_set(&starts[1], i, w->allowed.n == 0 || qdq_assign_get(&w->allowed, i));
    const qdq_search_problem p = {.n_bits = w->n,
                                  .unit = w->unit,
                                  .n_units = w->n_units,
                                  .boundary = &w->boundary,
                                  .n_boundaries = w->boundary.n_bits > 0,
                                  .start = starts,
                                  .start_name = names,
                                  .n_starts = 2,
                                  .allowed = w->allowed.n > 0 ? &w->allowed : NULL,
                                  .base_ns = time_of(w, &starts[0])};
    assert_int_equal(qdq_search_run(&p, o, &ops, arena, &out, NULL), QDQ_OK);
    return out;
}

static qdq_search_result run(world *w, const qdq_search_opts *o, qdq_arena *arena)
{
    return run_with(w, o, false, arena);
}

/* What was found in 200 worlds, and what it took. */
typedef struct tally {
    /* of the possible gain */
    double share;
    double builds, ruled_out;
} tally;

static tally search_200_worlds(const char *how, bool profiles, double lies)
{
    double found = 0, possible = 0, worst = 1, builds = 0, gap = 0;
    unsigned complete = 0, ruled_out = 0;

    for (uint64_t seed = 0; seed < 200; seed++) {
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_search_opts o = options(seed);
        qdq_assign none;
        world w;
        build(&w, &arena, seed, 0.005);
        w.lies = lies;
        assert_true(qdq_assign_new(&none, w.n, &arena));
        double base = time_of(&w, &none), best = best_time(&w, &arena);
        qdq_search_result r = run_with(&w, &o, profiles, &arena);
        double mine = time_of(&w, &r.best), share = base > best ? (base - mine) / (base - best) : 1;
        found += (base - mine) / base;
        possible += (base - best) / base;
        worst = fmin(worst, share);
        complete += share > 0.97;
        builds += r.trials + w.profiled;
        ruled_out += r.ruled_out;
        gap = fmax(gap, fabs(r.predicted_ns / mine - 1));
        qdq_arena_free(&arena);
    }
    print_message("%s: found %.4f of the possible gain; at least %.2f, above 0.97 in %u of 200; "
                  "%.1f trials and "
                  "profiles, %.1f ruled out; predicted within %.1f %%\n",
                  how, found / possible, worst, complete, builds / 200, ruled_out / 200.0,
                  gap * 100);
    return (tally){found / possible, builds / 200, ruled_out / 200.0};
}

TEST(most_of_the_gain_is_found_in_200_worlds)
{
    const tally blind = search_200_worlds("by trying", false, 0);
    assert_true(blind.share >= 0.97 && blind.ruled_out == 0);
}

/* Also where a kernel's time in a profile is 5 % off. */
TEST(profiles_find_it_in_less_than_half_of_the_builds)
{
    const tally blind = search_200_worlds("by trying", false, 0),
                exact = search_200_worlds("by profiles", true, 0),
                rough = search_200_worlds("by profiles that are 5 % off", true, 0.05);
    assert_true(exact.share >= 0.97 && rough.share >= 0.97);
    assert_true(exact.builds < blind.builds / 2 && rough.builds < blind.builds / 2);
    assert_true(exact.ruled_out > 0 && rough.ruled_out > 0);
}

TEST(profiles_are_builds_of_the_budget)
{
    for (unsigned most = 1; most < 12; most++) {
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_search_opts o = options(1);
        world w;
        build(&w, &arena, 1, 0.001);
        o.max_builds = most;
        run_with(&w, &o, true, &arena);
        assert_true(builds(&w) <= most);
        qdq_arena_free(&arena);
    }
}

/* Not even what profiles propose. */
TEST(what_is_not_allowed_is_never_on)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_search_opts o = options(seed);
        world w;
        build(&w, &arena, seed, 0.001);
        assert_true(qdq_assign_new(&w.allowed, w.n, &arena));
        for (size_t c = 0; c < w.unit[0].n_choices; c++)
            for (size_t i = 0; i < w.unit[0].n_instances; i++)
                qdq_assign_set(&w.allowed, w.unit[0].choice[c].bit[i], true);
        for (size_t u = 1; u < w.n_units; u++)
            w.unit[u].n_choices = 0;
        run_with(&w, &o, true, &arena); /* measure() looks */
        assert_true(w.measured > 0);
        qdq_arena_free(&arena);
    }
}

TEST(starts_are_told_by_name)
{
    unsigned proposed = 0;

    for (uint64_t seed = 0; seed < 10; seed++) {
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_search_opts o = options(seed);
        world w;
        build(&w, &arena, seed, 0.001);
        run_with(&w, &o, true, &arena);
        assert_string_equal(w.move[0], "everything");
        proposed += strcmp(w.move[1], "by profile") == 0;
        qdq_arena_free(&arena);
    }
    assert_true(proposed > 0);
}

TEST(equal_answers_give_an_equal_search)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(7);
    world a, b;

    build(&a, &arena, 3, 0.005);
    build(&b, &arena, 3, 0.005);
    qdq_search_result x = run(&a, &o, &arena), y = run(&b, &o, &arena);
    assert_true(qdq_assign_equal(&x.best, &y.best));
    assert_int_equal(x.trials, y.trials);
    assert_int_equal(x.pairs, y.pairs);
    assert_int_equal(a.events, b.events);
    qdq_arena_free(&arena);
}

TEST(a_budget_ends_the_search_with_the_best_so_far)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(1);
    world w;

    build(&w, &arena, 1, 0.001);
    o.max_trials = 3;
    qdq_search_result r = run(&w, &o, &arena);
    assert_int_equal(r.trials, 3);
    assert_true(r.ended_early);
    build(&w, &arena, 1, 0.001);
    o.max_trials = 0;
    w.fails_at = 5;
    r = run(&w, &o, &arena);
    assert_int_equal(r.trials, 4);
    assert_true(r.ended_early);
    qdq_arena_free(&arena);
}

TEST(what_cannot_be_built_is_refused_and_the_search_goes_on)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(1);
    world w;

    build(&w, &arena, 5, 0.001);
    assert_true(qdq_assign_new(&w.dead_bit, w.n, &arena));
    qdq_assign_set(&w.dead_bit, 0, true);
    qdq_search_result r = run(&w, &o, &arena);
    assert_false(qdq_assign_get(&r.best, 0));
    assert_true(r.trials > 3);
    qdq_arena_free(&arena);
}

TEST(bad_seeds_do_not_hide_that_nothing_is_best)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(1);
    qdq_assign seeds[4];
    world w;

    build(&w, &arena, 2, 0.001);
    for (size_t i = 0; i < w.n; i++)
        w.time[1][i] = w.time[0][i] * 1.5;
    for (int i = 0; i < 4; i++) {
        assert_true(qdq_assign_new(&seeds[i], w.unit[0].n_choices, &arena));
        for (size_t c = 0; c < w.unit[0].n_choices; c++)
            qdq_assign_set(&seeds[i], c, c % (size_t)(i + 1) == 0);
    }
    w.unit[0].seed = seeds;
    w.unit[0].n_seeds = 4;
    qdq_search_result r = run(&w, &o, &arena);
    assert_int_equal(qdq_assign_count(&r.best), 0);
    qdq_arena_free(&arena);
}

/* As many bad proposals as a unit has candidates, and no more builds than without them. */
TEST(what_caches_propose_takes_nothing_from_the_search)
{
    enum { SEEDS = 6 };

    for (uint64_t seed = 0; seed < 20; seed++) {
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_search_opts o = options(1);
        qdq_assign seeds[SEEDS];
        world w;

        build(&w, &arena, seed, 0.001);
        const qdq_search_result cold = run(&w, &o, &arena);
        build(&w, &arena, seed, 0.001);
        for (size_t i = 0; i < SEEDS; i++) {
            assert_true(qdq_assign_new(&seeds[i], w.unit[0].n_choices, &arena));
            for (size_t c = 0; c < w.unit[0].n_choices; c++)
                qdq_assign_set(&seeds[i], c, (c + i) % 3 == 0);
        }
        w.unit[0].seed = seeds;
        w.unit[0].n_seeds = w.unit[0].n_cached = SEEDS;
        const qdq_search_result warm = run(&w, &o, &arena);
        assert_true(warm.predicted_ns <= 1.01 * cold.predicted_ns);
        assert_true(warm.unit[0].of_caches <= SEEDS);
        qdq_arena_free(&arena);
    }
}

TEST(nothing_useless_is_kept)
{
    double kept = 0, trials = 0;

    for (uint64_t seed = 0; seed < 200; seed++) {
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_search_opts o = options(seed);
        world w;
        build(&w, &arena, seed, 0.005);
        for (size_t i = 0; i < w.n; i++)
            w.time[1][i] = w.time[0][i];
        for (size_t e = 0; e < w.n_edges; e++)
            w.edge[e].cost = 0;
        qdq_search_result r = run(&w, &o, &arena);
        kept += w.kept;
        trials += r.trials;
        qdq_arena_free(&arena);
    }
    print_message("%.3f useless candidates kept of 50\n", kept / trials * 50);
    assert_true(kept / trials * 50 <= 1);
}

/* Two units of two choices. The first of each read one tensor, in front of which a conversion costs
 * more than 8 bits save in one of them; the second of each are much slower in 8 bits. */
static void build_readers(world *w)
{
    static const uint32_t bit[4] = {0, 1, 2, 3}, readers[2] = {0, 3};
    static const uint32_t *const of[4] = {bit, bit + 1, bit + 3, bit + 2};

    *w = (world){.n = 4, .n_units = 2, .rest = 50e3, .boundary = {readers, 2}};
    for (size_t i = 0; i < 4; i++) {
        w->time[0][i] = 100e3;
        w->time[1][i] = i == 0 || i == 3 ? 80e3 : 300e3;
        w->choice[i] = (qdq_search_choice){of[i], 100e3, true};
    }
    w->unit[0] =
        (qdq_search_unit){.name = "a", .choice = w->choice, .n_choices = 2, .n_instances = 1};
    w->unit[1] =
        (qdq_search_unit){.name = "b", .choice = w->choice + 2, .n_choices = 2, .n_instances = 1};
    add_edge(w, 0, 3, 30e3);
}

TEST(readers_of_one_tensor_in_two_units_are_tried_together)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(1);
    world w;

    build_readers(&w);
    w.boundary.n_bits = 0;
    qdq_search_result alone = run(&w, &o, &arena);
    assert_int_equal(qdq_assign_count(&alone.best), 0);
    build_readers(&w);
    qdq_search_result r = run(&w, &o, &arena);
    assert_int_equal(r.best.word[0], 1 | 1 << 3);
    qdq_arena_free(&arena);
}

/* Bits of one unit are its own business, and those of no unit nobody's. */
TEST(a_border_within_a_unit_is_not_tried_again)
{
    static const uint32_t mine[2] = {0, 1}, nobodys[2] = {0, 4};
    const uint32_t *const of[] = {mine, nobodys};

    for (int i = 0; i < 2; i++) {
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_search_opts o = options(1);
        world w;
        build_readers(&w);
        w.n = 5;
        w.time[0][4] = w.time[1][4] = 1e3;
        w.boundary.n_bits = 0;
        qdq_search_result without = run(&w, &o, &arena);
        build_readers(&w);
        w.n = 5;
        w.time[0][4] = w.time[1][4] = 1e3;
        w.boundary.bit = of[i];
        qdq_search_result with = run(&w, &o, &arena);
        assert_int_equal(with.trials, without.trials);
        assert_false(qdq_assign_get(&with.best, 4));
        qdq_arena_free(&arena);
    }
}
