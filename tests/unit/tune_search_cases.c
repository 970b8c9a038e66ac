/* tune_search_cases.c - what is tried of a pattern, in which order, how much of it, and what of it
 * is never tried twice. */
#include "tune/search/search.h"

#include "support/test.h"

enum {
    MAX_CHOICES = 5,
    MAX_INSTANCES = 3,
    MAX_BITS = 2 * MAX_CHOICES * MAX_INSTANCES,
    MAX_TRIALS = 100
};

/* Units whose choices each cost or save so much of the baseline's time, wherever they are; all that
 * is measured is written down. */
typedef struct bench {
    double cost[MAX_BITS];
    uint32_t bit[2][MAX_CHOICES][MAX_INSTANCES];
    qdq_search_choice choice[2][MAX_CHOICES];
    qdq_search_unit unit[2];
    size_t n_units, n_bits;
    /* two assignments that mean one model; 0, 0: there are none */
    uint64_t same_as[2];
    /* no test decides */
    bool is_noisy;
    /* what is tried once there are profiles; 0: nothing */
    uint64_t late;
    /* there are some */
    bool tells;

    uint64_t incumbent[MAX_TRIALS], candidate[MAX_TRIALS];
    qdq_search_phase phase[MAX_TRIALS];
    size_t unit_of[MAX_TRIALS];
    size_t n;
} bench;

static void add_unit(bench *b, const char *name, size_t choices, size_t instances)
{
    const size_t u = b->n_units++;

    for (size_t c = 0; c < choices; c++) {
        for (size_t i = 0; i < instances; i++)
            b->bit[u][c][i] = (uint32_t)(b->n_bits + c * instances + i);
        b->choice[u][c] = (qdq_search_choice){.bit = b->bit[u][c], .float_ns = 1e5};
    }
    b->n_bits += choices * instances;
    b->unit[u] = (qdq_search_unit){
        .name = name, .choice = b->choice[u], .n_choices = choices, .n_instances = instances};
}

static double time_of(const bench *b, uint64_t bits)
{
    double t = 1;

    for (size_t i = 0; i < b->n_bits; i++)
        t += (bits >> i & 1) != 0 ? b->cost[i] : 0;
    return t;
}

static qdq_status measure(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *err)
{
    bench *b = ctx;
    const double before = time_of(b, incumbent->word[0]), after = time_of(b, candidate->word[0]);

    (void)err;
    assert_true(b->n < MAX_TRIALS);
    b->incumbent[b->n] = incumbent->word[0];
    b->candidate[b->n++] = candidate->word[0];
    *failed = false;
    *out = (qdq_test_result){.gain = 1 - after / before, .pairs = test->pilot};
    out->verdict = b->is_noisy               ? QDQ_VERDICT_UNDECIDED
                   : out->gain > test->enter ? QDQ_VERDICT_KEEP
                                             : QDQ_VERDICT_REJECT;
    return QDQ_OK;
}

static qdq_status identity(void *ctx, const qdq_assign *a, qdq_assign_hash *out, qdq_error *err)
{
    const bench *b = ctx;
    const uint64_t bits = a->word[0];

    (void)err;
    *out = (qdq_assign_hash){bits == b->same_as[1] ? b->same_as[0] : bits, 0};
    return QDQ_OK;
}

static qdq_status event(void *ctx, const qdq_search_event *e, qdq_error *err)
{
    bench *b = ctx;

    (void)err;
    if (e->phase == QDQ_PHASE_DONE)
        return QDQ_OK;
    b->phase[b->n - 1] = e->phase;
    b->unit_of[b->n - 1] = e->unit;
    return QDQ_OK;
}

