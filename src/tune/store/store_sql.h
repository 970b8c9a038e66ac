/* store_sql.h - the store's connection and statements on it; shared by the store*.c files only. */
#ifndef QDQ_STORE_SQL_H
#define QDQ_STORE_SQL_H

#include <math.h>
#include <sqlite3.h>

#include "tune/store/store.h"

enum { QDQ_SQL_BUSY_MS = 5000 };

struct qdq_tune_store {
    sqlite3 *db;
    char *path;
};

double qdq_sql_now(void); /* s */

/* Whether a row's ns can be a time. */
static inline bool qdq_sql_is_time(double ns)
{
    return isfinite(ns) && ns > 0;
}

/* The error of what SQLite answered. `what` the store was doing, for the message. */
qdq_status qdq_sql_fail(const qdq_tune_store *s, int rc, const char *what, qdq_error *err);

/* Statements without parameters that give no rows. */
qdq_status qdq_sql_execute(qdq_tune_store *s, const char *sql, const char *what, qdq_error *err);

typedef struct qdq_sql {
    qdq_tune_store *store;
    sqlite3_stmt *at;
    const char *what;
    int rc;
} qdq_sql;

/* A parameter of a statement. */
typedef struct qdq_sql_value {
    enum { QDQ_SQL_NONE, QDQ_SQL_IS_INT, QDQ_SQL_IS_REAL, QDQ_SQL_IS_TEXT } kind;
    int64_t integer;
    double real;
    const char *text;
} qdq_sql_value;

#define QDQ_SQL_INT(x)                                                                             \
    {                                                                                              \
        .kind = QDQ_SQL_IS_INT, .integer = (x)                                                     \
    }
#define QDQ_SQL_REAL(x)                                                                            \
    {                                                                                              \
        .kind = QDQ_SQL_IS_REAL, .real = (x)                                                       \
    }
#define QDQ_SQL_TEXT(x)                                                                            \
    {                                                                                              \
        .kind = QDQ_SQL_IS_TEXT, .text = (x)                                                       \
    }

/* Parameters from left to right. */
#define QDQ_SQL_WITH(...) ((const qdq_sql_value[]){__VA_ARGS__, {.kind = QDQ_SQL_NONE}})

/* `with`: its parameters, or NULL; texts live as long as the statement. Errors show in
 * qdq_sql_next(). */
qdq_sql qdq_sql_prepare(qdq_tune_store *s, const char *what, const char *sql,
                        const qdq_sql_value *with);

/* Is there a next row? Its columns are st->at's. False also after an error, which is then *status,
 * now or before: `while (qdq_sql_next(&st, &status, err)) status = ...`. */
bool qdq_sql_next(qdq_sql *st, qdq_status *status, qdq_error *err);
/* A copy of a text column: NULL for NULL; qdq_free(). */
qdq_status qdq_sql_copy_text(const qdq_sql *st, int column, char **out, qdq_error *err);
void qdq_sql_end(qdq_sql *st);

/* A whole statement that gives no rows. */
qdq_status qdq_sql_run(qdq_tune_store *s, const char *what, const char *sql,
                       const qdq_sql_value *with, qdq_error *err);

/* The first column of its first row; 0: there is none. */
qdq_status qdq_sql_get_int(qdq_tune_store *s, const char *what, const char *sql,
                           const qdq_sql_value *with, int64_t *out, qdq_error *err);

/* The context of the store, which is made if it is not there. */
qdq_status qdq_sql_context_id(qdq_tune_store *s, const qdq_tune_store_context *c, int64_t *id,
                              qdq_error *err);

#endif /* QDQ_STORE_SQL_H */
