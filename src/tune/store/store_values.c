/* store_values.c - values by key: of a run's context, and of its content context, whose model is
 * empty; and events. */
#include "tune/store/store_sql.h"

/* --- values ----------------------------------------------------------------------------------- */

static qdq_status get_value(qdq_tune_store *s, int64_t context, int64_t since, const char *key,
                            char **value, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        s, "value", "SELECT value FROM value WHERE context = ? AND since = ? AND key = ?",
        QDQ_SQL_WITH(QDQ_SQL_INT(context), QDQ_SQL_INT(since), QDQ_SQL_TEXT(key)));
    qdq_status status = QDQ_OK;

    *value = NULL;
    if (qdq_sql_next(&st, &status, err))
        status = qdq_sql_copy_text(&st, 0, value, err);
    qdq_sql_end(&st);
    return status;
}

static qdq_status put_value(qdq_tune_store *s, int64_t context, int64_t since, const char *key,
                            const char *value, qdq_error *err)
{
    return qdq_sql_run(
        s, "value", "INSERT OR REPLACE INTO value (context, since, key, value) VALUES (?, ?, ?, ?)",
        QDQ_SQL_WITH(QDQ_SQL_INT(context), QDQ_SQL_INT(since), QDQ_SQL_TEXT(key),
                     QDQ_SQL_TEXT(value)),
        err);
}

qdq_status qdq_tune_store_value_get(qdq_tune_store *s, const qdq_tune_store_run *r, const char *key,
                                    char **value, qdq_error *err)
{
    return get_value(s, r->context, r->since, key, value, err);
}

qdq_status qdq_tune_store_value_put(qdq_tune_store *s, const qdq_tune_store_run *r, const char *key,
                                    const char *value, qdq_error *err)
{
    return put_value(s, r->context, r->since, key, value, err);
}

qdq_status qdq_tune_store_content_get(qdq_tune_store *s, const qdq_tune_store_run *r,
                                      const char *key, char **value, qdq_error *err)
{
    return get_value(s, r->content, r->content_since, key, value, err);
}

qdq_status qdq_tune_store_content_put(qdq_tune_store *s, const qdq_tune_store_run *r,
                                      const char *key, const char *value, qdq_error *err)
{
    return put_value(s, r->content, r->content_since, key, value, err);
}

/* --- events ----------------------------------------------------------------------------------- */

qdq_status qdq_tune_store_event(qdq_tune_store *s, const qdq_tune_store_run *r, const char *kind,
                                const char *json, qdq_error *err)
{
    return qdq_sql_run(s, "event", "INSERT INTO event (run, time, kind, json) VALUES (?, ?, ?, ?)",
                       QDQ_SQL_WITH(QDQ_SQL_INT(r->id), QDQ_SQL_REAL(qdq_sql_now()),
                                    QDQ_SQL_TEXT(kind), QDQ_SQL_TEXT(json)),
                       err);
}

qdq_status qdq_tune_store_events(qdq_tune_store *s, int64_t run_id, qdq_tune_store_event_fn fn,
                                 void *ctx, qdq_error *err)
{
    qdq_sql st =
        qdq_sql_prepare(s, "events", "SELECT time, kind, json FROM event WHERE run = ? ORDER BY id",
                        QDQ_SQL_WITH(QDQ_SQL_INT(run_id)));
    qdq_status status = QDQ_OK;

    while (qdq_sql_next(&st, &status, err)) {
        status =
            fn(ctx, sqlite3_column_double(st.at, 0), (const char *)sqlite3_column_text(st.at, 1),
               (const char *)sqlite3_column_text(st.at, 2), err);
    }
    qdq_sql_end(&st);
    return status;
}
