/* tune_store.c - what was reported is there again, whatever happened to the process or to the file
 * in between. */
#include "tune/store/store.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/disk.h"

static const qdq_tune_store_context here = {"model1", "sim 1", "cpu", "threads=1", "int8"};
static qdq_error err;

static qdq_tune_store *open_store(const char *path)
{
    qdq_tune_store *s;

    assert_ok(qdq_tune_store_open(path, &s, &err));
    return s;
}

static void add_pairs(qdq_tune_store *s, const qdq_tune_store_run *r, const char *candidate,
                      unsigned n)
{
    qdq_tune_store_trial t;

    assert_ok(
        qdq_tune_store_trial_get(s, r, &(qdq_tune_store_models){"float", candidate, 0}, &t, &err));
    for (unsigned i = t.n_pairs; i < n; i++) {
        double incumbent = 100 + i, candidate_ns = 90 + i;
        assert_ok(qdq_tune_store_pair_add(s, &t, i, &incumbent, &candidate_ns, &err));
    }
}

/* Interrupted after the third measurement, a run goes on with the fourth. */
TEST(an_unfinished_run_is_gone_on_with)
{
    const char *path = test_path("resume.db");
    qdq_tune_store *s = open_store(path);
    qdq_tune_store_run r;
    qdq_tune_store_trial t;
    double a, b;

    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &r, &err));
    assert_false(r.resumed);
    add_pairs(s, &r, "c1", 3);
    qdq_tune_store_close(s);

    s = open_store(path);
    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &r, &err));
    assert_true(r.resumed);
    assert_false(r.finished);
    assert_int_equal(r.n_samples, 3);
    assert_ok(
        qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "c1", 0}, &t, &err));
    assert_int_equal(t.n_pairs, 3);
    assert_ok(qdq_tune_store_pair_get(s, &t, 2, &a, &b, &err));
    assert_true(a == 102 && b == 92);
    assert_fails(QDQ_E_FORMAT, "missing", qdq_tune_store_pair_get(s, &t, 3, &a, &b, &err));
    assert_ok(
        /* a fresh measurement of the same */
        qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "c1", 1}, &t, &err));
    assert_int_equal(t.n_pairs, 0);
    qdq_tune_store_close(s);
}

TEST(restart_hands_out_nothing_from_before)
{
    qdq_tune_store *s = open_store(test_path("restart.db"));
    qdq_tune_store_run r, again, third;
    qdq_tune_store_trial t;

    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &r, &err));
    add_pairs(s, &r, "c1", 5);
    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", true, &again, &err));
    assert_false(again.resumed);
    assert_int_equal(again.n_samples, 0);
    assert_ok(
        qdq_tune_store_trial_get(s, &again, &(qdq_tune_store_models){"float", "c1", 0}, &t, &err));
    assert_int_equal(t.n_pairs, 0);
    /* goes on with the new one */
    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &third, &err));
    assert_true(third.resumed && third.id == again.id);
    qdq_tune_store_close(s);
}

/* A state from another model, precision or quant type is not taken, and it is said why. */
TEST(another_model_or_engine_is_explained)
{
    qdq_tune_store *s = open_store(test_path("other.db"));
    qdq_tune_store_context other = here;
    qdq_tune_store_run r;

    assert_ok(qdq_tune_store_begin(s, &here, "type=int8", false, &r, &err));
    assert_string_equal(r.other, "");
    other.model = "model2";
    assert_ok(qdq_tune_store_begin(s, &other, "type=int8", false, &r, &err));
    assert_false(r.resumed);
    assert_non_null(strstr(r.other, "another model (model1, not model2)"));
    other = here;
    other.engine = "sim 2";
    assert_ok(qdq_tune_store_begin(s, &other, "type=int8", false, &r, &err));
    assert_non_null(strstr(r.other, "another engine"));
    assert_ok(qdq_tune_store_begin(s, &here, "type=fp8", false, &r, &err));
    assert_non_null(strstr(r.other, "another setting of the search"));
    qdq_tune_store_close(s);
}

static const char *other_search(qdq_tune_store *s, const char *there, const char *search)
{
    static qdq_tune_store_run r;

    assert_ok(qdq_tune_store_begin(s, &here, there, true, &r, &err));
    assert_ok(qdq_tune_store_begin(s, &here, search, false, &r, &err));
    return r.other;
}

#define DIGEST_1 "0123456789abcdef0123456789abcdef"
#define DIGEST_2 "ffff456789abcdef0123456789abcdef"

