/* tune_profile.c - where the time of a candidate goes: layers of the engine's profile, told by
 * their names to the nodes of the clean model, and to the decisions about them. */
#include "tune/candidate/tune_profile.h"

#include <math.h>

#include "base/fail.h"
#include "engine/remote/remote_groups.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_refused.h"
#include "tune/state/tune_values.h"

enum { PROFILE_RUNS = 8 };

/* --- measuring, or remembering ---------------------------------------------------------------- */

qdq_status qdq_tune_keep_layers(qdq_tune_state *t, const char *key, const qdq_tune_layers *l,
                                qdq_error *err)
{
    return qdq_tune_remember(t, key, qdq_remote_groups_json(l->at, l->n), err);
}

qdq_status qdq_tune_recall_layers(qdq_tune_state *t, const char *key, qdq_tune_layers *out,
                                  bool *known, qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;
    json_t *list;

    QDQ_TRY(qdq_tune_recall(t, key, &list, err));
    *known = list != NULL;
    if (!*known)
        return QDQ_OK;
    qdq_status st = qdq_remote_groups_read(list, &out->at, &out->n, &why);
    json_decref(list);
    if (st != QDQ_E_FORMAT)
        return st == QDQ_OK ? QDQ_OK : qdq_nomem(err);
    *known = false;
    qdq_job_log(t->job, QDQ_LOG_WARNING, "the store is damaged: %s: %s: it is measured once more",
                key, why.text);
    return QDQ_OK;
}

static bool are_timed(const qdq_layer *g, size_t n)
{
    bool timed = n > 0;

    for (size_t i = 0; i < n; i++)
        timed = timed && isfinite(g[i].median_us);
    return timed;
}

qdq_status qdq_tune_ask_layers(qdq_tune_state *t, qdq_worker_client *w, const char *path,
                               unsigned runs, qdq_tune_layers *out, qdq_remote_outcome *outcome,
                               qdq_error *err)
{
    if (t->run.by_nodes) {
        QDQ_TRY(qdq_worker_client_groups(w, path, runs, &out->at, &out->n, outcome, err));
        out->n = are_timed(out->at, out->n) ? out->n : 0;
        return QDQ_OK;
    }
    QDQ_TRY(qdq_worker_client_profile(w, path, runs, &out->at, &out->n, outcome, err));
    for (size_t i = 0; i < out->n; i++) { /* by their names alone */
        out->at[i].conversion = false;
        out->at[i].n_nodes = 0;
        out->at[i].tensor = "";
    }
    return QDQ_OK;
}

static qdq_status ask_profile(qdq_tune_state *t, const qdq_tune_candidate *c, const char *path,
                              qdq_tune_layers *out, qdq_remote_outcome *outcome, qdq_error *err)
{
    (void)c;
    return qdq_tune_ask_layers(t, t->tools.worker_client, path, PROFILE_RUNS, out, outcome, err);
}

/* With the client's deadline set for its profile. *path NULL: the time of the search is used up. */
static qdq_status file_to_profile(qdq_tune_state *t, qdq_tune_candidate *c, const char **path,
                                  qdq_error *err)
{
    *path = NULL;
    if (c != t->run.base && qdq_tune_time_is_up(t))
        return QDQ_OK;
    QDQ_TRY(qdq_tune_model_file(t, c, path, err));
    qdq_tune_set_deadline(t, t->tools.worker_client);
    return QDQ_OK;
}

qdq_status qdq_tune_measure_layers(qdq_tune_state *t, qdq_tune_candidate *c, const char *key,
                                   const char *what, qdq_tune_ask *ask, qdq_tune_layers *out,
                                   qdq_error *err)
{
    const char *path;
    qdq_remote_outcome outcome = {0};

    QDQ_TRY(file_to_profile(t, c, &path, err));
    if (path == NULL)
        return QDQ_OK;
    QDQ_TRY(ask(t, c, path, out, &outcome, err));
    QDQ_TRY(qdq_tune_note_refused(t, t->tools.worker_client, err));
    if (outcome.end == QDQ_REMOTE_FINE)
        return qdq_tune_keep_layers(t, key, out, err);
    qdq_job_log(t->job, QDQ_LOG_WARNING, "no %s of %s (%s: %s)", what, path,
                qdq_remote_end_name(outcome.end), outcome.text);
    return QDQ_OK;
}

