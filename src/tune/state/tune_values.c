/* tune_values.c - JSON values in the store, by key: of this model, or of content that models
 * share. */
#include "tune/state/tune_values.h"

#include <string.h>

#include "base/fail.h"
#include "base/json.h"

/* Releases j; j NULL: out of memory. */
static qdq_status print_value(json_t *j, char **text, qdq_error *err)
{
    qdq_status st = j != NULL ? qdq_json_dump(j, text, err) : qdq_nomem(err);

    json_decref(j);
    return st;
}

/* Takes a value of qdq_tune_store_value_get() or _content_get(). An unreadable value counts as
 * missing, and is measured again. */
static qdq_status parse_value(const qdq_tune_state *t, char *text, const char *key, json_t **out,
                              qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;

    *out = NULL;
    if (text == NULL)
        return QDQ_OK;
    qdq_status st = qdq_json_parse(text, strlen(text), key, out, &why);
    qdq_free(text);
    if (st == QDQ_E_NOMEM)
        return qdq_nomem(err);
    if (st != QDQ_OK)
        qdq_job_log(t->job, QDQ_LOG_WARNING, "the store is damaged: %s: it is measured once more",
                    why.text);
    return QDQ_OK;
}

/* Where a value is stored: for this model, or by content. */
typedef qdq_status get_fn(qdq_tune_store *s, const qdq_tune_store_run *r, const char *key,
                          char **value, qdq_error *err);
typedef qdq_status put_fn(qdq_tune_store *s, const qdq_tune_store_run *r, const char *key,
                          const char *value, qdq_error *err);

static qdq_status recall_value(qdq_tune_state *t, get_fn *get, const char *key, json_t **out,
                               qdq_error *err)
{
    char *text = NULL;

    *out = NULL;
    QDQ_TRY(get(t->tools.store, &t->tools.run, key, &text, err));
    return parse_value(t, text, key, out, err);
}

static qdq_status remember_value(qdq_tune_state *t, put_fn *put, const char *key, json_t *j,
                                 qdq_error *err)
{
    char *text = NULL;
    qdq_status st = print_value(j, &text, err);

    if (st == QDQ_OK)
        st = put(t->tools.store, &t->tools.run, key, text, err);
    qdq_free(text);
    return st;
}

qdq_status qdq_tune_recall(qdq_tune_state *t, const char *key, json_t **out, qdq_error *err)
{
    return recall_value(t, qdq_tune_store_value_get, key, out, err);
}

qdq_status qdq_tune_recall_content(qdq_tune_state *t, const char *key, json_t **out, qdq_error *err)
{
    return recall_value(t, qdq_tune_store_content_get, key, out, err);
}

qdq_status qdq_tune_remember(qdq_tune_state *t, const char *key, json_t *j, qdq_error *err)
{
    return remember_value(t, qdq_tune_store_value_put, key, j, err);
}

qdq_status qdq_tune_remember_content(qdq_tune_state *t, const char *key, json_t *j, qdq_error *err)
{
    return remember_value(t, qdq_tune_store_content_put, key, j, err);
}