/* A kernel for each bit, of equal times in float. */
static qdq_status profile(void *ctx, const qdq_assign *a, qdq_search_cost *cost, bool *known,
                          qdq_error *err)
{
    const bench *b = ctx;
    const double all = time_of(b, a->word[0]);

    (void)err;
    *known = b->tells;
    for (size_t i = 0; i < b->n_bits; i++)
        cost[i] = (qdq_search_cost){
            .own = (1 / (double)b->n_bits + (qdq_assign_get(a, i) ? b->cost[i] : 0)) / all};
    return QDQ_OK;
}

static qdq_search_opts options(unsigned schemes)
{
    return (qdq_search_opts){.test = QDQ_TEST_OPTS_INIT,
                             .schemes_per_unit = schemes,
                             .exhaustive = 2,
                             .mutations = 3,
                             .stale = schemes};
}

/* Begins with nothing, and with `second` if it is not 0. */
static qdq_search_result run(bench *b, const qdq_search_opts *o, uint64_t second, qdq_arena *arena)
{
    static const char *const names[] = {"nothing", "cached"}, *const late_name[] = {
                                                                  "rules of another"};
    const qdq_search_ops ops = {
        .ctx = b, .measure = measure, .identity = identity, .event = event, .profile = profile};
    qdq_assign starts[2], late;
    qdq_search_result out;

    assert_true(qdq_assign_new(&starts[0], b->n_bits, arena) &&
                qdq_assign_new(&starts[1], b->n_bits, arena));
    starts[1].word[0] = second;
    assert_true(qdq_assign_new(&late, b->n_bits, arena));
    late.word[0] = b->late;
    const qdq_search_problem p = {.n_bits = b->n_bits,
                                  .unit = b->unit,
                                  .n_units = b->n_units,
                                  .start = starts,
                                  .start_name = names,
                                  .n_starts = 1 + (second != 0),
                                  .late = &late,
                                  .late_name = late_name,
                                  .n_late = b->late != 0,
                                  .base_ns = 1e6};
    assert_int_equal(qdq_search_run(&p, o, &ops, arena, &out, NULL), QDQ_OK);
    return out;
}

static void expect_each_once(const bench *b)
{
    for (size_t i = 0; i < b->n; i++) {
        assert_true(b->candidate[i] != b->incumbent[i]);
        for (size_t k = 0; k < i; k++)
            assert_true(b->candidate[i] != b->candidate[k]);
    }
}

static bool was_tried(const bench *b, uint64_t bits)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->candidate[i] == bits)
            return true;
    return false;
}

/* Two decisions: nothing, which is what all others are measured against, then a, b, and both; then
 * it is over. */
TEST(two_decisions_are_four_schemes_and_an_end)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(1000);
    bench b = {.cost = {0.1, 0.1}};

    add_unit(&b, "pair", 2, 1);
    qdq_search_result r = run(&b, &o, 0, &arena);
    assert_int_equal(b.n, 3);
    expect_each_once(&b);
    for (size_t i = 0; i < b.n; i++)
        assert_int_equal(b.incumbent[i], 0);
    assert_true(was_tried(&b, 1) && was_tried(&b, 2) && was_tried(&b, 3));
    assert_false(r.ended_early);
    assert_int_equal(qdq_assign_count(&r.best), 0);
    qdq_arena_free(&arena);
}

TEST(what_means_the_same_is_not_measured_again)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(1000);
    bench b = {.cost = {0.1, 0.1}, .same_as = {1, 3}};

    add_unit(&b, "pair", 2, 1);
    run(&b, &o, 0, &arena);
    assert_int_equal(b.n, 2);
    assert_true(was_tried(&b, 2) && was_tried(&b, 1) != was_tried(&b, 3));
    qdq_arena_free(&arena);
}

/* What seems to be better, and could not be told: the same two would run the same pairs. */
TEST(what_was_not_decided_is_not_measured_again)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(1000);
    bench b = {.cost = {-0.1, -0.1}, .is_noisy = true};

    add_unit(&b, "pair", 2, 1);
    run(&b, &o, 3, &arena);
    assert_int_equal(b.n, 3);
    expect_each_once(&b);
    qdq_arena_free(&arena);
}

