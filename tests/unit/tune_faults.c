/* tune_faults.c - whole runs on the sim engine while something goes wrong around them: killed, two
 * at once, a full disk, a locked store, a clock that is set back. What an engine does to a
 * candidate is in tune_run.c and tune_worker_client.c. */
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "support/disk.h"
#include "support/tuned.h"

static qdq_error err;

/* --- a clock that can be set ------------------------------------------------------------------ */

static time_t set_back; /* seconds */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = __real_clock_gettime(clock, t);

    if (clock == CLOCK_REALTIME)
        t->tv_sec -= set_back;
    return result;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Without a profile, so that it takes more than a trial, and walks through all phases. */
static const char *plain(void)
{
    return test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
}

/* Runs in which `live` does something once, in a phase. */
typedef struct moment {
    const char *phase, *folder;
    void (*act)(struct moment *m);
    qdq_cancel *cancel;
    /* of what was done */
    qdq_status status;
    char *text;
    bool done;
    qdq_error err;
} moment;

static void live(void *ctx, const qdq_tune_live *now)
{
    moment *m = ctx;

    if (m->done || strcmp(now->phase, m->phase) != 0)
        return;
    m->done = true;
    m->act(m);
}

static qdq_status run_with(moment *m, const qdq_tune_opts *opts)
{
    qdq_tune_opts o = *opts;
    qdq_job job = QDQ_JOB_INIT;
    qdq_tune_result r;

    m->cancel = qdq_cancel_new();
    job.ctx = m;
    job.cancel = m->cancel;
    o.job = &job;
    o.live = live;
    qdq_status st = test_tuned_run(test_tuned, m->folder, &o, &r, &err);
    qdq_cancel_free(m->cancel);
    assert_true(m->done);
    return st;
}

static void assert_ends_as(const char *folder, const qdq_tune_opts *o, const char *whole)
{
    qdq_tune_result r;

    assert_ok(test_tuned_run(test_tuned, folder, o, &r, &err));
    test_tuned_same(folder, whole, "plan.json");
}

/* Entries of the folder that fit, and how many there are. */
static unsigned count_like(const char *folder, const char *wildcard)
{
    DIR *dir = opendir(folder);
    unsigned n = 0;

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += fnmatch(wildcard, e->d_name, 0) == 0;
    closedir(dir);
    return n;
}

/* --- two at once ------------------------------------------------------------------------------ */

static void begin_another(moment *m)
{
    const qdq_tune_opts o = test_tuned_opts(plain());
    qdq_tune_result r;

    m->status = test_tuned_run(test_tuned, m->folder, &o, &r, &m->err);
}

TEST(a_run_in_the_folder_of_another_is_refused_and_harms_nothing)
{
    char *folder = strdup(test_path("two")), *alone = strdup(test_path("alone"));
    const qdq_tune_opts o = test_tuned_opts(plain());
    moment m = {.phase = "regions", .folder = folder, .act = begin_another};
    qdq_tune_result r;

    assert_ok(run_with(&m, &o));
    assert_int_equal(m.status, QDQ_E_IO);
    assert_non_null(strstr(m.err.text, "another run is at work in this folder"));
    assert_ok(test_tuned_run(test_tuned, alone, &o, &r, &err));
    assert_ends_as(folder, &o, alone);
    free(folder);
    free(alone);
}

static void begin_beside(moment *m)
{
    qdq_tune_opts o = test_tuned_opts(plain());
    qdq_tune_result r;

    test_tuned_details(&o)->store = test_path("between.db");
    m->status = test_tuned_run(test_tuned, test_path("beside2"), &o, &r, &m->err);
}

TEST(two_runs_at_once_may_share_a_store)
{
    char *folder = strdup(test_path("beside"));
    qdq_tune_opts o = test_tuned_opts(plain());
    moment m = {.phase = "regions", .folder = folder, .act = begin_beside};
    char *store = strdup(test_path("between.db"));

    test_tuned_details(&o)->store = store;
    assert_ok(run_with(&m, &o));
    if (m.status != QDQ_OK)
        fail_msg("%s", m.err.text);
    assert_ends_as(folder, &o, test_path("beside2"));
    free(store);
    free(folder);
}

/* --- what a folder says ----------------------------------------------------------------------- */

static void ask(moment *m)
{
    m->status = qdq_tune_status(m->folder, &m->text, &m->err);
}

static void ask_and_stop(moment *m)
{
    ask(m);
    qdq_cancel_set(m->cancel);
}

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
}

static void assert_status_has(const char *folder, const char *part)
{
    char *text;

    assert_ok(qdq_tune_status(folder, &text, &err));
    assert_says(text, part);
    qdq_free(text);
}