TEST(a_difference_is_told_by_keys_and_not_by_digests)
{
    qdq_tune_store *s = open_store(test_path("words.db"));

    assert_string_equal(other_search(s, "mode=region plan=" DIGEST_1 " samples=20",
                                     "mode=region plan=" DIGEST_2 " samples=24"),
                        "another setting of the search (samples=20, not samples=24)");
    assert_string_equal(other_search(s, "plan=" DIGEST_1 " evaluation=same metric=a b",
                                     "plan=" DIGEST_1 " evaluation=" DIGEST_2 " metric=a c"),
                        "another setting of the search (metric=a b, not metric=a c), other "
                        "evaluation samples");
    assert_string_equal(other_search(s, "seed=1", "seed=2 exclude==conv"),
                        "another setting of the search (seed=1, not seed=2; no exclude, not "
                        "exclude==conv)");
    assert_string_equal(other_search(s, "seed=5 method=max", "seed=5"),
                        "another setting of the search (method=max, not none)");
    assert_string_equal(other_search(s, "mode=region preset=quick pairs=1",
                                     "mode=subgraph strategy=0/0 preset=default pairs=2"),
                        "another setting of the search (mode=region, not mode=subgraph; "
                        "preset=quick, not preset=default)");
    assert_string_equal(
        other_search(s, "plan=" DIGEST_1, "plan=" DIGEST_2),
        "another plan of the rules: other options of quantization, or another target");
    assert_string_equal(other_search(s, "calibration=random", "calibration=" DIGEST_2),
                        "other calibration samples");
    qdq_tune_store_close(s);
}

TEST(a_long_difference_ends_between_two_settings)
{
    qdq_tune_store *s = open_store(test_path("long.db"));
    char a[2000] = "", b[2000] = "";

    for (int i = 0; i < 20; i++) {
        snprintf(a + strlen(a), sizeof a - strlen(a), "%skey%d=%0200d", i > 0 ? " " : "", i, 1);
        snprintf(b + strlen(b), sizeof b - strlen(b), "%skey%d=%0200d", i > 0 ? " " : "", i, 2);
        if (strlen(a) > 1500)
            break;
    }
    const char *text = other_search(s, a, b);
    assert_true(strlen(text) < QDQ_TUNE_STORE_DIFFERENCE);
    assert_non_null(strstr(text, "key0="));
    assert_string_equal(text + strlen(text) - 6, "; ...)");
    qdq_tune_store_close(s);
}

TEST(runs_of_one_context_share_what_was_measured)
{
    qdq_tune_store *s = open_store(test_path("shared.db"));
    qdq_tune_store_run a, b;
    qdq_tune_store_trial t;
    char *value;

    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &a, &err));
    add_pairs(s, &a, "c1", 4);
    assert_ok(qdq_tune_store_value_put(s, &a, "scales", "{}", &err));
    assert_ok(qdq_tune_store_begin(s, &here, "seed=2", false, &b, &err));
    assert_ok(
        qdq_tune_store_trial_get(s, &b, &(qdq_tune_store_models){"float", "c1", 0}, &t, &err));
    assert_int_equal(t.n_pairs, 4);
    assert_ok(qdq_tune_store_value_get(s, &b, "scales", &value, &err));
    assert_string_equal(value, "{}");
    qdq_free(value);
    assert_ok(qdq_tune_store_value_get(s, &b, "nothing", &value, &err));
    assert_null(value);
    qdq_tune_store_close(s);
}

/* --- values by content ------------------------------------------------------------------------ */

/* What a run of that context knows of a group's content. */
static void expect_content(qdq_tune_store *s, const qdq_tune_store_context *c, const char *key,
                           const char *want)
{
    qdq_tune_store_run r;
    char *value;

    assert_ok(qdq_tune_store_begin(s, c, "seed=1", false, &r, &err));
    assert_ok(qdq_tune_store_content_get(s, &r, key, &value, &err));
    if (want == NULL)
        assert_null(value);
    else
        assert_string_equal(value, want);
    qdq_free(value);
}

/* A changed weight makes another model, whose groups are the same but for a value that is in no
 * key; a changed attribute is another key. What else times depend on drops them all. */
