/* store.c - see the header. One connection; every call is one transaction, so that what a call returned from is there
 * after a kill. */
#include "tune/store/store.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"

enum { BUSY_MS = 5000, APPLICATION_ID = 0x71647174 /* "qdqt": what file(1) and others see */ };

struct qdq_tune_store {
    sqlite3 *db;
    char *path;
};

static const char schema[] =
    "CREATE TABLE context (id INTEGER PRIMARY KEY, model TEXT NOT NULL, engine TEXT NOT NULL, device TEXT "
    "NOT NULL,"
    " options TEXT NOT NULL, UNIQUE (model, engine, device, options));"
    "CREATE TABLE run (id INTEGER PRIMARY KEY, context INTEGER NOT NULL REFERENCES context, search TEXT NOT "
    "NULL,"
    " since INTEGER NOT NULL, started REAL NOT NULL, seen REAL NOT NULL, pid INTEGER NOT NULL, finished "
    "INTEGER NOT NULL DEFAULT 0,"
    " report TEXT);"
    "CREATE TABLE trial (id INTEGER PRIMARY KEY, context INTEGER NOT NULL REFERENCES context,"
    " since INTEGER NOT NULL, incumbent TEXT NOT NULL, candidate TEXT NOT NULL, nth INTEGER NOT NULL,"
    " failed TEXT, verdict TEXT, gain REAL, low REAL, high REAL,"
    " UNIQUE (context, since, incumbent, candidate, nth));"
    "CREATE TABLE pair (trial INTEGER NOT NULL REFERENCES trial, number INTEGER NOT NULL, incumbent_ns REAL "
    "NOT NULL,"
    " candidate_ns REAL NOT NULL, PRIMARY KEY (trial, number)) WITHOUT ROWID;"
    "CREATE TABLE value (context INTEGER NOT NULL REFERENCES context, since INTEGER NOT NULL, key TEXT NOT "
    "NULL,"
    " value TEXT NOT NULL, PRIMARY KEY (context, since, key)) WITHOUT ROWID;"
    "CREATE TABLE event (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run, time REAL NOT NULL,"
    " kind TEXT NOT NULL, json TEXT NOT NULL);"
    "CREATE INDEX event_of_run ON event (run);";

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- statements ------------------------------------------------------------------------------------------------------- */

