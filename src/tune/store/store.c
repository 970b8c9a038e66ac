/* store.c - runs and trials in tune.db. One connection; every call is one transaction, so that what
 * a call returned from is there after a kill. */
#include "tune/store/store_sql.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"

enum { APPLICATION_ID = 0x71647174 /* "qdqt": what file(1) and others see */ };

static const char schema[] =
    "CREATE TABLE context (id INTEGER PRIMARY KEY, model TEXT NOT NULL, engine TEXT NOT NULL, "
    "device TEXT NOT NULL, options TEXT NOT NULL, UNIQUE (model, engine, device, options));CREATE "
    "TABLE run (id INTEGER PRIMARY KEY, context INTEGER NOT NULL REFERENCES context, search TEXT "
    "NOT NULL, since INTEGER NOT NULL, started REAL NOT NULL, seen REAL NOT NULL, pid INTEGER NOT "
    "NULL, finished INTEGER NOT NULL DEFAULT 0, report TEXT);CREATE TABLE trial (id INTEGER "
    "PRIMARY KEY, context INTEGER NOT NULL REFERENCES context, since INTEGER NOT NULL, incumbent "
    "TEXT NOT NULL, candidate TEXT NOT NULL, nth INTEGER NOT NULL, failed TEXT, verdict TEXT, gain "
    "REAL, low REAL, high REAL, UNIQUE (context, since, incumbent, candidate, nth));CREATE TABLE "
    "pair (trial INTEGER NOT NULL REFERENCES trial, number INTEGER NOT NULL, incumbent_ns REAL NOT "
    "NULL, candidate_ns REAL NOT NULL, PRIMARY KEY (trial, number)) WITHOUT ROWID;CREATE TABLE "
    "value (context INTEGER NOT NULL REFERENCES context, since INTEGER NOT NULL, key TEXT NOT "
    "NULL, value TEXT NOT NULL, PRIMARY KEY (context, since, key)) WITHOUT ROWID;CREATE TABLE "
    "event (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run, time REAL NOT NULL, kind "
    "TEXT NOT NULL, json TEXT NOT NULL);CREATE INDEX event_of_run ON event (run);";

/* --- open ------------------------------------------------------------------------------------- */

static qdq_status create(qdq_tune_store *s, qdq_error *err)
{
    char head[100];

    snprintf(head, sizeof head, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
             APPLICATION_ID, QDQ_TUNE_STORE_VERSION);
    QDQ_TRY(qdq_sql_execute(s, schema, "create", err));
    return qdq_sql_execute(s, head, "create", err);
}

/* Is it a store that we read? *empty: there is nothing in it yet. */
static qdq_status check_version(qdq_tune_store *s, bool *empty, qdq_error *err)
{
    int64_t id, version, tables;

    QDQ_TRY(qdq_sql_get_int(s, "open", "PRAGMA application_id", NULL, &id, err));
    QDQ_TRY(qdq_sql_get_int(s, "open", "PRAGMA user_version", NULL, &version, err));
    QDQ_TRY(qdq_sql_get_int(s, "open", "SELECT count(*) FROM sqlite_master", NULL, &tables, err));
    *empty = tables == 0 && id == 0;
    if (*empty)
        return QDQ_OK;
    if (id != APPLICATION_ID)
        return qdq_fail(
            err, QDQ_E_FORMAT,
            "%s: an SQLite database of another program: expected a store of qdq autotune", s->path);
    if (version != QDQ_TUNE_STORE_VERSION)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: a store of version %lld: this qdq reads version %d",
                        s->path, (long long)version, QDQ_TUNE_STORE_VERSION);
    return QDQ_OK;
}