TEST(times_of_groups_outlive_a_change_of_the_model)
{
    qdq_tune_store *s = open_store(test_path("content.db"));
    qdq_tune_store_context other = here;
    qdq_tune_store_run r;
    char *value;

    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &r, &err));
    assert_ok(qdq_tune_store_content_put(s, &r, "conv", "first", &err));
    assert_ok(qdq_tune_store_content_put(s, &r, "conv", "{\"us\": 7}", &err));
    assert_ok(qdq_tune_store_value_put(s, &r, "profile", "of model1", &err));
    other.model = "model2";
    expect_content(s, &other, "conv", "{\"us\": 7}");
    expect_content(s, &other, "conv, strides 2", NULL);
    assert_ok(qdq_tune_store_begin(s, &other, "seed=1", false, &r, &err));
    assert_ok(qdq_tune_store_value_get(s, &r, "profile", &value, &err));
    assert_null(value); /* of a model it is not a value of groups */
    for (int i = 0; i < 4; i++) {
        other = here;
        *(i == 0   ? &other.engine
          : i == 1 ? &other.device
          : i == 2 ? &other.options
                   : &other.quant) = "another";
        expect_content(s, &other, "conv", NULL);
    }
    expect_content(s, &here, "conv", "{\"us\": 7}"); /* and back again */
    qdq_tune_store_close(s);
}

TEST(restart_hands_out_no_content_from_before)
{
    qdq_tune_store *s = open_store(test_path("restart_content.db"));
    qdq_tune_store_context other = here;
    qdq_tune_store_run r;

    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &r, &err));
    assert_ok(qdq_tune_store_content_put(s, &r, "conv", "old", &err));
    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", true, &r, &err));
    expect_content(s, &here, "conv", NULL); /* nor does a run that goes on with it */
    other.model = "model2";
    expect_content(s, &other, "conv", NULL);
    assert_ok(qdq_tune_store_content_put(s, &r, "conv", "new", &err));
    expect_content(s, &here, "conv", "new");
    expect_content(s, &other, "conv", "new");
    qdq_tune_store_close(s);
}

/* Written before there were values by content. */
TEST(an_older_store_is_gone_on_with)
{
    const char *path = test_path("older.db");
    qdq_tune_store *s = open_store(path);
    qdq_tune_store_run r;
    sqlite3 *db;

    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &r, &err));
    add_pairs(s, &r, "c1", 3);
    qdq_tune_store_close(s);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM context WHERE model = ''", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_changes(db), 1);
    sqlite3_close(db);
    s = open_store(path);
    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &r, &err));
    assert_true(r.resumed && r.n_samples == 3);
    assert_ok(qdq_tune_store_content_put(s, &r, "conv", "7", &err));
    expect_content(s, &here, "conv", "7");
    qdq_tune_store_close(s);
}

/* Two processes at the same trial: what the first one measured is what both go by. */
TEST(of_two_runs_at_once_the_first_sample_counts)
{
    const char *path = test_path("at_once.db");
    qdq_tune_store *s = open_store(path), *other = open_store(path);
    qdq_tune_store_run r, q;
    qdq_tune_store_trial t, u;
    double a = 100, b = 90, c = 200, d = 190;

    assert_ok(qdq_tune_store_begin(s, &here, "seed=1", false, &r, &err));
    assert_ok(qdq_tune_store_begin(other, &here, "seed=2", false, &q, &err));
    assert_ok(qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "c", 0}, &t, &err));
    assert_ok(
        qdq_tune_store_trial_get(other, &q, &(qdq_tune_store_models){"float", "c", 0}, &u, &err));
    assert_ok(qdq_tune_store_pair_add(s, &t, 0, &a, &b, &err));
    assert_ok(qdq_tune_store_pair_add(other, &u, 0, &c, &d, &err));
    assert_true(a == 100 && b == 90 && c == 100 && d == 90);
    qdq_tune_store_close(other);
    qdq_tune_store_close(s);
}

/* autotune --status of a folder on a disk that is mounted to be read */
TEST(a_store_is_read_where_nothing_can_be_written)
{
    const char *disk = test_small_disk(1 << 20), *name = "odd #1?%41.db";
    qdq_tune_store_found_run newest;
    qdq_tune_store_run r;
    char path[4300];
    qdq_tune_store *s;

    if (disk == NULL) {
        test_missing("a disk of its own");
        return;
    }
    snprintf(path, sizeof path, "%s/%s", disk, name);
    assert_fails(QDQ_E_IO, "open", qdq_tune_store_open_to_read(path, &s, &err));
    assert_int_equal(test_count_files(disk), 0);
    s = open_store(path);
    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    qdq_tune_store_close(s);
    assert_int_equal(test_count_files(disk), 1);
    assert_true(test_disk_read_only(true));
    assert_fails(QDQ_E_IO, "", qdq_tune_store_open(path, &s, &err));
    assert_ok(qdq_tune_store_open_to_read(path, &s, &err));
    assert_ok(qdq_tune_store_find(s, r.id, &newest, &err));
    assert_true(newest.found && newest.pid == getpid());
    assert_ok(qdq_tune_store_find(s, r.id + 1, &newest, &err));
    assert_false(newest.found);
    qdq_tune_store_close(s);
    assert_true(test_disk_read_only(false));
}

