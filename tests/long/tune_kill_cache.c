/* tune_kill_cache.c - a run of subgraph mode that is killed behind each of its writes of
 * autotune_cache.json, and run again, ends the same: with its store, and without it, by what that
 * file has alone. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/spawn.h"
#include "support/tuned.h"
#include "tune/cache/autotune_cache.h"

/* The last product is slow in the whole model alone: there is something to reject. */
#define OPS                                                                                        \
    "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2}, \"Add\": {\"float_us\": "    \
    "20, "                                                                                         \
    "\"int8_us\": 60, \"inputs\": 2}"
#define LOSES "\"nodes\": {\"MatMul@h4\": {\"float_us\": 100, \"int8_us\": 250, \"inputs\": 2}}"

static qdq_error err;

/* --- the file's writes ------------------------------------------------------------------------ */

static unsigned writes, last_write; /* so far; behind which to die */

qdq_status __real_qdq_autotune_cache_write(const qdq_autotune_cache *c, const char *path,
                                           qdq_error *e);
qdq_status __wrap_qdq_autotune_cache_write(const qdq_autotune_cache *c, const char *path,
                                           qdq_error *e);

qdq_status __wrap_qdq_autotune_cache_write(const qdq_autotune_cache *c, const char *path,
                                           qdq_error *e)
{
    const qdq_status st = __real_qdq_autotune_cache_write(c, path, e);

    if (st == QDQ_OK && ++writes == last_write)
        kill(getpid(), SIGKILL);
    return st;
}

/* --- runs ------------------------------------------------------------------------------------- */

static qdq_status tune(const char *folder, const char *engine, qdq_tune_strategy strategy,
                       qdq_tune_result *out)
{
    qdq_tune_opts opts = test_tuned_opts(engine);
    qdq_model *m = test_tuned_model();

    opts.mode = QDQ_TUNE_SUBGRAPH;
    opts.strategy = strategy;
    const qdq_status st = test_tuned_run(m, folder, &opts, out, &err);
    qdq_model_free(m);
    return st;
}

static int child(char **argv)
{
    qdq_tune_result r;

    last_write = (unsigned)strtoul(argv[3], NULL, 10);
    return tune(argv[1], argv[2], (qdq_tune_strategy)strtoul(argv[4], NULL, 10), &r) == QDQ_OK ? 0
                                                                                               : 1;
}