static qdq_status fail(const qdq_tune_store *s, int rc, const char *what, qdq_error *err)
{
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return qdq_nomem(err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return qdq_fail(err, QDQ_E_IO, "%s: %s: another process has held the store for more than %d s",
                        s->path, what, BUSY_MS / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return qdq_fail(err, QDQ_E_FORMAT, "%s: %s: %s: expected a store of qdq autotune", s->path, what,
                        sqlite3_errmsg(s->db));
    default:
        return qdq_fail(err, QDQ_E_IO, "%s: %s: %s", s->path, what,
                        s->db != NULL ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
    }
}

static qdq_status execute(qdq_tune_store *s, const char *sql, const char *what, qdq_error *err)
{
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? QDQ_OK : fail(s, rc, what, err);
}

typedef struct statement {
    qdq_tune_store *store;
    sqlite3_stmt *at;
    const char *what;
    int bound, rc;
} statement;

/* Errors of binding show in step(). */
static statement prepare(qdq_tune_store *s, const char *sql, const char *what)
{
    statement st = {.store = s, .what = what};

    st.rc = sqlite3_prepare_v2(s->db, sql, -1, &st.at, NULL);
    return st;
}

static void note(statement *st, int rc)
{
    if (st->rc == SQLITE_OK)
        st->rc = rc;
}

static void bind_int(statement *st, int64_t x)
{
    if (st->rc == SQLITE_OK)
        note(st, sqlite3_bind_int64(st->at, ++st->bound, x));
}

static void bind_real(statement *st, double x)
{
    if (st->rc == SQLITE_OK)
        note(st, sqlite3_bind_double(st->at, ++st->bound, x));
}

static void bind_text(statement *st, const char *x)
{
    if (st->rc == SQLITE_OK)
        note(st, sqlite3_bind_text(st->at, ++st->bound, x, -1, SQLITE_STATIC));
}

/* The next row, if there is one. */
static qdq_status step(statement *st, bool *row, qdq_error *err)
{
    *row = false;
    if (st->rc == SQLITE_OK) {
        int rc = sqlite3_step(st->at);
        if (rc == SQLITE_ROW)
            *row = true;
        else if (rc != SQLITE_DONE)
            st->rc = rc;
    }
    return st->rc == SQLITE_OK ? QDQ_OK : fail(st->store, st->rc, st->what, err);
}

static void end(statement *st)
{
    sqlite3_finalize(st->at);
    st->at = NULL;
}

/* For a statement that gives no rows. */
static qdq_status run(statement *st, qdq_error *err)
{
    bool ignored;
    qdq_status status = step(st, &ignored, err);

    end(st);
    return status;
}

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *out = malloc(size);

    return out != NULL ? memcpy(out, text, size) : NULL;
}

/* A copy of a text column: NULL for NULL. */
static qdq_status copy_text(const statement *st, int column, char **out, qdq_error *err)
{
    const char *text = (const char *)sqlite3_column_text(st->at, column);

    *out = NULL;
    if (text == NULL)
        return QDQ_OK;
    *out = copy(text);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}

/* --- open ------------------------------------------------------------------------------------------------------------- */

static qdq_status pragma_int(qdq_tune_store *s, const char *sql, int64_t *out, qdq_error *err)
{
    statement st = prepare(s, sql, "open");
    bool row;
    qdq_status status = step(&st, &row, err);

    *out = status == QDQ_OK && row ? sqlite3_column_int64(st.at, 0) : 0;
    end(&st);
    return status;
}

static qdq_status create(qdq_tune_store *s, qdq_error *err)
{
    char head[100];

    snprintf(head, sizeof head, "PRAGMA application_id = %d; PRAGMA user_version = %d;", APPLICATION_ID,
             QDQ_TUNE_STORE_VERSION);
    QDQ_TRY(execute(s, schema, "create", err));
    return execute(s, head, "create", err);
}

/* Is it a store that we read? *empty: there is nothing in it yet. */
static qdq_status check(qdq_tune_store *s, bool *empty, qdq_error *err)
{
    int64_t id, version, tables;

    QDQ_TRY(pragma_int(s, "PRAGMA application_id", &id, err));
    QDQ_TRY(pragma_int(s, "PRAGMA user_version", &version, err));
    QDQ_TRY(pragma_int(s, "SELECT count(*) FROM sqlite_master", &tables, err));
    *empty = tables == 0 && id == 0;
    if (*empty)
        return QDQ_OK;
    if (id != APPLICATION_ID)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%s: an SQLite database of another program: expected a store of qdq autotune",
                        s->path);
    if (version != QDQ_TUNE_STORE_VERSION)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: a store of version %lld: this qdq reads version %d", s->path,
                        (long long)version, QDQ_TUNE_STORE_VERSION);
    return QDQ_OK;
}

