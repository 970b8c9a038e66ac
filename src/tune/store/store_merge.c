/* store_merge.c - samples and values of several stores in one: a transaction of the store that gets
 * them, so that an error leaves it as it was. */
#include "tune/store/store_merge.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"

/* The result and what it owns. */
typedef struct merge_room {
    /* first: the caller's pointer is the room's */
    qdq_tune_merge_result head;
    qdq_arena arena;
    QDQ_VEC(qdq_tune_quarantined) quarantined;
} merge_room;

typedef QDQ_VEC(qdq_merge_context) merge_contexts;

typedef struct merging {
    qdq_tune_store *into, *from;
    const qdq_job *job;
    merge_room *block;
    /* of one store */
    qdq_arena scratch;
} merging;

/* --- contexts --------------------------------------------------------------------------------- */

/* Samples belong to a beginning, which runs name; values by content, whose model is "", have it
 * themselves. */
static qdq_status find_since(qdq_tune_store *s, const char *model, int64_t context, int64_t *since,
                             qdq_error *err)
{
    const char *sql = model[0] != '\0' ? "SELECT max(since) FROM run WHERE context = ?"
                                       : "SELECT max(since) FROM value WHERE context = ?";

    return qdq_sql_get_int(s, "runs", sql, QDQ_SQL_WITH(QDQ_SQL_INT(context)), since, err);
}

static qdq_status add_context(merging *m, const qdq_sql *row, merge_contexts *list, qdq_error *err)
{
    qdq_merge_context c = {.from = sqlite3_column_int64(row->at, 0)};
    const char **texts[] = {&c.head.model, &c.head.engine, &c.head.device, &c.head.options};

    for (int i = 0; i < 4; i++) {
        const char *text = (const char *)sqlite3_column_text(row->at, i + 1);

        *texts[i] = text != NULL ? qdq_arena_strdup(&m->scratch, text) : NULL;
        QDQ_NEED(*texts[i] != NULL, err);
    }
    QDQ_TRY(find_since(m->from, c.head.model, c.from, &c.from_since, err));
    QDQ_TRY(qdq_sql_get_int(
        m->into, "context",
        "SELECT id FROM context WHERE model = ? AND engine = ? AND device = ? AND options = ?",
        QDQ_SQL_WITH(QDQ_SQL_TEXT(c.head.model), QDQ_SQL_TEXT(c.head.engine),
                     QDQ_SQL_TEXT(c.head.device), QDQ_SQL_TEXT(c.head.options)),
        &c.into, err));
    if (c.into != 0)
        QDQ_TRY(find_since(m->into, c.head.model, c.into, &c.into_since, err));
    return qdq_allocated(QDQ_PUSH(&m->scratch, list, c), err);
}

static qdq_status list_contexts(merging *m, merge_contexts *list, qdq_error *err)
{
    qdq_sql st =
        qdq_sql_prepare(m->from, "context",
                        "SELECT id, model, engine, device, options FROM context ORDER BY id", NULL);
    qdq_status status = QDQ_OK;

    while (qdq_sql_next(&st, &status, err))
        status = add_context(m, &st, list, err);
    qdq_sql_end(&st);
    return status;
}

/* --- hosts that disagree ---------------------------------------------------------------------- */

static bool is_same_host(const qdq_merge_context *a, const qdq_merge_context *b)
{
    return strcmp(a->head.engine, b->head.engine) == 0 &&
           strcmp(a->head.device, b->head.device) == 0;
}

static qdq_status quarantine(merging *m, merge_contexts *list, const qdq_merge_context *c,
                             const char *why, qdq_error *err)
{
    qdq_arena *arena = &m->block->arena;
    const qdq_tune_quarantined q = {.store = qdq_arena_strdup(arena, m->from->path),
                                    .engine = qdq_arena_strdup(arena, c->head.engine),
                                    .device = qdq_arena_strdup(arena, c->head.device),
                                    .why = why};

    QDQ_NEED(q.store != NULL && q.engine != NULL && q.device != NULL &&
                 QDQ_PUSH(arena, &m->block->quarantined, q),
             err);
    qdq_job_log(m->job, QDQ_LOG_WARNING, "%s: not merged for engine %s on %s: %s", q.store,
                q.engine, q.device, why);
    for (size_t i = 0; i < list->n; i++)
        list->at[i].is_quarantined |= is_same_host(&list->at[i], c);
    return QDQ_OK;
}

