/* store_differ.c - in what a run of the store differs from one that is wanted, in words. */
#include "tune/store/store_sql.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 60 };

/* Where the first word that differs begins in both. */
static size_t common_start(const char *a, const char *b)
{
    size_t start = 0;

    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++)
        if (a[i] == ' ')
            start = i + 1;
    return start;
}

/* How many bytes at the end are the same words in both, which begin where they differ. */
static size_t common_end(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t end = 0;

    for (size_t i = 1; i < n && i < m && a[n - i] == b[m - i]; i++)
        if (a[n - i] == ' ')
            end = i;
    return end;
}

/* The words that differ, and not those around them, which would hide them. */
static void write_difference(char *out, const char *what, const char *there, const char *here)
{
    const size_t room = QDQ_TUNE_STORE_DIFFERENCE, used = strlen(out);

    if (there == NULL || strcmp(there, here) == 0 || used >= room)
        return;
    const size_t start = common_start(there, here);
    const char *a = there + start, *b = here + start;
    const size_t end = common_end(a, b);
    int n = (int)(strlen(a) - end), m = (int)(strlen(b) - end);
    snprintf(out + used, room - used, "%sanother %s (%.*s, not %.*s)", used > 0 ? ", " : "", what,
             n < SHOWN ? n : SHOWN, a, m < SHOWN ? m : SHOWN, b);
}

qdq_status qdq_tune_store_differ(qdq_tune_store *s, int64_t run, const qdq_tune_store_context *c,
                                 const char *search, char out[QDQ_TUNE_STORE_DIFFERENCE],
                                 qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        s, "runs",
        "SELECT model, engine, device, options, search FROM run JOIN context ON context.id = "
        "run.context WHERE run.id = ?1 OR ?1 = 0 ORDER BY run.id DESC LIMIT 1",
        QDQ_SQL_WITH(QDQ_SQL_INT(run)));
    const char *const what[] = {"model", "engine", "device", "setting of measurements",
                                "setting of the search"};
    const char *const mine[] = {c->model, c->engine, c->device, c->options, search};
    bool row = false;

    out[0] = '\0';
    qdq_status status = qdq_sql_step(&st, &row, err);
    for (int i = 0; status == QDQ_OK && row && i < 5; i++)
        write_difference(out, what[i], (const char *)sqlite3_column_text(st.at, i), mine[i]);
    qdq_sql_end(&st);
    return status;
}