TEST(failures_and_verdicts_are_kept)
{
    qdq_tune_store *s = open_store(test_path("verdicts.db"));
    qdq_tune_store_run r;
    qdq_tune_store_trial t;
    qdq_tune_store_found_run newest;

    assert_ok(qdq_tune_store_find(s, 0, &newest, &err));
    assert_false(newest.found);
    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    assert_ok(
        qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "bad", 0}, &t, &err));
    assert_ok(qdq_tune_store_trial_fail(s, &t, "crashed: SIGILL", &err));
    assert_ok(
        qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "bad", 0}, &t, &err));
    assert_true(t.failed);
    assert_string_equal(t.why, "crashed: SIGILL");
    assert_ok(qdq_tune_store_trial_verdict(
        s, &t, &(qdq_test_result){.verdict = QDQ_VERDICT_REJECT, .gain = -0.1, .ci_low = -0.2},
        &err));
    /* a run that goes on tries again what failed */
    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    assert_true(r.resumed);
    assert_ok(
        qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "bad", 0}, &t, &err));
    assert_false(t.failed);
    assert_ok(qdq_tune_store_find(s, 0, &newest, &err));
    assert_true(newest.found && !newest.finished && newest.report == NULL &&
                newest.pid == getpid());
    assert_ok(qdq_tune_store_finish(s, &r, "{\"verdict\": \"float\"}", &err));
    assert_ok(qdq_tune_store_find(s, 0, &newest, &err));
    assert_true(newest.finished);
    assert_string_equal(newest.report, "{\"verdict\": \"float\"}");
    qdq_free(newest.report);
    qdq_tune_store_close(s);
}

typedef struct recorded_lines {
    int n;
    double last;
    char kinds[100];
} recorded_lines;

static qdq_status record_line(void *ctx, double time, const char *kind, const char *json,
                              qdq_error *e)
{
    recorded_lines *h = ctx;

    (void)e;
    assert_true(time >= h->last);
    assert_string_equal(json, "{}");
    h->last = time;
    h->n++;
    strcat(h->kinds, kind);
    return h->n < 3 ? QDQ_OK : QDQ_E_INTERRUPTED;
}

TEST(events_come_in_their_order)
{
    qdq_tune_store *s = open_store(test_path("events.db"));
    qdq_tune_store_run r;
    recorded_lines h = {0};

    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    assert_ok(qdq_tune_store_event(s, &r, "a", "{}", &err));
    assert_ok(qdq_tune_store_event(s, &r, "b", "{}", &err));
    assert_ok(qdq_tune_store_events(s, r.id, record_line, &h, &err));
    assert_string_equal(h.kinds, "ab");
    assert_ok(qdq_tune_store_event(s, &r, "c", "{}", &err));
    h = (recorded_lines){0};
    assert_int_equal(qdq_tune_store_events(s, r.id, record_line, &h, &err), QDQ_E_INTERRUPTED);
    qdq_tune_store_close(s);
}

/* A process that writes samples until it is killed; each that it reported is there. */
TEST(a_kill_loses_no_sample_that_was_reported)
{
    const char *path = test_path("kill.db");

    qdq_tune_store_close(open_store(path));
    for (int round = 0; round < 10; round++) {
        int fd[2];
        unsigned reported = 0, n;
        qdq_tune_store_run r;
        qdq_tune_store_trial t;

        assert_int_equal(pipe(fd), 0);
        pid_t child = fork();
        if (child == 0) {
            qdq_tune_store *s;
            if (qdq_tune_store_open(path, &s, NULL) != QDQ_OK ||
                qdq_tune_store_begin(s, &here, "", false, &r, NULL) != QDQ_OK ||
                qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "c", 0}, &t,
                                         NULL) != QDQ_OK)
                _exit(1);
            double a, b;
            for (n = t.n_pairs; a = n + 1, b = n + 2, true; n++)
                if (qdq_tune_store_pair_add(s, &t, n, &a, &b, NULL) != QDQ_OK ||
                    write(fd[1], &n, sizeof n) != sizeof n)
                    _exit(1);
        }
        close(fd[1]);
        for (int i = 0; i < 5 + 7 * round && read(fd[0], &n, sizeof n) == sizeof n; i++)
            reported = n + 1;
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        while (read(fd[0], &n, sizeof n) == sizeof n)
            reported = n + 1;
        close(fd[0]);

        qdq_tune_store *s = open_store(path);
        double a, b;
        assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
        assert_ok(
            qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "c", 0}, &t, &err));
        assert_true(reported > 0 && t.n_pairs >= reported && t.n_pairs <= reported + 1);
        assert_ok(qdq_tune_store_pair_get(s, &t, reported - 1, &a, &b, &err));
        assert_true(a == reported && b == reported + 1);
        qdq_tune_store_close(s);
    }
}

