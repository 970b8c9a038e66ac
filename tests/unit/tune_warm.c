/* tune_warm.c - a second run that is given what the first one found out: never worse than without
 * it, and short where it is about the same model on the same engine. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "support/warm.h"
#include "tune/scheme/pattern_cache.h"

static qdq_error err;

static qdq_tune_result run_with(const qdq_model *m, const char *engine, const char *cache,
                                const char *folder)
{
    return test_warm_run(m, engine, cache, NULL, folder);
}

/* Small products and large ones: equal signatures, but only the large ones pay on codes. */
static qdq_model *small_and_large(void)
{
    return test_tuned_graph(__func__);
}

TEST(a_model_made_fast_by_the_first_run_is_not_shipped_in_float_by_the_second)
{
    const char *engine =
        test_tuned_costs("\"MatMul\": {\"float_us\": 1, \"float_us_per_k\": 10, \"int8_us\": 40, "
                         "\"int8_us_per_k\": 1, \"inputs\": 2}",
                         NULL);
    qdq_model *m = small_and_large();

    const qdq_tune_result cold = run_with(m, engine, NULL, "two_sizes");
    const qdq_tune_result warm =
        run_with(m, engine, test_path("two_sizes/patterns.yaml"), "two_sizes_again");
    print_message("%.2f times, with its own cache %.2f\n", cold.speedup, warm.speedup);
    assert_true(cold.speedup > 2);
    assert_true(warm.speedup > 0.99 * cold.speedup);
    qdq_model_free(m);
}

/* The final validation measures the other dims in every run: an entry knows what the search ended
 * with, not whether that was as fast with them. These are two builds beside those of the search. */
TEST(with_open_dims_a_warm_run_builds_for_the_other_dims_alone_beside_a_third)
{
    enum { OF_OTHER_DIMS = 2 };
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    qdq_model *m = test_tuned_graph(__func__);
    const qdq_tune_result cold = run_with(m, engine, NULL, "open");
    const qdq_tune_result warm = run_with(m, engine, test_path("open/patterns.yaml"), "open_again");
    const unsigned third = cold.builds / 3;

    print_message("%u builds, with its own cache %u\n", cold.builds, warm.builds);
    assert_true(warm.other_dims.measured);
    assert_true(warm.speedup > 0.99 * cold.speedup);
    assert_true(warm.builds <= (third > 4 ? third : 4) + OF_OTHER_DIMS);
    qdq_model_free(m);
}

/* As people write them: nothing but signatures and points, with a time that no machine measured. */
TEST(a_cache_written_by_hand_does_not_end_the_search)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    const qdq_tune_result cold = run_with(test_tuned, engine, NULL, "by_rules");

    test_warm_write_wrong(test_path("by_rules/patterns.yaml"), test_path("by_hand.yaml"), true, 1);
    const qdq_tune_result warm = run_with(test_tuned, engine, test_path("by_hand.yaml"), "by_hand");
    print_message("%.2f times, with a cache by hand %.2f\n", cold.speedup, warm.speedup);
    assert_true(warm.speedup > 0.99 * cold.speedup);
}

/* Enough for each build; tests/long has 200. */
TEST(warm_starts_of_a_few_worlds_end_where_cold_ones_do)
{
    for (uint64_t seed = 0; seed < 3; seed++)
        assert_true(test_warm_world(seed) >= 0.99);
}

/* --- what a run leaves ------------------------------------------------------------------------ */

static void load_cache(const char *path, qdq_pattern_cache *c)
{
    assert_ok(qdq_pattern_cache_load(path, NULL, c, &err));
}

static qdq_pattern_schemes *model_of(const qdq_pattern_cache *c)
{
    for (size_t i = 0; i < c->patterns.n; i++)
        if (qdq_pattern_is_model(&c->patterns.at[i]->key))
            return c->patterns.at[i];
    fail_msg("no model in the cache");
    return NULL;
}

static void save_cache(const qdq_pattern_cache *c, const char *path)
{
    char *text;

    assert_ok(qdq_pattern_cache_text(c, &text, &err));
    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
    qdq_free(text);
}