/* Two processes may come at once: one of them makes the tables. */
static qdq_status create_or_check(qdq_tune_store *s, qdq_error *err)
{
    bool empty;

    QDQ_TRY(qdq_sql_execute(s, "BEGIN IMMEDIATE", "open", err));
    qdq_status st = check_version(s, &empty, err);
    if (st == QDQ_OK && empty)
        st = create(s, err);
    if (st == QDQ_OK)
        return qdq_sql_execute(s, "COMMIT", "open", err);
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

static qdq_status open_file(qdq_tune_store *s, qdq_error *err)
{
    int rc = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

    if (rc != SQLITE_OK)
        return qdq_sql_fail(s, rc, "open", err);
    sqlite3_busy_timeout(s->db, QDQ_SQL_BUSY_MS);
    /* A sample must survive the kill of this process, not of the machine's power: no sync for
     * each. */
    QDQ_TRY(qdq_sql_execute(
        s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
        "open", err));
    return create_or_check(s, err);
}

/* For a folder that cannot be written to. SQLite reads a WAL only with a file beside it that it may
 * write, and what is immutable it reads without one: right where no WAL has been left. */
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
        return qdq_sql_fail(s, rc, "open", err);
    sqlite3_busy_timeout(s->db, QDQ_SQL_BUSY_MS);
    qdq_status st = check_version(s, &empty, &why);
    if (st == QDQ_E_IO && !has_wal(s)) {
        rc = open_immutable(s);
        st = rc != SQLITE_OK ? qdq_sql_fail(s, rc, "open", &why) : check_version(s, &empty, &why);
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
    QDQ_NEED(s != NULL, err);
    s->path = malloc(strlen(path) + 1);
    if (s->path != NULL)
        memcpy(s->path, path, strlen(path) + 1);
    qdq_status st = s->path != NULL ? how(s, err) : qdq_nomem(err);
    return QDQ_HAND_OVER(s, st, out, qdq_tune_store_close);
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

/* --- runs ------------------------------------------------------------------------------------- */

qdq_status qdq_sql_context_id(qdq_tune_store *s, const qdq_tune_store_context *c, int64_t *id,
                              qdq_error *err)
{
    const qdq_sql_value *of = QDQ_SQL_WITH(QDQ_SQL_TEXT(c->model), QDQ_SQL_TEXT(c->engine),
                                           QDQ_SQL_TEXT(c->device), QDQ_SQL_TEXT(c->options));

    QDQ_TRY(qdq_sql_run(
        s, "context",
        "INSERT OR IGNORE INTO context (model, engine, device, options) VALUES (?, ?, ?, ?)", of,
        err));
    return qdq_sql_get_int(
        s, "context",
        "SELECT id FROM context WHERE model = ? AND engine = ? AND device = ? AND options = ?", of,
        id, err);
}

/* What does not depend on the model has a context without one. A run that starts over leaves a mark
 * there, so that those that go on with it or begin beside it are handed out nothing from before,
 * either. */
static qdq_status find_content(qdq_tune_store *s, const qdq_tune_store_context *c, bool restart,
                               qdq_tune_store_run *out, qdq_error *err)
{
    char *options = sqlite3_mprintf("%s; %s", c->quant != NULL ? c->quant : "", c->options);

    QDQ_NEED(options != NULL, err);
    const qdq_tune_store_context content = {
        .model = "", .engine = c->engine, .device = c->device, .options = options};
    qdq_status st = qdq_sql_context_id(s, &content, &out->content, err);
    sqlite3_free(options);
    if (st == QDQ_OK)
        st = qdq_sql_get_int(s, "runs", "SELECT max(since) FROM value WHERE context = ?",
                             QDQ_SQL_WITH(QDQ_SQL_INT(out->content)), &out->content_since, err);
    if (st != QDQ_OK || !restart)
        return st;
    out->content_since++;
    return qdq_tune_store_content_put(s, out, "", "", err);
}

static qdq_status find_run(qdq_tune_store *s, int64_t context, const char *search,
                           qdq_tune_store_run *out, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(s, "runs",
                                 "SELECT id, finished, since FROM run WHERE context = ? AND search "
                                 "= ? ORDER BY id DESC LIMIT 1",
                                 QDQ_SQL_WITH(QDQ_SQL_INT(context), QDQ_SQL_TEXT(search)));
    qdq_status status = QDQ_OK;

    if (qdq_sql_next(&st, &status, err)) {
        out->id = sqlite3_column_int64(st.at, 0);
        out->finished = sqlite3_column_int(st.at, 1) != 0;
        out->since = sqlite3_column_int64(st.at, 2);
        out->resumed = true;
    }
    qdq_sql_end(&st);
    return status;
}

static qdq_status count_samples(qdq_tune_store *s, qdq_tune_store_run *out, qdq_error *err)
{
    int64_t n;

    QDQ_TRY(qdq_sql_get_int(s, "samples",
                            "SELECT count(*) FROM pair JOIN trial ON trial.id = pair.trial WHERE "
                            "trial.context = ? AND trial.since = ?",
                            QDQ_SQL_WITH(QDQ_SQL_INT(out->context), QDQ_SQL_INT(out->since)), &n,
                            err));
    out->n_samples = (uint64_t)n;
    return QDQ_OK;
}

/* Samples belong to a context and to a beginning: --restart starts over, and nothing from before is
 * handed out. */
static qdq_status new_run(qdq_tune_store *s, const char *search, bool restart,
                          qdq_tune_store_run *out, qdq_error *err)
{
    const double now = qdq_sql_now();

    QDQ_TRY(qdq_sql_get_int(s, "runs", "SELECT max(since) FROM run WHERE context = ?",
                            QDQ_SQL_WITH(QDQ_SQL_INT(out->context)), &out->since, err));
    out->since += restart;
    QDQ_TRY(qdq_sql_run(
        s, "run",
        "INSERT INTO run (context, search, started, seen, pid, since) VALUES (?, ?, ?, ?, ?, ?)",
        QDQ_SQL_WITH(QDQ_SQL_INT(out->context), QDQ_SQL_TEXT(search), QDQ_SQL_REAL(now),
                     QDQ_SQL_REAL(now), QDQ_SQL_INT((int64_t)getpid()), QDQ_SQL_INT(out->since)),
        err));
    out->id = sqlite3_last_insert_rowid(s->db);
    return QDQ_OK;
}

/* A failure may have been one of the moment: it is tried again. What happened is told again, for
 * all of it is asked again. */
static qdq_status take_over(qdq_tune_store *s, const qdq_tune_store_run *r, qdq_error *err)
{
    QDQ_TRY(qdq_sql_run(s, "run", "UPDATE run SET seen = ?, pid = ?, finished = 0 WHERE id = ?",
                        QDQ_SQL_WITH(QDQ_SQL_REAL(qdq_sql_now()), QDQ_SQL_INT((int64_t)getpid()),
                                     QDQ_SQL_INT(r->id)),
                        err));
    QDQ_TRY(qdq_sql_run(s, "run", "UPDATE trial SET failed = NULL WHERE context = ? AND since = ?",
                        QDQ_SQL_WITH(QDQ_SQL_INT(r->context), QDQ_SQL_INT(r->since)), err));
    return qdq_sql_run(s, "run", "DELETE FROM event WHERE run = ?",
                       QDQ_SQL_WITH(QDQ_SQL_INT(r->id)), err);
}

static qdq_status begin_run(qdq_tune_store *s, const qdq_tune_store_context *c, const char *search,
                            bool restart, qdq_tune_store_run *out, qdq_error *err)
{
    QDQ_TRY(qdq_sql_context_id(s, c, &out->context, err));
    QDQ_TRY(find_content(s, c, restart, out, err));
    if (!restart)
        QDQ_TRY(find_run(s, out->context, search, out, err));
    if (!out->resumed) {
        if (!restart)
            QDQ_TRY(qdq_tune_store_differ(s, 0, c, search, out->other, err));
        QDQ_TRY(new_run(s, search, restart, out, err));
    } else
        QDQ_TRY(take_over(s, out, err));
    return count_samples(s, out, err);
}

qdq_status qdq_tune_store_begin(qdq_tune_store *s, const qdq_tune_store_context *c,
                                const char *search, bool restart, qdq_tune_store_run *out,
                                qdq_error *err)
{
    *out = (qdq_tune_store_run){0};
    QDQ_TRY(qdq_sql_execute(s, "BEGIN IMMEDIATE", "begin", err));
    qdq_status st = begin_run(s, c, search, restart, out, err);
    if (st == QDQ_OK)
        st = qdq_sql_execute(s, "COMMIT", "begin", err);
    if (st != QDQ_OK)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

qdq_status qdq_tune_store_finish(qdq_tune_store *s, const qdq_tune_store_run *r,
                                 const char *report_json, qdq_error *err)
{
    return qdq_sql_run(
        s, "finish", "UPDATE run SET finished = 1, seen = ?, report = ? WHERE id = ?",
        QDQ_SQL_WITH(QDQ_SQL_REAL(qdq_sql_now()), QDQ_SQL_TEXT(report_json), QDQ_SQL_INT(r->id)),
        err);
}

/* --- trials ----------------------------------------------------------------------------------- */

static qdq_status read_trial(qdq_tune_store *s, const qdq_sql_value *of, qdq_tune_store_trial *out,
                             qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        s, "trial",
        "SELECT id, failed, (SELECT count(*) FROM pair WHERE trial = trial.id) FROM trial WHERE "
        "context = ? AND since = ? AND incumbent = ? AND candidate = ? AND nth = ?",
        of);
    qdq_status status = QDQ_OK;

    if (qdq_sql_next(&st, &status, err)) {
        const char *why = (const char *)sqlite3_column_text(st.at, 1);
        out->id = sqlite3_column_int64(st.at, 0);
        out->failed = why != NULL;
        snprintf(out->why, sizeof out->why, "%s", why != NULL ? why : "");
        out->n_pairs = (unsigned)sqlite3_column_int64(st.at, 2);
    }
    qdq_sql_end(&st);
    return status;
}

qdq_status qdq_tune_store_trial_get(qdq_tune_store *s, const qdq_tune_store_run *r,
                                    const qdq_tune_store_models *models, qdq_tune_store_trial *out,
                                    qdq_error *err)
{
    const qdq_sql_value *of = QDQ_SQL_WITH(
        QDQ_SQL_INT(r->context), QDQ_SQL_INT(r->since), QDQ_SQL_TEXT(models->incumbent),
        QDQ_SQL_TEXT(models->candidate), QDQ_SQL_INT(models->nth));

    *out = (qdq_tune_store_trial){0};
    QDQ_TRY(qdq_sql_run(s, "trial",
                        "INSERT OR IGNORE INTO trial (context, since, incumbent, candidate, nth) "
                        "VALUES (?, ?, ?, ?, ?)",
                        of, err));
    return read_trial(s, of, out, err);
}

qdq_status qdq_tune_store_pair_get(qdq_tune_store *s, const qdq_tune_store_trial *t, unsigned pair,
                                   double *incumbent_ns, double *candidate_ns, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        s, "sample", "SELECT incumbent_ns, candidate_ns FROM pair WHERE trial = ? AND number = ?",
        QDQ_SQL_WITH(QDQ_SQL_INT(t->id), QDQ_SQL_INT(pair)));
    qdq_status status = QDQ_OK;

    if (qdq_sql_next(&st, &status, err)) {
        *incumbent_ns = sqlite3_column_double(st.at, 0);
        *candidate_ns = sqlite3_column_double(st.at, 1);
    } else if (status == QDQ_OK)
        status = qdq_fail(err, QDQ_E_FORMAT, "%s: sample %u of trial %lld is missing", s->path,
                          pair, (long long)t->id);
    qdq_sql_end(&st);
    if (status == QDQ_OK && !(qdq_sql_is_time(*incumbent_ns) && qdq_sql_is_time(*candidate_ns)))
        status = qdq_fail(
            err, QDQ_E_FORMAT,
            "%s: sample %u of trial %lld: found times of %g and %g ns, expected more than 0",
            s->path, pair, (long long)t->id, *incumbent_ns, *candidate_ns);
    return status;
}

qdq_status qdq_tune_store_pair_add(qdq_tune_store *s, const qdq_tune_store_trial *t, unsigned pair,
                                   double *incumbent_ns, double *candidate_ns, qdq_error *err)
{
    QDQ_TRY(qdq_sql_run(
        s, "sample",
        "INSERT OR IGNORE INTO pair (trial, number, incumbent_ns, candidate_ns) VALUES (?, ?, ?, "
        "?)",
        QDQ_SQL_WITH(QDQ_SQL_INT(t->id), QDQ_SQL_INT(pair), QDQ_SQL_REAL(*incumbent_ns),
                     QDQ_SQL_REAL(*candidate_ns)),
        err));
    return sqlite3_changes(s->db) > 0
               ? QDQ_OK
               : qdq_tune_store_pair_get(s, t, pair, incumbent_ns, candidate_ns, err);
}

qdq_status qdq_tune_store_trial_fail(qdq_tune_store *s, const qdq_tune_store_trial *t,
                                     const char *why, qdq_error *err)
{
    return qdq_sql_run(s, "trial", "UPDATE trial SET failed = ? WHERE id = ?",
                       QDQ_SQL_WITH(QDQ_SQL_TEXT(why), QDQ_SQL_INT(t->id)), err);
}

qdq_status qdq_tune_store_trial_verdict(qdq_tune_store *s, const qdq_tune_store_trial *t,
                                        const qdq_test_result *r, qdq_error *err)
{
    return qdq_sql_run(
        s, "verdict", "UPDATE trial SET verdict = ?, gain = ?, low = ?, high = ? WHERE id = ?",
        QDQ_SQL_WITH(QDQ_SQL_TEXT(qdq_verdict_name(r->verdict)), QDQ_SQL_REAL(r->gain),
                     QDQ_SQL_REAL(r->ci_low), QDQ_SQL_REAL(r->ci_high), QDQ_SQL_INT(t->id)),
        err);
}

/* --- for whoever asks ------------------------------------------------------------------------- */

qdq_status qdq_tune_store_find(qdq_tune_store *s, int64_t run_id, qdq_tune_store_found_run *out,
                               qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(s, "runs",
                                 "SELECT id, finished, pid, report FROM run WHERE id = ?1 OR ?1 = "
                                 "0 ORDER BY id DESC LIMIT 1",
                                 QDQ_SQL_WITH(QDQ_SQL_INT(run_id)));
    qdq_status status = QDQ_OK;

    *out = (qdq_tune_store_found_run){0};
    if (qdq_sql_next(&st, &status, err)) {
        out->id = sqlite3_column_int64(st.at, 0);
        out->found = true;
        out->finished = sqlite3_column_int(st.at, 1) != 0;
        out->pid = sqlite3_column_int64(st.at, 2);
        status = qdq_sql_copy_text(&st, 3, &out->report, err);
    }
    qdq_sql_end(&st);
    return status;
}