static void write_file(const char *path, const char *mode, const char *text)
{
    FILE *f = fopen(path, mode);

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

TEST(a_torn_wal_is_recovered)
{
    const char *path = test_path("torn.db"), *wal = test_path("torn.db-wal");
    qdq_tune_store *s = open_store(path);
    qdq_tune_store_run r;
    struct stat st;

    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    add_pairs(s, &r, "c", 20);
    assert_int_equal(stat(wal, &st), 0);
    char *copy = strdup(test_path("torn2.db"));
    char command[1000];
    snprintf(command, sizeof command, "cp %s %s && cp %s %s-wal && truncate -s -1000 %s-wal", path,
             copy, wal, copy, copy);
    assert_int_equal(system(command), 0);
    qdq_tune_store_close(s);
    s = open_store(copy);
    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    assert_true(r.resumed);
    assert_true(r.n_samples >= 18 && r.n_samples < 20);
    qdq_tune_store_close(s);
    free(copy);
}

TEST(a_newer_store_is_refused_with_both_versions)
{
    const char *path = test_path("newer.db");
    sqlite3 *db;
    qdq_tune_store *s;

    qdq_tune_store_close(open_store(path));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 7", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_fails(QDQ_E_FORMAT, "a store of version 7: this qdq reads version 1",
                 qdq_tune_store_open(path, &s, &err));
    assert_null(s);
}

TEST(what_is_no_store_is_refused)
{
    const char *text = test_path("text.db"), *other = test_path("other_program.db");
    sqlite3 *db;
    qdq_tune_store *s;

    write_file(
        text, "w",
        "this is not a database, although it is long enough to be mistaken for one by its name\n");
    assert_fails(QDQ_E_FORMAT, "expected a store", qdq_tune_store_open(text, &s, &err));
    assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_fails(QDQ_E_FORMAT, "another program", qdq_tune_store_open(other, &s, &err));
    assert_fails(QDQ_E_IO, "open", qdq_tune_store_open(test_path("no/such/folder.db"), &s, &err));
    assert_fails(QDQ_E_IO, "open", qdq_tune_store_open(test_dir(), &s, &err));
}

TEST(a_locked_store_is_an_error_after_a_while)
{
    const char *path = test_path("locked.db");
    qdq_tune_store *s = open_store(path);
    qdq_tune_store_run r;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    assert_fails(QDQ_E_IO, "another process has held the store",
                 qdq_tune_store_begin(s, &here, "", false, &r, &err));
    sqlite3_close(db);
    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    qdq_tune_store_close(s);
}

TEST(a_full_disk_is_an_error_and_loses_nothing)
{
    const char *path = test_path("full.db");
    qdq_tune_store *s = open_store(path);
    qdq_tune_store_run r;
    qdq_tune_store_trial t;
    qdq_status st = QDQ_OK;
    unsigned n = 0;
    double a = 1, b = 1;

    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    assert_ok(qdq_tune_store_trial_get(s, &r, &(qdq_tune_store_models){"float", "c", 0}, &t, &err));
    test_limit_files(1 << 18);
    for (; st == QDQ_OK && n < 100000; n++)
        st = qdq_tune_store_pair_add(s, &t, n, &a, &b, &err);
    test_limit_files(SIZE_MAX);
    assert_int_equal(st, QDQ_E_IO);
    qdq_tune_store_close(s);
    s = open_store(path);
    assert_ok(qdq_tune_store_begin(s, &here, "", false, &r, &err));
    assert_int_equal(r.n_samples, n - 1);
    qdq_tune_store_close(s);
}