static qdq_status find_disagreements(merging *m, merge_contexts *list, qdq_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        const char *why;

        if (list->at[i].is_quarantined)
            continue;
        QDQ_TRY(qdq_job_poll(m->job, err));
        QDQ_TRY(qdq_merge_compare(m->from, m->into, &list->at[i], &m->block->arena, &why, err));
        if (why != NULL)
            QDQ_TRY(quarantine(m, list, &list->at[i], why, err));
    }
    return QDQ_OK;
}

/* --- samples ---------------------------------------------------------------------------------- */

static qdq_status add_pair(merging *m, const qdq_sql *row, int64_t from, int64_t into, int64_t nth,
                           qdq_error *err)
{
    const int64_t number = sqlite3_column_int64(row->at, 0);
    const double a = sqlite3_column_double(row->at, 1), b = sqlite3_column_double(row->at, 2);

    if (number != nth || !qdq_sql_is_time(a) || !qdq_sql_is_time(b))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%s: trial %lld: found sample %lld of %g and %g ns, expected sample %lld "
                        "of more than 0 ns",
                        m->from->path, (long long)from, (long long)number, a, b, (long long)nth);
    QDQ_TRY(qdq_sql_run(
        m->into, "sample",
        "INSERT OR IGNORE INTO pair (trial, number, incumbent_ns, candidate_ns) "
        "VALUES (?, ?, ?, ?)",
        QDQ_SQL_WITH(QDQ_SQL_INT(into), QDQ_SQL_INT(number), QDQ_SQL_REAL(a), QDQ_SQL_REAL(b)),
        err));
    if (sqlite3_changes(m->into->db) > 0)
        m->block->head.n_pairs++;
    else
        m->block->head.n_known_pairs++;
    return QDQ_OK;
}

static qdq_status add_pairs(merging *m, int64_t from, int64_t into, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        m->from, "samples",
        "SELECT number, incumbent_ns, candidate_ns FROM pair WHERE trial = ? ORDER BY number",
        QDQ_SQL_WITH(QDQ_SQL_INT(from)));
    qdq_status status = QDQ_OK;

    for (int64_t nth = 0; qdq_sql_next(&st, &status, err); nth++)
        status = add_pair(m, &st, from, into, nth, err);
    qdq_sql_end(&st);
    return status;
}

static qdq_status take_verdict(merging *m, const qdq_sql *row, int64_t into, qdq_error *err)
{
    const char *verdict = (const char *)sqlite3_column_text(row->at, 4);

    if (verdict == NULL)
        return QDQ_OK;
    return qdq_sql_run(
        m->into, "verdict",
        "UPDATE trial SET verdict = ?, gain = ?, low = ?, high = ? WHERE id = ?",
        QDQ_SQL_WITH(QDQ_SQL_TEXT(verdict), QDQ_SQL_REAL(sqlite3_column_double(row->at, 5)),
                     QDQ_SQL_REAL(sqlite3_column_double(row->at, 6)),
                     QDQ_SQL_REAL(sqlite3_column_double(row->at, 7)), QDQ_SQL_INT(into)),
        err);
}

/* The row of a trial in `from`: id, names, nth, verdict. What failed there may not fail
 * elsewhere. */
