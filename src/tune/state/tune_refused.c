/* tune_refused.c - options that the engine's program rejects. They are detected once and stored in
 * tune.db, so that no worker and no later run on this engine tries them again. */
#include "tune/state/tune_refused.h"

#include <string.h>

#include "base/fail.h"
#include "base/json.h"
#include "engine/remote/remote_message.h"
#include "tune/state/tune_values.h"

static const char key[] = "options that the engine's program refuses";

qdq_status qdq_tune_send_refused(const qdq_tune_state *t, qdq_worker_client *worker_client,
                                 qdq_error *err)
{
    return t->tools.refused != NULL ? qdq_worker_client_refuse(worker_client, t->tools.refused, err)
                                    : QDQ_OK;
}

qdq_status qdq_tune_recall_refused(qdq_tune_state *t, qdq_error *err)
{
    json_t *j;

    QDQ_TRY(qdq_tune_recall_content(t, key, &j, err));
    const char *text = json_string_value(json_object_get(j, "options"));
    if (text != NULL)
        t->tools.refused = qdq_remote_bytes(&t->arena, text);
    const bool failed = text != NULL && t->tools.refused == NULL;
    json_decref(j);
    return failed ? qdq_nomem(err) : qdq_tune_send_refused(t, t->tools.worker_client, err);
}

/* The feature that a rejected option provides. */
static const char *lost(unsigned can)
{
    return (can & QDQ_CAN_LIST_LAYERS) == 0 ? ": which nodes a layer computes is not known"
           : (can & QDQ_CAN_PROFILE) == 0   ? ": how long layers take is not known"
                                            : "";
}

qdq_status qdq_tune_note_refused(qdq_tune_state *t, const qdq_worker_client *worker_client,
                                 qdq_error *err)
{
    const qdq_engine_info *engine = qdq_worker_client_engine(worker_client);
    const char *now = qdq_worker_client_refused(worker_client);

    if (now[0] == '\0' || (t->tools.refused != NULL && strcmp(t->tools.refused, now) == 0))
        return QDQ_OK;
    const size_t known =
        /* options are only added */
        t->tools.refused != NULL ? strlen(t->tools.refused) : 0;
    const char *more =
        known > 0 && strncmp(now, t->tools.refused, known) == 0 ? now + known + 1 : now;
    t->tools.refused = qdq_arena_strdup(&t->arena, now);
    QDQ_NEED(t->tools.refused != NULL, err);
    qdq_job_log(t->job, QDQ_LOG_WARNING, "%s %s refuses %s, left out from now on%s", engine->name,
                engine->version, more, lost(engine->capabilities));
    return qdq_tune_remember_content(t, key, json_pack("{s:o}", "options", qdq_remote_text(now)),
                                     err);
}