static qdq_status get_layers(qdq_tune_state *t, qdq_tune_candidate *c, qdq_tune_layers *out,
                             qdq_error *err)
{
    const char *key =
        qdq_arena_printf(&t->arena, "%s %s",
                         t->run.by_nodes ? "times of layers by nodes" : "times of layers", c->name);
    bool known;

    QDQ_NEED(key != NULL, err);
    t->run.builds++;
    QDQ_TRY(qdq_tune_recall_layers(t, key, out, &known, err));
    return known ? QDQ_OK : qdq_tune_measure_layers(t, c, key, "profile", ask_profile, out, err);
}

/* --- times of nodes --------------------------------------------------------------------------- */

static qdq_status take_layers(qdq_tune_state *t, qdq_tune_candidate *c, const qdq_layer *g,
                              size_t n, qdq_error *err)
{
    const double much = 0.05;
    qdq_tune_times *times = qdq_arena_alloc(&t->arena, sizeof *times);

    QDQ_NEED(times != NULL, err);
    c->times = times;
    QDQ_TRY(qdq_tune_attribute(t->task.clean->graph, g, n, &t->arena, times, err));
    t->run.by_nodes = t->run.by_nodes || times->reported > much * times->sum;
    return QDQ_OK;
}

static bool engine_can(const qdq_tune_state *t, unsigned capability)
{
    return (qdq_worker_client_engine(t->tools.worker_client)->capabilities & capability) != 0;
}

static qdq_status take_profile(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    qdq_tune_layers l = {0};
    qdq_status st = engine_can(t, QDQ_CAN_PROFILE) ? get_layers(t, c, &l, err) : QDQ_OK;

    if (st == QDQ_OK)
        st = take_layers(t, c, l.at, l.n, err);
    qdq_free(l.at);
    return st;
}

/* Where names say too little, the engine may tell the nodes of its layers. */
qdq_status qdq_tune_profile(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    if (c->times != NULL)
        return QDQ_OK;
    t->run.by_nodes =
        t->run.by_nodes || (engine_can(t, QDQ_NAMES_LAYERS) && engine_can(t, QDQ_CAN_LIST_LAYERS));
    QDQ_TRY(take_profile(t, c, err));
    if (t->run.by_nodes || c->times->is_known || c->times->sum <= 0 ||
        !engine_can(t, QDQ_CAN_LIST_LAYERS))
        return QDQ_OK;
    t->run.by_nodes = true;
    return take_profile(t, c, err);
}

qdq_status qdq_tune_times_of(qdq_tune_state *t, const qdq_assign *a, const qdq_tune_times **out,
                             qdq_error *err)
{
    qdq_tune_candidate *c;

    *out = NULL;
    QDQ_TRY(qdq_tune_candidate_of(t, a, &c, err));
    if (c->failed && !c->misses && !c->wrong) /* a profile would fail as it did */
        return QDQ_OK;
    QDQ_TRY(qdq_tune_profile(t, c, err));
    *out = c->times->is_known ? c->times : NULL;
    return QDQ_OK;
}

qdq_status qdq_tune_profile_from(qdq_tune_state *t, qdq_tune_candidate *c, const qdq_layer *g,
                                 size_t n, qdq_error *err)
{
    return are_timed(g, n) && c->times == NULL ? take_layers(t, c, g, n, err) : QDQ_OK;
}

/* --- times of decisions ----------------------------------------------------------------------- */

qdq_status qdq_tune_profile_bits(qdq_tune_state *t, const qdq_assign *a, qdq_search_cost *cost,
                                 bool *known, qdq_error *err)
{
    const qdq_decision *g = t->task.space->group;
    const qdq_tune_times *times;

    QDQ_TRY(qdq_tune_times_of(t, a, &times, err));
    *known = times != NULL;
    for (size_t i = 0; i < t->task.space->n_groups && *known; i++) {
        const double share = 1.0 / ((double)qdq_space_groups_beside(t->task.space, i) * times->sum);
        cost[i] = (qdq_search_cost){.own = times->own[g[i].node->id] * share,
                                    .boundary = times->boundary[g[i].node->id] / times->sum};
    }
    return QDQ_OK;
}
