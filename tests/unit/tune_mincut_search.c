/* tune_mincut_search.c - the strategy mincut in worlds whose optimum is known: groups with times in
 * float and on codes, tensors with conversions between them; profiles and pairs of whole models
 * have noise. */
#include "support/cut_world.h"

/* --- gaps ------------------------------------------------------------------------------------- */

typedef struct tally {
    double gap, worst, builds, most_builds, predicted;
} tally;

/* What is not as it should be. */
typedef struct trouble {
    double noise, kernels, irregular, hidden;
} trouble;

static tally search_worlds(const char *what, unsigned worlds, size_t size, const qdq_search_opts *o,
                           trouble of)
{
    tally t = {0};

    for (uint64_t seed = 0; seed < worlds; seed++) {
        world w;
        build(&w, size, seed, of.noise, of.irregular);
        w.hidden = of.hidden;
        w.kernels = of.kernels > 0 ? of.kernels : of.noise;
        const qdq_mincut_result r = run(&w, o);
        const double mine = time_of(&w, &r.search.best), gap = mine / best_time(&w) - 1;
        t.gap += gap / worlds;
        t.worst = fmax(t.worst, gap);
        t.builds += (double)builds(&w) / worlds;
        t.most_builds = fmax(t.most_builds, builds(&w));
        t.predicted = fmax(t.predicted, fabs(r.search.predicted_ns / mine - 1));
        qdq_arena_free(&w.arena);
    }
    print_message("%s, %zu groups, %u worlds: gap %.3f %%, at most %.3f %%; %.1f builds, at most "
                  "%.0f; predicted "
                  "within %.2f %%\n",
                  what, size, worlds, t.gap * 100, t.worst * 100, t.builds, t.most_builds,
                  t.predicted * 100);
    return t;
}

TEST(exact_costs_give_the_optimum)
{
    const qdq_search_opts o = sharp_options(MOST_BUILDS - GUARD);

    assert_true(search_worlds("exact", 200, 16, &o, (trouble){0}).worst < 1e-6);
    assert_true(search_worlds("exact", 100, 60, &o, (trouble){0}).worst < 1e-6);
    assert_true(search_worlds("exact", 4, 2000, &o, (trouble){0}).worst < 1e-6);
}

TEST(half_a_percent_of_noise_costs_less_than_two)
{
    const qdq_search_opts o = options(MOST_BUILDS - GUARD);

    assert_true(search_worlds("0.5 % noise", 200, 16, &o, (trouble){.noise = 0.005}).worst < 0.02);
    assert_true(search_worlds("0.5 % noise", 200, 60, &o, (trouble){.noise = 0.005}).worst < 0.02);
    assert_true(search_worlds("0.5 % noise", 4, 2000, &o, (trouble){.noise = 0.005}).worst < 0.02);
}

/* Conversions that their size does not tell, and those that the producer's kernel does in its
 * epilogue. */
TEST(odd_conversions_are_found_out_by_rounds)
{
    const qdq_search_opts few = options(MOST_BUILDS - GUARD), many = options(0);
    const trouble odd = {.noise = 0.005, .irregular = 0.5},
                  half_hidden = {.noise = 0.005, .hidden = 0.5},
                  both = {.noise = 0.005, .irregular = 0.5, .hidden = 1};

    assert_true(search_worlds("odd conversions", 200, 60, &few, odd).worst < 0.02);
    assert_true(search_worlds("odd conversions, builds to spare", 200, 60, &many, odd).worst <
                0.02);
    assert_true(search_worlds("half hidden conversions", 200, 60, &few, half_hidden).worst < 0.02);
    assert_true(search_worlds("hidden, odd conversions", 200, 60, &few, both).worst < 0.02);
}

/* Profiles of a busy machine: kernels 5 % off. */
TEST(noisy_profiles_cost_little)
{
    const qdq_search_opts few = options(MOST_BUILDS - GUARD), many = options(0);
    const trouble off = {.noise = 0.005, .kernels = 0.05, .irregular = 0.3, .hidden = 0.3};

    assert_true(search_worlds("profiles 5 % off", 200, 60, &few, off).gap < 0.02);
    assert_true(search_worlds("profiles 5 % off, builds to spare", 200, 60, &many, off).gap < 0.02);
}

