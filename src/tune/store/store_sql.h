/* store_sql.h - the store's connection and statements on it; shared by the store*.c files only. */
#ifndef QDQ_STORE_SQL_H
#define QDQ_STORE_SQL_H

#include <sqlite3.h>

#include "tune/store/store.h"

enum { QDQ_SQL_BUSY_MS = 5000 };

struct qdq_tune_store {
    sqlite3 *db;
    char *path;
};

double qdq_sql_now(void); /* s */

/* The error of what SQLite answered. `what` the store was doing, for the message. */
qdq_status qdq_sql_fail(const qdq_tune_store *s, int rc, const char *what, qdq_error *err);

/* Statements that give no rows. */
qdq_status qdq_sql_execute(qdq_tune_store *s, const char *sql, const char *what, qdq_error *err);

typedef struct qdq_sql {
    qdq_tune_store *store;
    sqlite3_stmt *at;
    const char *what;
    int bound, rc;
} qdq_sql;

/* Parameters are bound from left to right, texts as long as the statement lives. Errors show in
 * qdq_sql_step(). */
qdq_sql qdq_sql_prepare(qdq_tune_store *s, const char *sql, const char *what);
void qdq_sql_bind_int(qdq_sql *st, int64_t x);
void qdq_sql_bind_real(qdq_sql *st, double x);
void qdq_sql_bind_text(qdq_sql *st, const char *x);

/* The next row, if there is one; its columns are st->at's. */
qdq_status qdq_sql_step(qdq_sql *st, bool *row, qdq_error *err);
/* A copy of a text column: NULL for NULL; qdq_free(). */
qdq_status qdq_sql_copy_text(const qdq_sql *st, int column, char **out, qdq_error *err);
void qdq_sql_end(qdq_sql *st);

/* Step and end, for a statement that gives no rows. */
qdq_status qdq_sql_run(qdq_sql *st, qdq_error *err);

#endif /* QDQ_STORE_SQL_H */