static qdq_status add_trial(merging *m, const qdq_merge_context *c, const qdq_sql *row,
                            qdq_error *err)
{
    const char *incumbent = (const char *)sqlite3_column_text(row->at, 1),
               *candidate = (const char *)sqlite3_column_text(row->at, 2);
    int64_t into;

    QDQ_NEED(incumbent != NULL && candidate != NULL, err);
    const qdq_sql_value *of =
        QDQ_SQL_WITH(QDQ_SQL_INT(c->into), QDQ_SQL_INT(c->into_since), QDQ_SQL_TEXT(incumbent),
                     QDQ_SQL_TEXT(candidate), QDQ_SQL_INT(sqlite3_column_int64(row->at, 3)));
    QDQ_TRY(qdq_job_poll(m->job, err));
    QDQ_TRY(qdq_sql_run(m->into, "trial",
                        "INSERT OR IGNORE INTO trial (context, since, incumbent, candidate, nth) "
                        "VALUES (?, ?, ?, ?, ?)",
                        of, err));
    const bool is_new = sqlite3_changes(m->into->db) > 0;
    QDQ_TRY(qdq_sql_get_int(m->into, "trial",
                            "SELECT id FROM trial WHERE context = ? AND since = ? AND incumbent = "
                            "? AND candidate = ? AND nth = ?",
                            of, &into, err));
    QDQ_TRY(add_pairs(m, sqlite3_column_int64(row->at, 0), into, err));
    return is_new ? take_verdict(m, row, into, err) : QDQ_OK;
}

static qdq_status add_trials(merging *m, const qdq_merge_context *c, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        m->from, "trials",
        "SELECT id, incumbent, candidate, nth, verdict, gain, low, high FROM trial WHERE context = "
        "? AND since = ? ORDER BY id",
        QDQ_SQL_WITH(QDQ_SQL_INT(c->from), QDQ_SQL_INT(c->from_since)));
    qdq_status status = QDQ_OK;

    while (qdq_sql_next(&st, &status, err))
        status = add_trial(m, c, &st, err);
    qdq_sql_end(&st);
    return status;
}

/* --- values ----------------------------------------------------------------------------------- */

static qdq_status add_value(merging *m, const qdq_merge_context *c, const qdq_sql *row,
                            qdq_error *err)
{
    const char *key = (const char *)sqlite3_column_text(row->at, 0),
               *value = (const char *)sqlite3_column_text(row->at, 1);

    QDQ_NEED(key != NULL && value != NULL, err);
    QDQ_TRY(
        qdq_sql_run(m->into, "value",
                    "INSERT OR IGNORE INTO value (context, since, key, value) VALUES (?, ?, ?, ?)",
                    QDQ_SQL_WITH(QDQ_SQL_INT(c->into), QDQ_SQL_INT(c->into_since),
                                 QDQ_SQL_TEXT(key), QDQ_SQL_TEXT(value)),
                    err));
    m->block->head.n_values += sqlite3_changes(m->into->db) > 0;
    return QDQ_OK;
}

/* The key "" is the mark of a restart. */
static qdq_status add_values(merging *m, const qdq_merge_context *c, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        m->from, "values",
        "SELECT key, value FROM value WHERE context = ? AND since = ? AND key <> '' ORDER BY key",
        QDQ_SQL_WITH(QDQ_SQL_INT(c->from), QDQ_SQL_INT(c->from_since)));
    qdq_status status = QDQ_OK;

    while (qdq_sql_next(&st, &status, err))
        status = add_value(m, c, &st, err);
    qdq_sql_end(&st);
    return status;
}

/* --- one store -------------------------------------------------------------------------------- */

static qdq_status add_contexts(merging *m, qdq_error *err)
{
    merge_contexts list = {0};

    QDQ_TRY(list_contexts(m, &list, err));
    QDQ_TRY(find_disagreements(m, &list, err));
    for (size_t i = 0; i < list.n; i++) {
        qdq_merge_context *c = &list.at[i];

        if (c->is_quarantined)
            continue;
        if (c->into == 0)
            QDQ_TRY(qdq_sql_context_id(m->into, &c->head, &c->into, err));
        QDQ_TRY(add_trials(m, c, err));
        QDQ_TRY(add_values(m, c, err));
        m->block->head.n_contexts++;
    }
    return QDQ_OK;
}

/* All that is read is of one moment, also while a run writes. */
static qdq_status add_store(merging *m, const char *path, qdq_error *err)
{
    QDQ_TRY(qdq_tune_store_open_to_read(path, &m->from, err));
    qdq_status st = qdq_sql_execute(m->from, "BEGIN", "merge", err);
    if (st == QDQ_OK)
        st = add_contexts(m, err);
    qdq_tune_store_close(m->from);
    m->from = NULL;
    qdq_arena_free(&m->scratch);
    return st;
}