/* --- decisions between floats ----------------------------------------------------------------- */

/* A transformer whose LayerNorm, Softmax and Gelu are float in any case: six products in a layer,
 * of which the two of attention are faster without Q/DQ. */
static void build_transformer(world *w, uint32_t layers, uint64_t seed)
{
    enum { PRODUCTS = 6 };

    begin(w, layers * PRODUCTS, seed, 0.002);
    w->graph.n_bits = (size_t)layers * PRODUCTS;
    for (uint32_t i = 0; i < w->graph.n_bits; i++) {
        add_hyperedge(w, QDQ_CUT_FLOAT, 1, (uint32_t[]){i});
        add_hyperedge(w, i, 1, (uint32_t[]){QDQ_CUT_FLOAT});
    }
    assert_ok(qdq_energy_new(&w->truth, &w->graph, &w->arena, &err));
    for (uint32_t i = 0; i < w->graph.n_bits; i++) {
        const bool attends = i % PRODUCTS == 1 || i % PRODUCTS == 2;
        w->truth.off[i] = attends ? 1.5e5 : 1.5e6;
        w->truth.on[i] = attends ? 1.62e5 : 3e5;
    }
    for (size_t t = 0; t < w->graph.n_hyperedges; t++) {
        w->hyperedge[t].bytes = 1e5;
        w->truth.q[t] = w->truth.dq[t] = 6e3;
    }
    w->rest = 2e5 * (double)w->graph.n_bits;
}

/* Of ViT-B/32 without knowledge there were two profiles, one of floats and one of codes, each of
 * its own moment: what is between floats has nobody to alternate with. */
TEST(decisions_between_floats_are_seen_both_ways_in_one_profile)
{
    const qdq_search_opts o = options(MOST_BUILDS - GUARD);

    for (uint64_t seed = 0; seed < 50; seed++) {
        world w;
        build_transformer(&w, 12, seed);
        const qdq_mincut_result r = run(&w, &o);
        assert_true(w.mixed >= 2);
        assert_true(time_of(&w, &r.search.best) / best_time(&w) - 1 < 1e-3);
        qdq_arena_free(&w.arena);
    }
}

/* --- nulls ------------------------------------------------------------------------------------ */

/* Groups in a row that take the same time in float and on codes, and conversions that take none. */
static void build_nulls(world *w, size_t n, uint64_t seed)
{
    begin(w, n, seed, 0.005);
    for (uint32_t i = 1; i < n; i++)
        add_hyperedge(w, i - 1, 1, (uint32_t[]){i});
    w->graph.n_bits = n;
    assert_ok(qdq_energy_new(&w->truth, &w->graph, &w->arena, &err));
    for (size_t i = 0; i < n; i++)
        w->truth.off[i] = w->truth.on[i] = 1e5;
    w->rest = 1e5;
}

TEST(null_groups_stay_float)
{
    enum { SEEDS = 200, GROUPS = 50 };
    const qdq_search_opts o = options(MOST_BUILDS - GUARD);
    unsigned kept[2] = {0}, runs[2] = {0}, measured[2] = {0};

    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int starts = 0; starts < 2; starts++) {
            world w;
            build_nulls(&w, GROUPS, seed);
            const qdq_mincut_result r = run_with(&w, &o, NULL, NULL, 0, starts == 1);
            kept[starts] += (unsigned)qdq_assign_count(&r.search.best);
            runs[starts] += qdq_assign_count(&r.search.best) > 0;
            measured[starts] += w.measured;
            qdq_arena_free(&w.arena);
        }
    for (int starts = 0; starts < 2; starts++) {
        print_message("%.3f of 50 null groups kept, in %u of 200 worlds, %.2f measured each%s\n",
                      kept[starts] / (double)SEEDS, runs[starts], measured[starts] / (double)SEEDS,
                      starts == 1 ? ", everything among them" : "");
        assert_true(kept[starts] <= SEEDS);
    }
}