TEST(a_pattern_has_several_schemes_each_with_its_own_time)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    const qdq_tune_result cold = run_with(test_tuned, engine, NULL, "schemes");
    size_t several = 0, shipped = 0;
    qdq_pattern_cache c;

    load_cache(test_path("schemes/patterns.yaml"), &c);
    for (size_t i = 0; i < c.patterns.n; i++) {
        const qdq_pattern_schemes *ps = c.patterns.at[i];
        several += !qdq_pattern_is_model(&ps->key) && ps->schemes.n > 1;
        assert_non_null(ps->key.canon);
        assert_non_null(ps->key.engine);
        assert_non_null(ps->key.device);
        for (size_t k = 0; k < ps->schemes.n; k++) {
            const qdq_scheme *s = &ps->schemes.at[k];
            assert_true(s->timestamp != NULL &&
                        strlen(s->timestamp) == strlen("2026-11-23T10:00:00+00:00"));
            assert_true(s->latency_ms > 0 && s->latency_ms < 2 * cold.baseline_ms);
            assert_true(k == 0 || s->latency_ms > s[-1].latency_ms);
            shipped += s->latency_ms == cold.final_ms;
        }
    }
    assert_true(several > 0 && shipped == 0);
    qdq_pattern_cache_free(&c);
}

/* All times of day in a cache become this one; how many schemes have it. */
static const char long_ago[] = "2020-01-01T00:00:00+00:00";

static size_t age(const char *path, bool now)
{
    qdq_pattern_cache c;
    size_t n = 0;

    load_cache(path, &c);
    for (size_t i = 0; i < c.patterns.n; i++)
        for (size_t k = 0; k < c.patterns.at[i]->schemes.n; k++) {
            qdq_scheme *s = &c.patterns.at[i]->schemes.at[k];
            s->timestamp = now ? long_ago : s->timestamp;
            n += strcmp(s->timestamp, long_ago) == 0;
        }
    if (now)
        save_cache(&c, path);
    qdq_pattern_cache_free(&c);
    return n;
}

/* What was measured so far is on disk, but nothing is settled. */
TEST(a_killed_run_leaves_its_patterns)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    const char *path = test_path("killed/patterns.yaml");
    qdq_pattern_cache c;
    unsigned pairs = 0;
    int fd[2];

    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    const pid_t child = test_tuned_start(test_path("killed"), engine, QDQ_TUNE_REGION, fd[1]);
    close(fd[1]);
    while (pairs < 30 && read(fd[0], &pairs, sizeof pairs) == sizeof pairs)
        continue;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd[0]);
    load_cache(path, &c);
    assert_true(model_of(&c)->schemes.n > 1);
    assert_null(model_of(&c)->settled);
    const size_t placements = model_of(&c)->schemes.n;
    qdq_pattern_cache_free(&c);
    const qdq_tune_result cold = run_with(test_tuned, engine, NULL, "not_killed");
    const qdq_tune_result warm = run_with(test_tuned, engine, path, "after_the_kill");
    assert_true(warm.builds * 2 > cold.builds); /* it goes on */
    assert_true(warm.speedup > 0.99 * cold.speedup);
    /* the same run, resumed: times of what it does not measure again stay */
    const size_t aged = age(path, true);
    const qdq_tune_result resumed = run_with(test_tuned, engine, NULL, "killed");
    const size_t left = age(path, false); /* a later measurement of the same scheme may be faster */
    assert_true(resumed.resumed && left >= placements && left <= aged);
    load_cache(path, &c);
    assert_true(model_of(&c)->schemes.n > placements && model_of(&c)->settled != NULL);
    qdq_pattern_cache_free(&c);
}

/* --- what is believed ------------------------------------------------------------------------- */

typedef void (*change)(qdq_pattern_schemes *model);

static void other_device(qdq_pattern_schemes *model)
{
    model->key.device = "another one";
}

static void other_engine(qdq_pattern_schemes *model)
{
    model->key.engine = "another one";
}

static void other_form(qdq_pattern_schemes *model)
{
    model->key.canon = "00000000000000000000000000000000";
}

static void other_time(qdq_pattern_schemes *model)
{
    model->schemes.at[0].latency_ms *= 0.9;
}

static void no_placement(qdq_pattern_schemes *model)
{
    model->best = model->schemes.at[0].placement = "not digits/";
}