TEST(a_folder_tells_how_its_run_stands)
{
    char *folder = strdup(test_path("tells")), *store = strdup(test_path("tells.db"));
    qdq_tune_opts o = test_tuned_opts(plain());
    moment early = {.phase = "calibrating", .folder = folder, .act = ask},
           late = {.phase = "regions", .folder = folder, .act = ask_and_stop};

    test_tuned_details(&o)->store = store;
    assert_ok(run_with(&early, &o));
    assert_ok(early.status);
    assert_says(early.text, "\"state\": \"running\"");
    assert_says(early.text, "\"phase\": \"calibrating\"");
    qdq_free(early.text);
    assert_status_has(folder, "\"state\": \"finished\"");
    o.restart = true;
    assert_int_equal(run_with(&late, &o), QDQ_E_INTERRUPTED);
    assert_ok(late.status);
    assert_says(late.text, "\"state\": \"running\"");
    assert_true(strstr(late.text, "calibrating") == NULL &&
                strstr(late.text, "\"trials\": 0") == NULL);
    qdq_free(late.text);
    assert_status_has(folder, "\"state\": \"interrupted\"");
    assert_int_equal(unlink(store), 0);
    char *text;
    assert_fails(QDQ_E_IO, "tells.db: expected the store of the run",
                 qdq_tune_status(folder, &text, &err));
    free(store);
    free(folder);
}

/* The newest run of a shared store may be that of another folder. */
TEST(a_folder_tells_of_its_own_run)
{
    char *store = strdup(test_path("of_both.db")), *mine = strdup(test_path("mine"));
    qdq_tune_opts o = test_tuned_opts(plain());
    moment m = {.phase = "regions", .folder = test_path("theirs"), .act = ask_and_stop};
    qdq_tune_result r;

    test_tuned_details(&o)->store = store;
    assert_ok(test_tuned_run(test_tuned, mine, &o, &r, &err));
    o.seed = 8;
    assert_int_equal(run_with(&m, &o), QDQ_E_INTERRUPTED);
    qdq_free(m.text);
    assert_status_has(mine, "\"state\": \"finished\"");
    assert_status_has(test_path("theirs"), "\"state\": \"interrupted\"");
    free(mine);
    free(store);
}

TEST(a_run_that_failed_says_why)
{
    char *folder = strdup(test_path("failed"));
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(
        /* whatever is timed */
        TEST_TUNED_OPS, "\"fail\": [{\"at\": \"time\", \"crash\": \"SIGSEGV\"}]"));
    qdq_tune_result r;

    assert_fails(QDQ_E_ENGINE, "the model cannot be timed",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_status_has(folder, "\"state\": \"failed\"");
    assert_status_has(folder, "the model cannot be timed");
    free(folder);
}

/* --- killed ----------------------------------------------------------------------------------- */

/* A child of the process, 0: there is none. */
static pid_t child_of(pid_t parent)
{
    DIR *dir = opendir("/proc");
    pid_t found = 0;

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL && found == 0; e = readdir(dir)) {
        char path[300], text[400] = "";
        int ppid = 0;

        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (f == NULL)
            continue;
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        const char *p = strrchr(text, ')');
        if (p != NULL && sscanf(p, ") %*c %d", &ppid) == 1 && ppid == parent)
            found = (pid_t)strtol(e->d_name, NULL, 10);
    }
    closedir(dir);
    return found;
}

static void nap_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* The worker is in the middle of a candidate that hangs, so that it reads no questions. */
TEST(a_killed_run_leaves_no_worker_and_no_files_of_candidates)
{
    char *folder = strdup(test_path("orphan"));
    const char *engine = test_tuned_costs(
        TEST_TUNED_OPS, "\"fail\": [{\"at\": \"time\", \"node\": \"MatMul@h1\", \"hang\": 1000}]");
    pid_t worker = 0;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    pid_t child = test_tuned_start(folder, engine, QDQ_TUNE_REGION, null);
    char *logs = strdup(test_path("orphan/logs"));
    for (int i = 0; i < 500 && (access(logs, F_OK) != 0 || count_like(logs, "*.log") < 2); i++)
        nap_ms(20);
    free(logs);
    nap_ms(300);
    worker = child_of(child);
    unsigned work = count_like(folder, ".work-*");
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(worker > 0);
    assert_int_equal(work, 1);
    for (int i = 0; i < 500 && (kill(worker, 0) == 0 || count_like(folder, ".work-*") > 0); i++)
        nap_ms(20);
    assert_int_not_equal(kill(worker, 0), 0);
    assert_int_equal(count_like(folder, ".work-*"), 0);
    assert_status_has(folder, "\"state\": \"interrupted\"");
    close(null);
    free(folder);
}

/* --- what is written -------------------------------------------------------------------------- */

static void stop(moment *m)
{
    qdq_cancel_set(m->cancel);
}