/* --- what single decisions hide --------------------------------------------------------------- */

TEST(neighbours_that_are_harmful_alone_are_found_together)
{
    const qdq_search_opts o = options(MOST_BUILDS - GUARD);
    qdq_assign alone;
    world w;

    /* in a row; on codes 3 and 4 save 20 us each, and a conversion takes 15 */
    begin(&w, 8, 1, 0.005);
    add_hyperedge(&w, QDQ_CUT_FLOAT, 1, (uint32_t[]){0});
    for (uint32_t i = 0; i < 7; i++)
        add_hyperedge(&w, i, 1, (uint32_t[]){i + 1});
    add_hyperedge(&w, 7, 1, (uint32_t[]){QDQ_CUT_FLOAT});
    w.graph.n_bits = 8;
    assert_ok(qdq_energy_new(&w.truth, &w.graph, &w.arena, &err));
    for (size_t i = 0; i < 8; i++) {
        w.truth.off[i] = 1e5;
        w.truth.on[i] = i == 3 || i == 4 ? 8e4 : 1.4e5;
    }
    for (size_t t = 0; t < w.graph.n_hyperedges; t++) {
        w.hyperedge[t].bytes = 1e5;
        w.truth.q[t] = w.truth.dq[t] = 1.5e4;
    }
    assert_true(qdq_assign_new(&alone, 8, &w.arena));
    const double base = time_of(&w, &alone);
    for (size_t i = 3; i < 5; i++) {
        qdq_assign_set(&alone, 3, i == 3);
        qdq_assign_set(&alone, 4, i == 4);
        assert_true(time_of(&w, &alone) > base);
    }
    const qdq_mincut_result r = run(&w, &o);
    assert_int_equal(r.search.best.word[0], 3 << 3);
    assert_true(time_of(&w, &r.search.best) < base);
    qdq_arena_free(&w.arena);
}

/* --- bounds of the search --------------------------------------------------------------------- */

TEST(equal_answers_give_an_equal_search)
{
    const qdq_search_opts o = options(0);
    world a, b;

    build(&a, 60, 3, 0.005, 0.3);
    build(&b, 60, 3, 0.005, 0.3);
    const qdq_mincut_result x = run(&a, &o), y = run(&b, &o);
    assert_true(qdq_assign_equal(&x.search.best, &y.search.best));
    assert_int_equal(x.search.trials, y.search.trials);
    assert_int_equal(x.search.pairs, y.search.pairs);
    assert_int_equal(x.profiles, y.profiles);
    assert_true(x.best_ns == y.best_ns);
    qdq_arena_free(&a.arena);
    qdq_arena_free(&b.arena);
}

TEST(a_budget_ends_it_with_the_best_so_far)
{
    for (unsigned most = 1; most < 12; most++) { /* run() counts them */
        const qdq_search_opts o = options(most);
        world w;
        build(&w, 40, 1, 0.005, 0.3);
        const qdq_mincut_result r = run(&w, &o);
        assert_true(r.search.ended_early == (most < 9));
        assert_true(r.known == (r.profiles >= 2));
        qdq_arena_free(&w.arena);
    }
    for (unsigned at = 1; at < 3; at++) {
        const qdq_search_opts o = options(0);
        world w;
        build(&w, 40, 1, 0.005, 0.3);
        w.ends_at = at;
        const qdq_mincut_result r = run(&w, &o);
        assert_int_equal(w.measured, at - 1);
        assert_true(r.search.ended_early);
        qdq_arena_free(&w.arena);
    }
}

TEST(without_profiles_the_starts_are_all)
{
    const qdq_search_opts o = options(0);
    world w;

    build(&w, 40, 1, 0.005, 0.3);
    w.mute = true;
    const qdq_mincut_result r = run(&w, &o);
    assert_false(r.known);
    assert_int_equal(w.measured, 1);
    assert_int_equal(w.profiled, 1);
    assert_int_equal(r.rounds, 0);
    qdq_arena_free(&w.arena);
}

