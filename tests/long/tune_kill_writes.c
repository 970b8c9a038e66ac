/* tune_kill_writes.c - a run of subgraph mode that is killed behind each of its first 50 writes to
 * the store, and run again, ends as if nothing had happened: the same plan, the same model with the
 * same scales, no pair measured twice. So by minimum cuts, and by greedy with times of layers and
 * without. Not at moments of a clock, as in tune_kill.c: the store itself says when it has written.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "base/spawn.h"
#include "support/npy_file.h"
#include "support/tuned.h"

enum { KILLS = 50, SAMPLES = 16, WIDTH = 8 };

/* --- the store's writes ----------------------------------------------------------------------- */

static unsigned writes, last_write; /* so far; behind which to die, 0: none are counted */

/* Called behind every commit. */
static int count_write(void *ctx, sqlite3 *db, const char *name, int pages)
{
    (void)ctx, (void)db, (void)name, (void)pages;
    if (++writes == last_write)
        kill(getpid(), SIGKILL);
    return SQLITE_OK;
}

int __real_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);

int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs)
{
    int rc = __real_sqlite3_open_v2(path, db, flags, vfs);

    if (rc == SQLITE_OK && last_write > 0)
        sqlite3_wal_hook(*db, count_write, NULL);
    return rc;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* What calibrates: its scales are real, so a resumed run that forgot it would ship others. */
static const char *write_data(void)
{
    qdq_random r = qdq_random_new(3, "data");
    float x[SAMPLES * WIDTH];

    for (int i = 0; i < SAMPLES * WIDTH; i++)
        x[i] = (float)(3 * qdq_random_normal(&r));
    return test_npy_file("x.npy", TEST_HEADER("<f4", "(16, 8)"), x, sizeof x);
}

static qdq_status tune(const char *folder, const char *engine, const char *data,
                       qdq_tune_strategy strategy, qdq_tune_result *out, qdq_error *err)
{
    qdq_tune_opts opts = test_tuned_opts(engine);
    qdq_model *m = test_tuned_model();
    qdq_data *d = NULL;

    opts.mode = QDQ_TUNE_SUBGRAPH;
    opts.strategy = strategy;
    qdq_status st = qdq_data_open(data, m, NULL, &d, err);
    if (st == QDQ_OK)
        st = test_tuned_run_on(m, d, NULL, folder, &opts, out, err);
    qdq_data_close(d);
    qdq_model_free(m);
    return st;
}

/* In a process of its own, which says how often it wrote, if it comes so far. */
static int child(char **argv)
{
    qdq_tune_result r;

    last_write = (unsigned)strtoul(argv[4], NULL, 10);
    const qdq_tune_strategy strategy = (qdq_tune_strategy)strtoul(argv[5], NULL, 10);
    if (tune(argv[1], argv[2], argv[3], strategy, &r, NULL) != QDQ_OK)
        return 1;
    return write(STDOUT_FILENO, &writes, sizeof writes) == sizeof writes ? 0 : 2;
}

/* How it ended; *n: how often it wrote, if it told. */
static int run_until(unsigned last, const char *folder, const char *engine, const char *data,
                     qdq_tune_strategy strategy, unsigned *n)
{
    char number[20], how[20];
    const char *const argv[] = {"/proc/self/exe", folder, engine, data, number, how, NULL};
    int fd[2], status;
    pid_t pid = 0;

    snprintf(number, sizeof number, "%u", last);
    snprintf(how, sizeof how, "%d", (int)strategy);
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    assert_int_equal(
        qdq_spawn(&(qdq_spawn_opts){.argv = argv, .in = -1, .out = fd[1], .err = STDERR_FILENO},
                  &pid),
        0);
    close(fd[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (read(fd[0], n, sizeof *n) != sizeof *n)
        *n = 0;
    close(fd[0]);
    return status;
}

/* --- the test --------------------------------------------------------------------------------- */

static void assert_same_file(const char *folder, const char *whole, const char *name, unsigned last)
{
    char a[4300], b[4300], command[9000];

    snprintf(a, sizeof a, "%s/%s", folder, name);
    snprintf(b, sizeof b, "%s/%s", whole, name);
    snprintf(command, sizeof command, "cmp '%s' '%s'", a, b);
    if (system(command) != 0)
        fail_msg("%s differs after a kill behind write %u", name, last);
}

static void kill_behind_writes(const char *name, const char *engine, qdq_tune_strategy strategy)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *data = strdup(write_data()), *whole = strdup(test_path("%s", name));
    qdq_tune_result want, r;
    unsigned all;

    assert_int_equal(run_until(UINT_MAX, whole, engine, data, strategy, &all), 0);
    assert_ok(tune(whole, engine, data, strategy, &want, &err));
    const uint64_t samples = test_tuned_samples(whole);
    print_message("a run writes %u times, and takes %llu samples: %s by %s, %.2f times as fast\n",
                  all, (unsigned long long)samples, qdq_tune_verdict_name(want.verdict),
                  want.strategy, want.speedup);
    assert_true(all > KILLS);
    assert_int_equal(want.verdict, QDQ_TUNED);
    assert_false(want.placement_only); /* scales are real */
    for (unsigned last = 1; last <= KILLS; last++) {
        char *folder = strdup(test_path("%s%u", name, last));
        unsigned told;
        int status = run_until(last, folder, engine, data, strategy, &told);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_ok(tune(folder, engine, data, strategy, &r, &err));
        assert_same_file(folder, whole, "plan.json", last);
        assert_same_file(folder, whole, "model.onnx", last);
        assert_int_equal(test_tuned_samples(folder), samples);
        assert_true(r.builds == want.builds && r.groups == want.groups &&
                    r.accepted == want.accepted && r.rejected == want.rejected);
        assert_true(r.speedup == want.speedup && r.predicted_ms == want.predicted_ms);
        free(folder);
    }
    free(whole);
    free(data);
}

#define LOSES "\"nodes\": {\"MatMul@h4\": {\"float_us\": 100, \"int8_us\": 250}}"

TEST(killed_behind_each_of_50_writes_it_ends_the_same)
{
    kill_behind_writes("cuts", test_tuned_costs(TEST_TUNED_OPS, LOSES), QDQ_TUNE_MINCUT);
}

TEST(killed_behind_each_write_it_ends_the_same_by_groups_apart)
{
    kill_behind_writes("greedy", test_tuned_costs(TEST_TUNED_OPS, LOSES), QDQ_TUNE_GREEDY);
}

TEST(killed_behind_each_write_it_ends_the_same_by_groups_timed_whole)
{
    kill_behind_writes("whole", test_tuned_costs(TEST_TUNED_OPS, LOSES ", " TEST_TUNED_BLIND),
                       QDQ_TUNE_GREEDY);
}

TEST(killed_behind_each_write_it_ends_the_same_without_profiles)
{
    kill_behind_writes("blind", test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND), QDQ_TUNE_AUTO);
}

int main(int argc, char **argv)
{
    if (argc == 6)
        return child(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_behind_each_of_50_writes_it_ends_the_same),
        cmocka_unit_test(killed_behind_each_write_it_ends_the_same_by_groups_apart),
        cmocka_unit_test(killed_behind_each_write_it_ends_the_same_by_groups_timed_whole),
        cmocka_unit_test(killed_behind_each_write_it_ends_the_same_without_profiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