static ino_t file_number(const char *folder, const char *name)
{
    char path[4300];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

TEST(a_baseline_that_is_there_is_not_written_again)
{
    char *folder = strdup(test_path("baseline"));
    const qdq_tune_opts o = test_tuned_opts(plain());
    moment m = {.phase = "regions", .folder = folder, .act = stop};
    qdq_tune_result r;

    assert_int_equal(run_with(&m, &o), QDQ_E_INTERRUPTED);
    const ino_t first = file_number(folder, "baseline.onnx");
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_true(file_number(folder, "baseline.onnx") == first);
    assert_ok(qdq_write_file(test_path("baseline/baseline.onnx"), true, "x", 1, &err));
    /* what is no model would end the final validation */
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    char *text = test_tuned_file(folder, "baseline.onnx");
    assert_string_not_equal(text, "x");
    qdq_free(text);
    free(folder);
}

/* --- a full disk, a locked store, a clock ----------------------------------------------------- */

TEST(a_full_disk_ends_the_run_and_the_next_goes_on)
{
    const char *disk = test_small_disk(400 << 10);
    char *whole = strdup(test_path("roomy")), folder[4300], filler[4300];
    const qdq_tune_opts o = test_tuned_opts(plain());
    qdq_tune_result r;

    if (disk == NULL) {
        test_missing("a disk of its own");
        return;
    }
    assert_ok(test_tuned_run(test_tuned, whole, &o, &r, &err));
    snprintf(folder, sizeof folder, "%s/tuned", disk);
    snprintf(filler, sizeof filler, "%s/filler", disk);
    /* it ends in different places */
    for (size_t room = 8 << 10; room < 300 << 10; room += 48 << 10) {
        char *bytes = calloc(1, (400 << 10) - room);
        assert_ok(qdq_write_file(filler, true, bytes, (400 << 10) - room, &err));
        free(bytes);
        qdq_status st = test_tuned_run(test_tuned, folder, &o, &r, &err);
        if (st != QDQ_OK && st != QDQ_E_IO)
            fail_msg("with %zu bytes: %s: %s", room, qdq_status_name(st), err.text);
        assert_int_equal(count_like(folder, ".work-*"), 0);
        assert_int_equal(count_like(folder, ".*.tmp"), 0);
        assert_int_equal(unlink(filler), 0);
    }
    assert_int_equal(truncate(disk, 0), -1);
    free(whole);
}

static void lock_store(moment *m)
{
    char path[4300];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/tune.db", m->folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    m->text = (char *)db;
}

TEST(a_store_that_somebody_keeps_locked_ends_the_run_and_the_next_goes_on)
{
    char *folder = strdup(test_path("locked")), *whole = strdup(test_path("unlocked"));
    const qdq_tune_opts o = test_tuned_opts(plain());
    moment m = {.phase = "regions", .folder = folder, .act = lock_store};
    qdq_tune_result r;

    assert_ok(test_tuned_run(test_tuned, whole, &o, &r, &err));
    assert_fails(QDQ_E_IO, "another process has held the store for more than 5 s",
                 run_with(&m, &o));
    sqlite3_close((sqlite3 *)(void *)m.text);
    assert_ends_as(folder, &o, whole);
    free(folder);
    free(whole);
}

static void put_clock_back(moment *m)
{
    (void)m;
    set_back = 3600;
}

static void put_clock_back_and_stop(moment *m)
{
    set_back = 7200;
    qdq_cancel_set(m->cancel);
}

TEST(a_clock_that_is_set_back_changes_nothing)
{
    char *folder = strdup(test_path("clock")), *whole = strdup(test_path("steady"));
    qdq_tune_opts o = test_tuned_opts(plain());
    moment first = {.phase = "start", .folder = folder, .act = put_clock_back},
           second = {.phase = "guard", .folder = folder, .act = put_clock_back_and_stop};
    qdq_tune_result r;
    char *status;
    json_t *j;

    assert_ok(test_tuned_run(test_tuned, whole, &o, &r, &err));
    o.time_s = 3600; /* of a clock that nobody can set */
    assert_int_equal(run_with(&second, &o), QDQ_E_INTERRUPTED);
    assert_ok(qdq_tune_status(folder, &status, &err));
    assert_ok(qdq_json_parse(status, strlen(status), "status", &j, &err));
    assert_true(json_number_value(json_object_get(j, "seconds")) >= 0);
    json_decref(j);
    qdq_free(status);
    set_back = 0;
    assert_ok(run_with(&first, &o));
    set_back = 0;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_false(r.ended_early);
    assert_true(r.seconds >= 0 && r.seconds < 600);
    assert_ends_as(folder, &o, whole);
    free(folder);
    free(whole);
}

/* --- a store that somebody wrote into --------------------------------------------------------- */

static void change_store(const char *folder, const char *sql)
{
    char path[4300];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/tune.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

TEST(a_profile_that_cannot_be_read_is_measured_once_more)
{
    static const char *const garbage[] = {"''", "'7'", "'[{}]'", "'{'",
                                          "'[{\"name\": \"h1\", \"op\": \"MatMul\", \"us\": -1}]'"};
    const char *folder = test_path("profile"), *engine = test_tuned_costs(TEST_TUNED_OPS, NULL);
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_tune_result r;

    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    for (size_t i = 0; i < QDQ_COUNT(garbage); i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "UPDATE value SET value = %s", garbage[i]);
        change_store(folder, sql);
        assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
        assert_true(r.verdict == QDQ_TUNED && r.speedup > 1.5);
    }
}

/* The same of layers and their nodes, which subgraph mode keeps. */
TEST(layers_that_cannot_be_read_are_asked_for_once_more)
{
    static const char *const garbage[] = {"''", "'7'", "'[{}]'", "'{'",
                                          "'[[\"a\", \"b\", \"c\", \"d\", -1.0, false, 0, []]]'"};
    const char *folder = test_path("layers"), *engine = test_tuned_costs(TEST_TUNED_OPS, NULL);
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_tune_result whole, r;

    o.mode = QDQ_TUNE_SUBGRAPH;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &whole, &err));
    for (size_t i = 0; i < QDQ_COUNT(garbage); i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "UPDATE value SET value = %s", garbage[i]);
        change_store(folder, sql);
        assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
        assert_true(r.verdict == QDQ_TUNED && r.speedup > 1.5);
        assert_int_equal(r.groups, whole.groups);
    }
}