static bool is_killed_behind(unsigned last, const char *folder, const char *engine,
                             qdq_tune_strategy strategy)
{
    char number[20], how[20];
    const char *const argv[] = {"/proc/self/exe", folder, engine, number, how, NULL};
    int status;
    pid_t pid = 0;

    snprintf(number, sizeof number, "%u", last);
    snprintf(how, sizeof how, "%d", (int)strategy);
    assert_int_equal(
        qdq_spawn(
            &(qdq_spawn_opts){.argv = argv, .in = -1, .out = STDOUT_FILENO, .err = STDERR_FILENO},
            &pid),
        0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* The folder once more, without the store. */
static void copy_without_store(const char *folder, const char *to)
{
    char command[13000];

    snprintf(command, sizeof command, "cp -r '%s' '%s' && rm '%s'/tune.db*", folder, to, to);
    assert_int_equal(system(command), 0);
}

static void assert_nothing_set_aside(const char *folder)
{
    char command[9000];

    snprintf(command, sizeof command, "! ls '%s' | grep -q 'json[.]'", folder);
    assert_int_equal(system(command), 0);
}

/* Groups of the file in a folder that are finished, and those that are not. */
static void count_groups(const char *folder, unsigned *done, unsigned *open)
{
    char path[4300];
    qdq_autotune_cache c;

    *done = *open = 0;
    snprintf(path, sizeof path, "%s/autotune_cache.json", folder);
    assert_ok(qdq_autotune_cache_read(path, &c, &err));
    for (size_t i = 0; i < c.groups.n; i++)
        ++*(c.groups.at[i].in_progress ? open : done);
    assert_true(c.fingerprint[0] != '\0' && c.run == 1);
    assert_true(c.completed || c.decisions.n == c.candidates.n || c.next >= 0);
    qdq_autotune_cache_free(&c);
}

/* Where the file is a start of its own (not for greedy), there is one trial more. */
static void assert_same_end(const char *folder, const char *whole, const qdq_tune_result *r,
                            const qdq_tune_result *want, bool same_trials, unsigned last)
{
    test_tuned_same(folder, whole, "plan.json");
    test_tuned_same(folder, whole, "model.onnx");
    assert_int_equal(r->verdict, want->verdict);
    if (!same_trials)
        return;
    if (r->accepted != want->accepted || r->rejected != want->rejected)
        fail_msg("%s: behind write %u: kept %u, rejected %u: expected %u, %u", folder, last,
                 r->accepted, r->rejected, want->accepted, want->rejected);
}

/* *partly: how many of the files had groups that were still measured. */
static void kill_behind_writes(const char *name, const char *engine, qdq_tune_strategy strategy,
                               unsigned *all, unsigned *partly)
{
    char *whole = strdup(test_path("%s", name));
    qdq_tune_result want, r;
    bool more = true;

    assert_ok(tune(whole, engine, strategy, &want));
    const uint64_t samples = test_tuned_samples(whole);
    *partly = 0;
    for (*all = 0; more; ++*all) {
        char *kept = strdup(test_path("%s%u", name, *all)),
             *lost = strdup(test_path("%s%u_", name, *all));
        unsigned done, open;
        more = is_killed_behind(*all + 1, kept, engine, strategy);
        if (more) {
            count_groups(kept, &done, &open);
            *partly += open > 0;
            copy_without_store(kept, lost);
            assert_ok(tune(kept, engine, strategy, &r));
            assert_same_end(kept, whole, &r, &want, true, *all + 1);
            assert_true(r.builds == want.builds && test_tuned_samples(kept) == samples);
            assert_ok(tune(lost, engine, strategy, &r));
            assert_same_end(lost, whole, &r, &want, strategy == QDQ_TUNE_GREEDY, *all + 1);
            assert_nothing_set_aside(kept);
            assert_nothing_set_aside(lost);
        }
        free(kept);
        free(lost);
    }
    --*all;
    print_message("%s: %u writes, %u of them while groups are measured\n", name, *all, *partly);
    free(whole);
}

/* --- the tests -------------------------------------------------------------------------------- */

TEST(killed_behind_each_write_of_the_file_greedy_ends_the_same)
{
    unsigned all, partly;

    kill_behind_writes("layers", test_tuned_costs(OPS, LOSES), QDQ_TUNE_GREEDY, &all, &partly);
    assert_true(partly > 1 && all > partly + 4);
}

/* Each of the five kinds of groups is a write of its own. */
TEST(so_it_does_by_whole_times_after_each_group)
{
    unsigned all, partly;

    kill_behind_writes("whole", test_tuned_costs(OPS, LOSES ", " TEST_TUNED_BLIND), QDQ_TUNE_GREEDY,
                       &all, &partly);
    assert_true(partly >= 5 && all > partly + 4);
}

TEST(so_do_minimum_cuts)
{
    unsigned all, partly;

    kill_behind_writes("cuts", test_tuned_costs(TEST_TUNED_OPS, LOSES), QDQ_TUNE_MINCUT, &all,
                       &partly);
    assert_true(partly == 0 && all > 2);
}

TEST(so_do_trials_of_kinds_one_by_one)
{
    unsigned all, partly;

    kill_behind_writes("blind", test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND), QDQ_TUNE_AUTO,
                       &all, &partly);
    assert_true(partly == 0 && all > 2);
}

int main(int argc, char **argv)
{
    if (argc == 5)
        return child(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_behind_each_write_of_the_file_greedy_ends_the_same),
        cmocka_unit_test(so_it_does_by_whole_times_after_each_group),
        cmocka_unit_test(so_do_minimum_cuts),
        cmocka_unit_test(so_do_trials_of_kinds_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