/* The part of a unit in an assignment: the mask of its choices, or SIZE_MAX where instances
 * differ. */
static size_t mask_of(const bench *b, size_t u, uint64_t bits)
{
    size_t mask = 0;

    for (size_t c = 0; c < b->unit[u].n_choices; c++)
        for (size_t i = 0; i < b->unit[u].n_instances; i++) {
            const size_t on = bits >> b->bit[u][c][i] & 1;
            if (i > 0 && on != (mask >> c & 1))
                return SIZE_MAX;
            mask |= on << c;
        }
    return mask;
}

/* What a cache says of a pattern is what its trials are compared with, and never what they are. And
 * no pattern erases what another one decided. */
TEST(what_is_tried_beats_what_is_stored)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(8);
    qdq_assign seed;
    bench b = {.cost = {0}};
    size_t tried = 0;

    add_unit(&b, "first", 3, 3);
    add_unit(&b, "second", 2, 2);
    for (size_t i = 0; i < b.n_bits; i++)
        b.cost[i] = i % 3 == 0 ? -0.01 : 0.01;
    assert_true(qdq_assign_new(&seed, 3, &arena));
    qdq_assign_set(&seed, 1, true);
    b.unit[0].seed = &seed;
    b.unit[0].n_seeds = 1;
    const uint64_t stored = 7u << b.bit[0][1][0]; /* in all instances */
    run(&b, &o, stored, &arena);
    expect_each_once(&b);
    for (size_t i = 0; i < b.n; i++) {
        if (b.phase[i] != QDQ_PHASE_UNITS)
            continue;
        const size_t u = b.unit_of[i];
        assert_int_not_equal(mask_of(&b, u, b.candidate[i]), SIZE_MAX);
        assert_int_not_equal(mask_of(&b, u, b.candidate[i]), mask_of(&b, u, b.incumbent[i]));
        assert_int_equal(mask_of(&b, 1 - u, b.candidate[i]), mask_of(&b, 1 - u, b.incumbent[i]));
        tried++;
    }
    assert_true(tried >= 4);
    qdq_arena_free(&arena);
}

/* A cache with 16 schemes, a budget of 8, three instances. */
static void give_seeds(bench *b, qdq_assign seed[16], qdq_arena *arena)
{
    for (size_t i = 0; i < 16; i++) {
        assert_true(qdq_assign_new(&seed[i], MAX_CHOICES, arena));
        seed[i].word[0] = i + 1;
    }
    add_unit(b, "known", MAX_CHOICES, MAX_INSTANCES);
    b->unit[0].seed = seed;
    b->unit[0].n_seeds = b->unit[0].n_cached = 16;
}

TEST(a_known_pattern_is_profiled_once_within_its_budget)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(8);
    qdq_assign seed[16];
    bench b = {.cost = {0}};

    give_seeds(&b, seed, &arena);
    for (size_t i = 0; i < b.n_bits; i++)
        b.cost[i] = i < 2 * MAX_INSTANCES ? -0.01 : 0.02; /* the third seed, 1 | 2, is the best */
    qdq_search_result r = run(&b, &o, 0, &arena);
    assert_int_equal(r.unit[0].of_caches, 8); /* for all three instances together */
    assert_true(r.unit[0].tried <= 16);
    expect_each_once(&b);
    assert_int_equal(b.incumbent[0], 0); /* nothing is measured along */
    assert_int_equal(mask_of(&b, 0, r.best.word[0]), 3);
    qdq_arena_free(&arena);
}