TEST(a_damaged_sample_is_said_with_its_place)
{
    static const char *const times[] = {"0", "-1", "9e999", "'abc'", "x'41'"};
    const char *folder = test_path("sample"), *engine = test_tuned_costs(TEST_TUNED_OPS, NULL);
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_tune_result r;

    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    for (size_t i = 0; i < QDQ_COUNT(times); i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "UPDATE pair SET candidate_ns = %s WHERE trial = 2", times[i]);
        change_store(folder, sql);
        assert_fails(QDQ_E_FORMAT, "sample/tune.db: sample 0 of trial 2: found times of",
                     test_tuned_run(test_tuned, folder, &o, &r, &err));
    }
    o.restart = true; /* nothing from before */
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
}

TEST(the_status_of_a_damaged_store_is_an_error_or_what_is_known)
{
    static const char *const reports[] = {"'garbage'", "'[1]'", "''"};
    static const char *const events[] = {"'{}'", "'[]'", "'{\"phase\": 7}'"};
    const char *folder = test_path("damaged"), *engine = test_tuned_costs(TEST_TUNED_OPS, NULL);
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_tune_result r;
    char sql[200], *text;

    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    for (size_t i = 0; i < QDQ_COUNT(reports); i++) {
        snprintf(sql, sizeof sql, "UPDATE run SET report = %s", reports[i]);
        change_store(folder, sql);
        assert_fails(QDQ_E_FORMAT, "damaged/tune.db: report", qdq_tune_status(folder, &text, &err));
    }
    for (size_t i = 0; i < QDQ_COUNT(events); i++) {
        snprintf(sql, sizeof sql, "UPDATE run SET finished = 0; UPDATE event SET json = %s",
                 events[i]);
        change_store(folder, sql);
        assert_ok(qdq_tune_status(folder, &text, &err));
        assert_non_null(strstr(text, "\"phase\": \"\""));
        qdq_free(text);
    }
    change_store(folder, "UPDATE event SET json = 'x'");
    assert_fails(QDQ_E_FORMAT, "damaged/tune.db: event", qdq_tune_status(folder, &text, &err));
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return test_tuned_child(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_that_cannot_be_read_is_measured_once_more),
        cmocka_unit_test(layers_that_cannot_be_read_are_asked_for_once_more),
        cmocka_unit_test(a_damaged_sample_is_said_with_its_place),
        cmocka_unit_test(the_status_of_a_damaged_store_is_an_error_or_what_is_known),
        cmocka_unit_test(a_run_in_the_folder_of_another_is_refused_and_harms_nothing),
        cmocka_unit_test(two_runs_at_once_may_share_a_store),
        cmocka_unit_test(a_folder_tells_how_its_run_stands),
        cmocka_unit_test(a_folder_tells_of_its_own_run),
        cmocka_unit_test(a_run_that_failed_says_why),
        cmocka_unit_test(a_killed_run_leaves_no_worker_and_no_files_of_candidates),
        cmocka_unit_test(a_baseline_that_is_there_is_not_written_again),
        cmocka_unit_test(a_full_disk_ends_the_run_and_the_next_goes_on),
        cmocka_unit_test(a_store_that_somebody_keeps_locked_ends_the_run_and_the_next_goes_on),
        cmocka_unit_test(a_clock_that_is_set_back_changes_nothing),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