/* Two processes may come at once: one of them makes the tables. */
static qdq_status create_or_check(qdq_tune_store *s, qdq_error *err)
{
    bool empty;

    QDQ_TRY(execute(s, "BEGIN IMMEDIATE", "open", err));
    qdq_status st = check(s, &empty, err);
    if (st == QDQ_OK && empty)
        st = create(s, err);
    if (st == QDQ_OK)
        return execute(s, "COMMIT", "open", err);
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

static qdq_status open_file(qdq_tune_store *s, qdq_error *err)
{
    int rc = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

    if (rc != SQLITE_OK)
        return fail(s, rc, "open", err);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    /* A sample must survive the kill of this process, not of the machine's power: no sync for each. */
    QDQ_TRY(execute(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
                    "open", err));
    return create_or_check(s, err);
}

/* For a folder that cannot be written to. SQLite reads a WAL only with a file beside it that it may write, and what is
 * immutable it reads without one: right where no WAL has been left. */
static int open_immutable(qdq_tune_store *s)
{
    const size_t room = sizeof "file:?immutable=1" + 3 * strlen(s->path);
    char *uri = malloc(room), *to = uri;

    if (uri == NULL)
        return SQLITE_NOMEM;
    to += snprintf(to, room, "file:");
    for (const char *c = s->path; *c != '\0'; c++)
        to += isalnum((unsigned char)*c) || strchr("/-._~", *c) != NULL
                  ? snprintf(to, 2, "%c", *c)
                  : snprintf(to, 4, "%%%02X", (unsigned char)*c);
    snprintf(to, sizeof "?immutable=1", "?immutable=1");
    sqlite3_close(s->db);
    s->db = NULL;
    int rc = sqlite3_open_v2(uri, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    free(uri);
    return rc;
}

static bool has_wal(const qdq_tune_store *s)
{
    const size_t room = strlen(s->path) + sizeof "-wal";
    char *wal = malloc(room);
    struct stat st;

    if (wal == NULL)
        return true;
    snprintf(wal, room, "%s-wal", s->path);
    bool has = stat(wal, &st) == 0 && st.st_size > 0;
    free(wal);
    return has;
}

static qdq_status open_to_read(qdq_tune_store *s, qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;
    bool empty;
    int rc = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE, NULL);

    if (rc != SQLITE_OK)
        return fail(s, rc, "open", err);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    qdq_status st = check(s, &empty, &why);
    if (st == QDQ_E_IO && !has_wal(s)) {
        rc = open_immutable(s);
        st = rc != SQLITE_OK ? fail(s, rc, "open", &why) : check(s, &empty, &why);
    }
    if (st == QDQ_OK && empty)
        st = qdq_fail(&why, QDQ_E_FORMAT, "%s: no run has begun in it", s->path);
    if (st != QDQ_OK && err != NULL)
        *err = why;
    return st;
}

static qdq_status open_by(const char *path, qdq_status (*how)(qdq_tune_store *, qdq_error *),
                          qdq_tune_store **out, qdq_error *err)
{
    qdq_tune_store *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return qdq_nomem(err);
    s->path = copy(path);
    qdq_status st = s->path != NULL ? how(s, err) : qdq_nomem(err);
    if (st != QDQ_OK) {
        qdq_tune_store_close(s);
        return st;
    }
    *out = s;
    return QDQ_OK;
}

qdq_status qdq_tune_store_open(const char *path, qdq_tune_store **out, qdq_error *err)
{
    return open_by(path, open_file, out, err);
}

qdq_status qdq_tune_store_open_to_read(const char *path, qdq_tune_store **out, qdq_error *err)
{
    return open_by(path, open_to_read, out, err);
}

void qdq_tune_store_close(qdq_tune_store *s)
{
    if (s == NULL)
        return;
    sqlite3_close(s->db);
    free(s->path);
    free(s);
}

/* --- runs ------------------------------------------------------------------------------------------------------------- */

static qdq_status context_id(qdq_tune_store *s, const qdq_tune_store_context *c, int64_t *id, qdq_error *err)
{
    statement put = prepare(
        s, "INSERT OR IGNORE INTO context (model, engine, device, options) VALUES (?, ?, ?, ?)", "context");
    bool row = false;

    bind_text(&put, c->model);
    bind_text(&put, c->engine);
    bind_text(&put, c->device);
    bind_text(&put, c->options);
    QDQ_TRY(run(&put, err));
    statement get = prepare(
        s, "SELECT id FROM context WHERE model = ? AND engine = ? AND device = ? AND options = ?", "context");
    bind_text(&get, c->model);
    bind_text(&get, c->engine);
    bind_text(&get, c->device);
    bind_text(&get, c->options);
    qdq_status st = step(&get, &row, err);
    if (st == QDQ_OK)
        *id = row ? sqlite3_column_int64(get.at, 0) : 0;
    end(&get);
    return st;
}

static void say_difference(char *out, size_t room, const char *what, const char *there, const char *here)
{
    size_t used = strlen(out);

    if (there != NULL && strcmp(there, here) != 0 && used < room)
        snprintf(out + used, room - used, "%sanother %s (%.60s, not %.60s)", used > 0 ? ", " : "", what,
                 there, here);
}

/* In what the newest run of the store differs from what is wanted. */
static qdq_status explain(qdq_tune_store *s, const qdq_tune_store_context *c, const char *search,
                          qdq_tune_store_run *out, qdq_error *err)
{
    statement st =
        prepare(s,
                "SELECT model, engine, device, options, search FROM run JOIN context ON context.id = "
                "run.context ORDER BY run.id DESC LIMIT 1",
                "runs");
    const char *const what[] = {"model", "engine", "device", "setting of measurements",
                                "setting of the search"};
    const char *const mine[] = {c->model, c->engine, c->device, c->options, search};
    bool row = false;
    qdq_status status = step(&st, &row, err);

    for (int i = 0; status == QDQ_OK && row && i < 5; i++)
        say_difference(out->other, sizeof out->other, what[i], (const char *)sqlite3_column_text(st.at, i),
                       mine[i]);
    end(&st);
    return status;
}

static qdq_status find_run(qdq_tune_store *s, int64_t context, const char *search, qdq_tune_store_run *out,
                           qdq_error *err)
{
    statement st = prepare(
        s, "SELECT id, finished, since FROM run WHERE context = ? AND search = ? ORDER BY id DESC LIMIT 1",
        "runs");
    bool row = false;

    bind_int(&st, context);
    bind_text(&st, search);
    qdq_status status = step(&st, &row, err);
    if (status == QDQ_OK && row) {
        out->id = sqlite3_column_int64(st.at, 0);
        out->finished = sqlite3_column_int(st.at, 1) != 0;
        out->since = sqlite3_column_int64(st.at, 2);
        out->resumed = true;
    }
    end(&st);
    return status;
}

static qdq_status count_samples(qdq_tune_store *s, qdq_tune_store_run *out, qdq_error *err)
{
    statement st =
        prepare(s,
                "SELECT count(*) FROM pair JOIN trial ON trial.id = pair.trial WHERE trial.context = ? AND "
                "trial.since = ?",
                "samples");
    bool row = false;

    bind_int(&st, out->context);
    bind_int(&st, out->since);
    qdq_status status = step(&st, &row, err);
    if (status == QDQ_OK && row)
        out->n_samples = (uint64_t)sqlite3_column_int64(st.at, 0);
    end(&st);
    return status;
}

/* Samples belong to a context and to a beginning: --restart begins anew, and nothing from before is handed out. */
static qdq_status latest_beginning(qdq_tune_store *s, qdq_tune_store_run *out, qdq_error *err)
{
    statement st = prepare(s, "SELECT max(since) FROM run WHERE context = ?", "runs");
    bool row = false;

    bind_int(&st, out->context);
    qdq_status status = step(&st, &row, err);
    if (status == QDQ_OK && row)
        out->since = sqlite3_column_int64(st.at, 0);
    end(&st);
    return status;
}

static qdq_status new_run(qdq_tune_store *s, const char *search, bool restart, qdq_tune_store_run *out,
                          qdq_error *err)
{
    QDQ_TRY(latest_beginning(s, out, err));
    out->since += restart;
    statement st = prepare(
        s, "INSERT INTO run (context, search, started, seen, pid, since) VALUES (?, ?, ?, ?, ?, ?)", "run");
    bind_int(&st, out->context);
    bind_text(&st, search);
    bind_real(&st, now());
    bind_real(&st, now());
    bind_int(&st, (int64_t)getpid());
    bind_int(&st, out->since);
    QDQ_TRY(run(&st, err));
    out->id = sqlite3_last_insert_rowid(s->db);
    return QDQ_OK;
}

/* A failure may have been one of the moment: it is tried again. What happened is told anew, for all of it is asked
 * again. */
static qdq_status take_over(qdq_tune_store *s, const qdq_tune_store_run *r, qdq_error *err)
{
    statement st = prepare(s, "UPDATE run SET seen = ?, pid = ?, finished = 0 WHERE id = ?", "run");

    bind_real(&st, now());
    bind_int(&st, (int64_t)getpid());
    bind_int(&st, r->id);
    QDQ_TRY(run(&st, err));
    statement retry = prepare(s, "UPDATE trial SET failed = NULL WHERE context = ? AND since = ?", "run");
    bind_int(&retry, r->context);
    bind_int(&retry, r->since);
    QDQ_TRY(run(&retry, err));
    statement forget = prepare(s, "DELETE FROM event WHERE run = ?", "run");
    bind_int(&forget, r->id);
    return run(&forget, err);
}

static qdq_status begin(qdq_tune_store *s, const qdq_tune_store_context *c, const char *search, bool restart,
                        qdq_tune_store_run *out, qdq_error *err)
{
    QDQ_TRY(context_id(s, c, &out->context, err));
    if (!restart)
        QDQ_TRY(find_run(s, out->context, search, out, err));
    if (!out->resumed) {
        if (!restart)
            QDQ_TRY(explain(s, c, search, out, err));
        QDQ_TRY(new_run(s, search, restart, out, err));
    } else
        QDQ_TRY(take_over(s, out, err));
    return count_samples(s, out, err);
}

qdq_status qdq_tune_store_begin(qdq_tune_store *s, const qdq_tune_store_context *c, const char *search,
                                bool restart, qdq_tune_store_run *out, qdq_error *err)
{
    *out = (qdq_tune_store_run){0};
    QDQ_TRY(execute(s, "BEGIN IMMEDIATE", "begin", err));
    qdq_status st = begin(s, c, search, restart, out, err);
    if (st == QDQ_OK)
        st = execute(s, "COMMIT", "begin", err);
    if (st != QDQ_OK)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

qdq_status qdq_tune_store_finish(qdq_tune_store *s, const qdq_tune_store_run *r, const char *report_json,
                                 qdq_error *err)
{
    statement st = prepare(s, "UPDATE run SET finished = 1, seen = ?, report = ? WHERE id = ?", "finish");

    bind_real(&st, now());
    bind_text(&st, report_json);
    bind_int(&st, r->id);
    return run(&st, err);
}

/* --- trials ----------------------------------------------------------------------------------------------------------- */

static qdq_status read_trial(qdq_tune_store *s, const qdq_tune_store_run *r, const char *incumbent,
                             const char *candidate, unsigned nth, qdq_tune_store_trial *out, qdq_error *err)
{
    statement st =
        prepare(s,
                "SELECT id, failed, (SELECT count(*) FROM pair WHERE trial = trial.id) FROM trial WHERE "
                "context = ? AND since = ? AND incumbent = ? AND candidate = ? AND nth = ?",
                "trial");
    bool row = false;

    bind_int(&st, r->context);
    bind_int(&st, r->since);
    bind_text(&st, incumbent);
    bind_text(&st, candidate);
    bind_int(&st, nth);
    qdq_status status = step(&st, &row, err);
    if (status == QDQ_OK && row) {
        const char *why = (const char *)sqlite3_column_text(st.at, 1);
        out->id = sqlite3_column_int64(st.at, 0);
        out->failed = why != NULL;
        snprintf(out->why, sizeof out->why, "%s", why != NULL ? why : "");
        out->n_pairs = (unsigned)sqlite3_column_int64(st.at, 2);
    }
    end(&st);
    return status;
}

qdq_status qdq_tune_store_trial_get(qdq_tune_store *s, const qdq_tune_store_run *r, const char *incumbent,
                                    const char *candidate, unsigned nth, qdq_tune_store_trial *out,
                                    qdq_error *err)
{
    *out = (qdq_tune_store_trial){0};
    statement st = prepare(
        s, "INSERT OR IGNORE INTO trial (context, since, incumbent, candidate, nth) VALUES (?, ?, ?, ?, ?)",
        "trial");
    bind_int(&st, r->context);
    bind_int(&st, r->since);
    bind_text(&st, incumbent);
    bind_text(&st, candidate);
    bind_int(&st, nth);
    QDQ_TRY(run(&st, err));
    return read_trial(s, r, incumbent, candidate, nth, out, err);
}

static bool is_time(double ns)
{
    return isfinite(ns) && ns > 0;
}

qdq_status qdq_tune_store_pair_get(qdq_tune_store *s, const qdq_tune_store_trial *t, unsigned pair,
                                   double *incumbent_ns, double *candidate_ns, qdq_error *err)
{
    statement st =
        prepare(s, "SELECT incumbent_ns, candidate_ns FROM pair WHERE trial = ? AND number = ?", "sample");
    bool row = false;

    bind_int(&st, t->id);
    bind_int(&st, pair);
    qdq_status status = step(&st, &row, err);
    if (status == QDQ_OK && !row)
        status = qdq_fail(err, QDQ_E_FORMAT, "%s: sample %u of trial %lld is missing", s->path, pair,
                          (long long)t->id);
    if (status == QDQ_OK) {
        *incumbent_ns = sqlite3_column_double(st.at, 0);
        *candidate_ns = sqlite3_column_double(st.at, 1);
    }
    end(&st);
    if (status == QDQ_OK && !(is_time(*incumbent_ns) && is_time(*candidate_ns)))
        status = qdq_fail(err, QDQ_E_FORMAT,
                          "%s: sample %u of trial %lld: found times of %g and %g ns, expected more than 0",
                          s->path, pair, (long long)t->id, *incumbent_ns, *candidate_ns);
    return status;
}

qdq_status qdq_tune_store_pair_add(qdq_tune_store *s, const qdq_tune_store_trial *t, unsigned pair,
                                   double *incumbent_ns, double *candidate_ns, qdq_error *err)
{
    statement st = prepare(
        s, "INSERT OR IGNORE INTO pair (trial, number, incumbent_ns, candidate_ns) VALUES (?, ?, ?, ?)",
        "sample");

    bind_int(&st, t->id);
    bind_int(&st, pair);
    bind_real(&st, *incumbent_ns);
    bind_real(&st, *candidate_ns);
    QDQ_TRY(run(&st, err));
    return sqlite3_changes(s->db) > 0 ? QDQ_OK
                                      : qdq_tune_store_pair_get(s, t, pair, incumbent_ns, candidate_ns, err);
}

qdq_status qdq_tune_store_trial_fail(qdq_tune_store *s, const qdq_tune_store_trial *t, const char *why,
                                     qdq_error *err)
{
    statement st = prepare(s, "UPDATE trial SET failed = ? WHERE id = ?", "trial");

    bind_text(&st, why);
    bind_int(&st, t->id);
    return run(&st, err);
}

qdq_status qdq_tune_store_trial_verdict(qdq_tune_store *s, const qdq_tune_store_trial *t, const char *verdict,
                                        double gain, double low, double high, qdq_error *err)
{
    statement st =
        prepare(s, "UPDATE trial SET verdict = ?, gain = ?, low = ?, high = ? WHERE id = ?", "verdict");

    bind_text(&st, verdict);
    bind_real(&st, gain);
    bind_real(&st, low);
    bind_real(&st, high);
    bind_int(&st, t->id);
    return run(&st, err);
}

/* --- values and events ------------------------------------------------------------------------------------------------ */

qdq_status qdq_tune_store_value_get(qdq_tune_store *s, const qdq_tune_store_run *r, const char *key,
                                    char **value, qdq_error *err)
{
    statement st = prepare(s, "SELECT value FROM value WHERE context = ? AND since = ? AND key = ?", "value");
    bool row = false;

    *value = NULL;
    bind_int(&st, r->context);
    bind_int(&st, r->since);
    bind_text(&st, key);
    qdq_status status = step(&st, &row, err);
    if (status == QDQ_OK && row)
        status = copy_text(&st, 0, value, err);
    end(&st);
    return status;
}

qdq_status qdq_tune_store_value_put(qdq_tune_store *s, const qdq_tune_store_run *r, const char *key,
                                    const char *value, qdq_error *err)
{
    statement st =
        prepare(s, "INSERT OR REPLACE INTO value (context, since, key, value) VALUES (?, ?, ?, ?)", "value");

    bind_int(&st, r->context);
    bind_int(&st, r->since);
    bind_text(&st, key);
    bind_text(&st, value);
    return run(&st, err);
}

qdq_status qdq_tune_store_event(qdq_tune_store *s, const qdq_tune_store_run *r, const char *kind,
                                const char *json, qdq_error *err)
{
    statement st = prepare(s, "INSERT INTO event (run, time, kind, json) VALUES (?, ?, ?, ?)", "event");

    bind_int(&st, r->id);
    bind_real(&st, now());
    bind_text(&st, kind);
    bind_text(&st, json);
    return run(&st, err);
}

qdq_status qdq_tune_store_events(qdq_tune_store *s, int64_t run_id, qdq_tune_store_event_fn fn, void *ctx,
                                 qdq_error *err)
{
    statement st = prepare(s, "SELECT time, kind, json FROM event WHERE run = ? ORDER BY id", "events");
    bool row = false;

    bind_int(&st, run_id);
    qdq_status status = step(&st, &row, err);
    while (status == QDQ_OK && row) {
        status = fn(ctx, sqlite3_column_double(st.at, 0), (const char *)sqlite3_column_text(st.at, 1),
                    (const char *)sqlite3_column_text(st.at, 2), err);
        if (status == QDQ_OK)
            status = step(&st, &row, err);
    }
    end(&st);
    return status;
}

qdq_status qdq_tune_store_find(qdq_tune_store *s, int64_t run_id, qdq_tune_store_found_run *out,
                               qdq_error *err)
{
    statement st = prepare(
        s, "SELECT id, finished, pid, report FROM run WHERE id = ?1 OR ?1 = 0 ORDER BY id DESC LIMIT 1",
        "runs");
    bool row = false;

    *out = (qdq_tune_store_found_run){0};
    bind_int(&st, run_id);
    qdq_status status = step(&st, &row, err);
    if (status == QDQ_OK && row) {
        out->id = sqlite3_column_int64(st.at, 0);
        out->found = true;
        out->finished = sqlite3_column_int(st.at, 1) != 0;
        out->pid = sqlite3_column_int64(st.at, 2);
        status = copy_text(&st, 3, &out->report, err);
    }
    end(&st);
    return status;
}

qdq_status qdq_tune_store_count(qdq_tune_store *s, uint64_t *n, qdq_error *err)
{
    int64_t count;

    QDQ_TRY(pragma_int(s, "SELECT count(*) FROM pair", &count, err));
    *n = (uint64_t)count;
    return QDQ_OK;
}