TEST(only_what_was_measured_here_is_settled)
{
    static const change changes[] = {NULL,       other_device, other_engine,
                                     other_form, other_time,   no_placement};
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    const qdq_tune_result cold = run_with(test_tuned, engine, NULL, "origin");

    for (size_t i = 0; i < QDQ_COUNT(changes); i++) {
        qdq_pattern_cache c;
        char file[40], folder[40];
        load_cache(test_path("origin/patterns.yaml"), &c);
        if (changes[i] != NULL)
            changes[i](model_of(&c));
        snprintf(file, sizeof file, "changed%zu.yaml", i);
        snprintf(folder, sizeof folder, "changed%zu", i);
        save_cache(&c, test_path("%s", file));
        qdq_pattern_cache_free(&c);
        const qdq_tune_result warm = run_with(test_tuned, engine, test_path("%s", file), folder);
        assert_true(warm.speedup > 0.99 * cold.speedup);
        if ((changes[i] == NULL) != (3 * warm.builds <= cold.builds || warm.builds <= 4))
            fail_msg("change %zu: %u builds, cold %u", i, warm.builds, cold.builds);
    }
}

/* A longer search is another one. */
TEST(what_a_short_search_settled_a_long_one_goes_on_with)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    const char *caches[] = {NULL, NULL};
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_tune_result quick, settled, longer;

    o.preset = QDQ_TUNE_QUICK;
    assert_ok(test_tuned_run(test_tuned, test_path("quick"), &o, &quick, &err));
    caches[0] = strdup(test_path("quick/patterns.yaml"));
    o.pattern_caches = caches;
    assert_ok(test_tuned_run(test_tuned, test_path("quick_again"), &o, &settled, &err));
    o.preset = QDQ_TUNE_DEFAULT;
    assert_ok(test_tuned_run(test_tuned, test_path("longer"), &o, &longer, &err));
    assert_true(settled.builds <= 4 && longer.builds > settled.builds);
    free((char *)caches[0]);
}

/* An engine that became another one under its old name: what the cache says of it is not true any
 * more. */
TEST(what_does_not_hold_is_searched_anew)
{
    const char *before = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    const char *after = test_tuned_costs(
        "\"MatMul\": {\"float_us\": 100, \"int8_us\": 75, \"inputs\": 2}, \"Add\": "
        "{\"float_us\": 90, \"int8_us\": 5, \"inputs\": 2}",
        TEST_TUNED_BLIND);

    (void)run_with(test_tuned, before, NULL, "before");
    const qdq_tune_result cold = run_with(test_tuned, after, NULL, "after");
    const qdq_tune_result warm =
        run_with(test_tuned, after, test_path("before/patterns.yaml"), "after_warm");
    print_message("%.3f times, with what was true before %.3f\n", cold.speedup, warm.speedup);
    assert_true(warm.builds > 4 && warm.speedup > 0.99 * cold.speedup);
}

/* The rules' plan, all linear operators and everything: with the store of an earlier run, none of
 * them is built that is slower. */
TEST(plain_placements_come_from_the_store_if_it_has_them)
{
    const char *engine = test_warm_costs(11, true);
    qdq_model *m = test_model(test_warm_network(11, 0));
    const char *store = strdup(test_path("shared.db"));
    qdq_pattern_cache c;

    const qdq_tune_result cold = test_warm_run(m, engine, NULL, store, "stored");
    load_cache(test_path("stored/patterns.yaml"), &c);
    model_of(&c)->settled = NULL;
    save_cache(&c, test_path("stored.yaml"));
    qdq_pattern_cache_free(&c);
    const qdq_tune_result alone = run_with(m, engine, test_path("stored.yaml"), "without_store");
    const qdq_tune_result with =
        test_warm_run(m, engine, test_path("stored.yaml"), store, "with_store");
    print_message("%u builds, with the store %u; cold %u\n", alone.builds, with.builds,
                  cold.builds);
    assert_true(with.builds < alone.builds);
    assert_true(with.speedup > 0.99 * cold.speedup);
    free((char *)store);
    qdq_model_free(m);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return test_tuned_child(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_starts_of_a_few_worlds_end_where_cold_ones_do),
        cmocka_unit_test(a_pattern_has_several_schemes_each_with_its_own_time),
        cmocka_unit_test(a_killed_run_leaves_its_patterns),
        cmocka_unit_test(only_what_was_measured_here_is_settled),
        cmocka_unit_test(what_a_short_search_settled_a_long_one_goes_on_with),
        cmocka_unit_test(what_does_not_hold_is_searched_anew),
        cmocka_unit_test(plain_placements_come_from_the_store_if_it_has_them),
        cmocka_unit_test(a_model_made_fast_by_the_first_run_is_not_shipped_in_float_by_the_second),
        cmocka_unit_test(a_cache_written_by_hand_does_not_end_the_search),
        cmocka_unit_test(with_open_dims_a_warm_run_builds_for_the_other_dims_alone_beside_a_third),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
