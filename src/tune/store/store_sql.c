/* store_sql.c - statements on the store's connection. */
#include "tune/store/store_sql.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/fail.h"

double qdq_sql_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

qdq_status qdq_sql_fail(const qdq_tune_store *s, int rc, const char *what, qdq_error *err)
{
    const int reason = s->db != NULL ? sqlite3_system_errno(s->db) : 0;

    if ((rc & 0xff) == SQLITE_CANTOPEN && reason != 0)
        return qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot open", s->path);
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return qdq_nomem(err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return qdq_fail(err, QDQ_E_IO,
                        "%s: %s: another process has held the store for more than %d s", s->path,
                        what, QDQ_SQL_BUSY_MS / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return qdq_fail(err, QDQ_E_FORMAT, "%s: %s: %s: expected a store of qdq autotune", s->path,
                        what, sqlite3_errmsg(s->db));
    default:
        return qdq_fail(err, QDQ_E_IO, "%s: %s: %s", s->path, what,
                        s->db != NULL ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
    }
}

qdq_status qdq_sql_execute(qdq_tune_store *s, const char *sql, const char *what, qdq_error *err)
{
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? QDQ_OK : qdq_sql_fail(s, rc, what, err);
}

static int bind(sqlite3_stmt *at, int i, const qdq_sql_value *v)
{
    switch (v->kind) {
    case QDQ_SQL_NONE:
        break;
    case QDQ_SQL_IS_INT:
        return sqlite3_bind_int64(at, i, v->integer);
    case QDQ_SQL_IS_REAL:
        return sqlite3_bind_double(at, i, v->real);
    case QDQ_SQL_IS_TEXT:
        return sqlite3_bind_text(at, i, v->text, -1, SQLITE_STATIC);
    }
    return SQLITE_OK;
}

qdq_sql qdq_sql_prepare(qdq_tune_store *s, const char *what, const char *sql,
                        const qdq_sql_value *with)
{
    qdq_sql st = {.store = s, .what = what};

    st.rc = sqlite3_prepare_v2(s->db, sql, -1, &st.at, NULL);
    for (int i = 0; with != NULL && with[i].kind != QDQ_SQL_NONE && st.rc == SQLITE_OK; i++)
        st.rc = bind(st.at, i + 1, &with[i]);
    return st;
}

bool qdq_sql_next(qdq_sql *st, qdq_status *status, qdq_error *err)
{
    if (*status != QDQ_OK)
        return false;
    const int rc = st->rc == SQLITE_OK ? sqlite3_step(st->at) : st->rc;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        *status = qdq_sql_fail(st->store, rc, st->what, err);
    return rc == SQLITE_ROW;
}

void qdq_sql_end(qdq_sql *st)
{
    sqlite3_finalize(st->at);
    st->at = NULL;
}

qdq_status qdq_sql_get_int(qdq_tune_store *s, const char *what, const char *sql,
                           const qdq_sql_value *with, int64_t *out, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(s, what, sql, with);
    qdq_status status = QDQ_OK;

    *out = qdq_sql_next(&st, &status, err) ? sqlite3_column_int64(st.at, 0) : 0;
    qdq_sql_end(&st);
    return status;
}

qdq_status qdq_sql_run(qdq_tune_store *s, const char *what, const char *sql,
                       const qdq_sql_value *with, qdq_error *err)
{
    int64_t ignored;

    return qdq_sql_get_int(s, what, sql, with, &ignored, err);
}

qdq_status qdq_sql_copy_text(const qdq_sql *st, int column, char **out, qdq_error *err)
{
    return qdq_text_copy((const char *)sqlite3_column_text(st->at, column), out, err);
}