TEST(where_all_seeds_are_slower_nothing_is_best)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(8);
    qdq_assign seed[16];
    bench b = {.cost = {0}};

    give_seeds(&b, seed, &arena);
    for (size_t i = 0; i < b.n_bits; i++)
        b.cost[i] = 0.01;
    qdq_search_result r = run(&b, &o, 0, &arena);
    assert_int_equal(r.unit[0].of_caches, 8);
    for (size_t i = 0; i < b.n; i++)
        assert_int_equal(b.incumbent[i], 0);
    assert_int_equal(qdq_assign_count(&r.best), 0);
    assert_int_equal(qdq_assign_count(&r.unit[0].best), 0);
    qdq_arena_free(&arena);
}

/* --- how many changes a unit gets ------------------------------------------------------------- */

/* Nothing helps: what is tried is bounded by what the unit weighs alone. */
TEST(the_budget_of_changes_follows_the_weight)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(8);
    bench b = {.cost = {0}};

    o.stale = 100;
    add_unit(&b, "light", MAX_CHOICES, 1);
    add_unit(&b, "heavy", MAX_CHOICES, 1);
    for (size_t c = 0; c < MAX_CHOICES; c++)
        b.choice[0][c].float_ns = 2e4; /* a fifth of the other's */
    for (size_t i = 0; i < b.n_bits; i++)
        b.cost[i] = 0.01;
    const qdq_search_result r = run(&b, &o, 0, &arena);
    assert_int_equal(qdq_assign_count(&r.best), 0);
    assert_int_equal(r.unit[0].changes, 2); /* 8 / 5, rounded up */
    assert_in_range(r.unit[1].changes, MAX_CHOICES, 8);
    assert_true(r.unit[1].tried <= 8);
    qdq_arena_free(&arena);
}

/* The share of the profile counts over all instances: three light ones weigh as much as a heavy
 * one. */
TEST(instances_add_to_the_weight)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_search_opts o = options(8);
    bench b = {.cost = {0}};

    o.stale = 100;
    add_unit(&b, "three", MAX_CHOICES, 3);
    add_unit(&b, "one", MAX_CHOICES, 1);
    for (size_t c = 0; c < MAX_CHOICES; c++)
        b.choice[1][c].float_ns = 1e5 / 3; /* what an instance of the other has */
    for (size_t i = 0; i < b.n_bits; i++)
        b.cost[i] = 0.01;
    const qdq_search_result r = run(&b, &o, 0, &arena);
    assert_in_range(r.unit[0].changes, MAX_CHOICES, 8);
    assert_int_equal(r.unit[1].changes, 3);
    qdq_arena_free(&arena);
}

/* Every second bit pays, which no pattern has. */
static void every_second(bench *b, uint64_t late, bool tells)
{
    *b = (bench){.late = late, .tells = tells};
    add_unit(b, "one", 4, 2);
    for (size_t i = 0; i < b->n_bits; i++)
        b->cost[i] = i % 2 == 0 ? -0.05 : 0.08;
}

TEST(what_others_would_place_is_tried_before_patterns_are)
{
    const qdq_search_opts o = options(4);

    for (int tells = 0; tells < 2; tells++) {
        bench b;
        qdq_arena arena = QDQ_ARENA_INIT;

        every_second(&b, 0x55, tells == 1);
        const qdq_search_result r = run(&b, &o, 0, &arena);
        assert_true(was_tried(&b, 0x55));
        assert_int_equal(r.best.word[0], 0x55);
        for (size_t i = 0; i < b.n && b.candidate[i] != 0x55; i++)
            assert_int_equal(b.unit_of[i], SIZE_MAX);
        qdq_arena_free(&arena);
    }
}

TEST(what_others_would_place_is_not_tried_where_profiles_rule_it_out)
{
    const qdq_search_opts o = options(4);
    bench b;
    qdq_arena arena = QDQ_ARENA_INIT;

    every_second(&b, 0xaa, true);
    /* so that there is a profile of everything */
    const qdq_search_result r = run(&b, &o, 0xff, &arena);
    assert_false(was_tried(&b, 0xaa));
    assert_true(r.ruled_out > 0);
    assert_int_equal(r.best.word[0], 0x55);
    qdq_arena_free(&arena);
}