/* --- which come first ------------------------------------------------------------------------- */

typedef struct merge_source {
    const char *path;
    /* s; 0: it has no run */
    double began;
} merge_source;

static int by_age(const void *a, const void *b)
{
    const merge_source *x = a, *y = b;

    return x->began != y->began ? (x->began > y->began) - (x->began < y->began)
                                : strcmp(x->path, y->path);
}

static qdq_status read_age(merge_source *source, qdq_error *err)
{
    qdq_tune_store *s;
    qdq_status st = QDQ_OK;

    QDQ_TRY(qdq_tune_store_open_to_read(source->path, &s, err));
    qdq_sql sql = qdq_sql_prepare(s, "runs", "SELECT min(started) FROM run", NULL);
    source->began = qdq_sql_next(&sql, &st, err) ? sqlite3_column_double(sql.at, 0) : 0;
    qdq_sql_end(&sql);
    qdq_tune_store_close(s);
    return st;
}

static qdq_status check_apart(const char *from, const char *into, qdq_error *err)
{
    struct stat a, b;

    if (strcmp(from, into) != 0 && (stat(from, &a) != 0 || stat(into, &b) != 0 ||
                                    a.st_dev != b.st_dev || a.st_ino != b.st_ino))
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE,
                    "found '%s' as a store that is merged and as the store that gets it", from);
}

static qdq_status list_sources(const char *const *from, size_t n, const char *into,
                               qdq_arena *arena, merge_source **out, qdq_error *err)
{
    *out = qdq_arena_array(arena, n + 1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = (merge_source){from[i], 0};
        QDQ_TRY(check_apart(from[i], into, err));
        QDQ_TRY(read_age(&(*out)[i], err));
    }
    if (n > 1)
        qsort(*out, n, sizeof **out, by_age);
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status add_stores(merging *m, const merge_source *sources, size_t n, qdq_error *err)
{
    QDQ_TRY(qdq_sql_execute(m->into, "BEGIN IMMEDIATE", "merge", err));
    qdq_status st = QDQ_OK;
    for (size_t i = 0; i < n && st == QDQ_OK; i++) {
        st = qdq_job_poll(m->job, err);
        if (st == QDQ_OK)
            st = add_store(m, sources[i].path, err);
        if (st == QDQ_OK)
            qdq_job_progress(m->job, "merge", i + 1, n);
    }
    if (st == QDQ_OK)
        st = qdq_sql_execute(m->into, "COMMIT", "merge", err);
    if (st != QDQ_OK)
        sqlite3_exec(m->into->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

/* Sources are read before a new store is made. */
static qdq_status merge(merging *m, const char *const *from, size_t n, const char *into,
                        qdq_error *err)
{
    merge_source *sources;

    QDQ_TRY(list_sources(from, n, into, &m->block->arena, &sources, err));
    QDQ_TRY(qdq_tune_store_open(into, &m->into, err));
    const qdq_status st = add_stores(m, sources, n, err);
    qdq_tune_store_close(m->into);
    return st;
}

qdq_status qdq_tune_merge(const char *const *from, size_t n, const char *into, const qdq_job *job,
                          qdq_tune_merge_result **out, qdq_error *err)
{
    merging m = {.job = job};

    *out = NULL;
    if (n == 0)
        return qdq_fail(err, QDQ_E_USAGE, "found no store, expected one to merge");
    m.block = calloc(1, sizeof *m.block);
    QDQ_NEED(m.block != NULL, err);
    const qdq_status st = merge(&m, from, n, into, err);
    m.block->head.quarantined = m.block->quarantined.at;
    m.block->head.n_quarantined = m.block->quarantined.n;
    if (st == QDQ_OK)
        *out = &m.block->head;
    else
        qdq_tune_merge_result_free(&m.block->head);
    return st;
}

void qdq_tune_merge_result_free(qdq_tune_merge_result *r)
{
    merge_room *room = (merge_room *)(void *)r; /* its first member */

    if (room == NULL)
        return;
    qdq_arena_free(&room->arena);
    free(room);
}