TEST(what_is_not_allowed_is_never_on)
{
    const qdq_search_opts o = options(0);

    for (uint64_t seed = 0; seed < 20; seed++) {
        qdq_assign allowed;
        world w;
        build(&w, 40, seed, 0.005, 0.3);
        assert_true(qdq_assign_new(&allowed, w.graph.n_bits, &w.arena));
        for (size_t i = 0; i < w.graph.n_bits; i++)
            qdq_assign_set(&allowed, i, i % 3 != 0);
        for (size_t i = 0; i < w.graph.n_bits; i += 3)
            w.truth.on[i] = INFINITY;
        const qdq_mincut_result r = run_with(&w, &o, &allowed, NULL, 0, true);
        assert_true(time_of(&w, &r.search.best) < best_time(&w) * 1.02);
        qdq_arena_free(&w.arena);
    }
}

TEST(ties_are_kept)
{
    const qdq_search_opts o = options(0);

    for (uint64_t seed = 0; seed < 20; seed++) {
        const qdq_mincut_tie ties[] = {{1, 4}, {4, 9}, {2, 20}};
        world w;
        build(&w, 40, seed, 0.005, 0.3);
        w.graph.tie = ties;
        w.graph.n_ties = 3;
        const qdq_mincut_result r = run(&w, &o);
        for (int i = 0; i < 3; i++)
            assert_int_equal(qdq_assign_get(&r.search.best, ties[i].a),
                             qdq_assign_get(&r.search.best, ties[i].b));
        assert_true(time_of(&w, &r.search.best) < best_time(&w) * 1.02);
        qdq_arena_free(&w.arena);
    }
}

/* The start that has it on fails, and so does the profile of everything. */
TEST(what_cannot_be_built_is_refused_and_the_search_goes_on)
{
    const qdq_search_opts o = options(0);
    unsigned better = 0;

    for (uint64_t seed = 0; seed < 20; seed++) {
        world w;
        build(&w, 40, seed, 0.005, 0);
        w.dead = 5;
        const qdq_mincut_result r = run(&w, &o);
        assert_false(qdq_assign_get(&r.search.best, 5));
        better += qdq_assign_count(&r.search.best) > 0;
        qdq_arena_free(&w.arena);
    }
    print_message("with a bit that cannot be built, codes were found in %u of 20 worlds\n", better);
    assert_true(better >= 15);
}

TEST(what_is_proposed_does_no_more_harm_than_it_may)
{
    const qdq_search_opts o = options(0);
    double sensitivity[64];

    for (uint64_t seed = 0; seed < 20; seed++) {
        double done = 0;
        world w;
        build(&w, 40, seed, 0.005, 0.3);
        for (size_t i = 0; i < w.graph.n_bits; i++)
            sensitivity[i] = 1 + (double)(i % 5);
        const qdq_mincut_result r = run_with(&w, &o, NULL, sensitivity, 25, false);
        for (size_t i = 0; i < w.graph.n_bits; i++)
            done += qdq_assign_get(&r.search.best, i) ? sensitivity[i] : 0;
        assert_true(done > 0 && done <= 25);
        qdq_arena_free(&w.arena);
    }
}

TEST(moves_have_names)
{
    const qdq_search_opts o = options(0);
    world w;

    build(&w, 40, 1, 0.005, 0.3);
    run(&w, &o);
    assert_string_equal(w.moves[0], "everything");
    assert_string_equal(w.moves[1], "minimum cut");
    qdq_arena_free(&w.arena);
}

TEST(a_graph_of_another_size_is_refused)
{
    const qdq_search_problem p = {.n_bits = 3};
    const qdq_mincut_graph g = {.n_bits = 2};
    const qdq_mincut_problem cut = {.search = &p, .graph = &g, .profile = profile};
    const qdq_search_opts o = options(0);
    const qdq_search_ops ops = {.measure = measure};
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_mincut_result out;

    assert_fails(QDQ_E_USAGE, "tensors between 2 bits for a search of 3",
                 qdq_mincut_search_run(&cut, &o, &ops, &arena, &out, &err));
    qdq_arena_free(&arena);
}
