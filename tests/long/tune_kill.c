/* tune_kill.c - a tuning run that is killed at 200 moments and run again ends as if nothing had
 * happened: the same plan, nothing lost that had been reported, nothing measured twice. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "support/tuned.h"

enum { KILLS = 200 };

static qdq_status tune(const qdq_model *m, const char *folder, const char *engine,
                       qdq_tune_result *out, qdq_error *err)
{
    qdq_tune_opts opts = test_tuned_opts(engine);

    return test_tuned_run(m, folder, &opts, out, err);
}

static void nap(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&t, NULL);
}

/* How many samples it had reported when it died. */
static unsigned run_and_kill(const char *folder, const char *engine, double after)
{
    int fd[2];
    unsigned last = 0, n;

    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    pid_t child = test_tuned_start(folder, engine, QDQ_TUNE_REGION, fd[1]);
    close(fd[1]);
    nap(after);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(fd[0], &n, sizeof n) == sizeof n)
        last = n;
    close(fd[0]);
    return last;
}

/* The time of a whole run, with what it takes to start a process. */
static void run_and_wait(const char *folder, const char *engine)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), status;
    pid_t child = test_tuned_start(folder, engine, QDQ_TUNE_REGION, null);

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(null);
}

/* Its files go with the worker, which outlives it by a moment. */
static bool has_work(const char *folder)
{
    DIR *dir = opendir(folder);
    bool found = false;

    for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir))
        found = found || strncmp(e->d_name, ".work-", 6) == 0 || strstr(e->d_name, ".tmp") != NULL;
    if (dir != NULL)
        closedir(dir);
    return found;
}

/* Kills runs on that engine, at moments of one that nobody kills, and lets each go on. */
static void kill_runs(const char *name, const char *engine, int kills)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tune_result r;
    qdq_random random = qdq_random_new(2026, name);
    qdq_model *m = test_tuned_model();
    char *folder = strdup(test_path("%s", name));
    int in_the_middle = 0;

    assert_ok(tune(m, folder, engine, &r, &err));
    double before = qdq_clock_seconds();
    run_and_wait(test_path("%s_timed", name), engine);
    double whole = qdq_clock_seconds() - before;
    char *want = test_tuned_file(folder, "plan.json");
    uint64_t samples = test_tuned_samples(folder);
    print_message("a run takes %.2f s and %llu samples: %s, %.2f times as fast\n", whole,
                  (unsigned long long)samples, qdq_tune_verdict_name(r.verdict), r.speedup);
    assert_int_equal(r.verdict, QDQ_TUNED);
    free(folder);
    for (int i = 0; i < kills; i++) {
        folder = strdup(test_path("%s%d", name, i));
        unsigned reported = run_and_kill(folder, engine, qdq_random_uniform(&random) * whole);
        uint64_t kept = test_tuned_samples(folder);
        assert_true(kept >= reported);
        in_the_middle += kept > 0 && kept < samples;
        assert_ok(tune(m, folder, engine, &r, &err));
        test_tuned_holds(folder, "plan.json", want);
        assert_int_equal(test_tuned_samples(folder), samples);
        assert_false(has_work(folder));
        free(folder);
    }
    print_message("%d of %d were killed between their first sample and their last\n", in_the_middle,
                  kills);
    assert_true(in_the_middle > kills / 10); /* else nothing has been tested */
    qdq_free(want);
    qdq_model_free(m);
}

TEST(killed_at_200_moments_it_ends_with_the_same_plan)
{
    kill_runs("blind", test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND), KILLS / 2);
    kill_runs("profiled", test_tuned_costs(TEST_TUNED_OPS, NULL), KILLS / 2);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return test_tuned_child(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_200_moments_it_ends_with_the_same_plan)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
