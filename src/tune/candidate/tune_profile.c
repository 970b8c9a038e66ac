/* tune_profile.c - where the time of a candidate goes: layers of the engine's profile, told by
 * their names to the nodes of the clean model, and to the decisions about them. */
#include "tune/candidate/tune_profile.h"

#include <math.h>

#include "base/fail.h"
#include "base/json_write.h"
#include "engine/remote/remote_message.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_refused.h"
#include "tune/state/tune_values.h"

enum { PROFILE_RUNS = 8 };

/* --- measuring, or remembering ---------------------------------------------------------------- */

/* Names may be any bytes. */
static void put_layer(qdq_json_out list, const qdq_group *g, bool with_nodes)
{
    qdq_json_out o = qdq_json_put_object(list, NULL);

    qdq_json_put(o, "name", qdq_remote_text(g->layer));
    qdq_json_put(o, "op", qdq_remote_text(g->op));
    qdq_json_put_real(o, "us", g->median_us);
    if (!with_nodes)
        return;
    qdq_json_out nodes = qdq_json_put_list(o, "nodes");
    for (size_t i = 0; i < g->n_nodes; i++)
        qdq_json_put(nodes, NULL, qdq_remote_text(g->node[i]));
    qdq_json_put_bool(o, "conversion", g->conversion);
    if (g->tensor != NULL)
        qdq_json_put(o, "tensor", qdq_remote_text(g->tensor));
}

static bool are_timed(const qdq_group *g, size_t n)
{
    bool timed = n > 0;

    for (size_t i = 0; i < n; i++)
        timed = timed && isfinite(g[i].median_us);
    return timed;
}

/* With their nodes: of layers that are all timed. */
static json_t *list_layers(const qdq_group *layer, size_t n, bool with_nodes)
{
    qdq_json_doc d = {0};
    qdq_json_out list = qdq_json_list(&d);

    for (size_t i = 0; i < n; i++)
        put_layer(list, &layer[i], with_nodes);
    return qdq_json_take(&d);
}

/* [{"name": ..., "op": ..., "us": ...}, ...], where the engine names layers after other things with
 * "nodes", "conversion" and "tensor": kept in the store, for a run that goes on has to see the
 * same. */
static qdq_status ask_engine(qdq_tune_state *t, const char *path, json_t **out,
                             qdq_remote_fate *fate, qdq_error *err)
{
    const bool with_nodes = t->run.by_nodes;
    qdq_group *layers = NULL;
    size_t n = 0;

    QDQ_TRY((with_nodes ? qdq_worker_client_groups : qdq_worker_client_profile)(
        t->tools.lab, path, PROFILE_RUNS, &layers, &n, fate, err));
    *out = list_layers(layers, with_nodes && !are_timed(layers, n) ? 0 : n, with_nodes);
    qdq_free(layers);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}

/* What an engine did not survive says nothing, and is asked again by a run that goes on. */
static qdq_status measure(qdq_tune_state *t, qdq_tune_candidate *c, const char *key, json_t **out,
                          qdq_error *err)
{
    const char *path;
    qdq_remote_fate fate = {0};

    *out = list_layers(NULL, 0, false);
    if (*out == NULL)
        return qdq_nomem(err);
    if (c != t->run.base && qdq_tune_time_is_up(t))
        return QDQ_OK;
    json_decref(*out);
    *out = NULL;
    QDQ_TRY(qdq_tune_model_file(t, c, &path, err));
    qdq_tune_set_deadline(t, t->tools.lab);
    QDQ_TRY(ask_engine(t, path, out, &fate, err));
    QDQ_TRY(qdq_tune_note_refused(t, t->tools.lab, err));
    if (fate.end != QDQ_REMOTE_FINE) {
        qdq_job_log(t->job, QDQ_LOG_WARNING, "no profile of %s (%s: %s)", path,
                    qdq_remote_end_name(fate.end), fate.text);
        return QDQ_OK;
    }
    return qdq_tune_remember(t, key, json_incref(*out), err);
}

static qdq_status get_layers(qdq_tune_state *t, qdq_tune_candidate *c, json_t **out, qdq_error *err)
{
    const char *key = qdq_arena_printf(&t->arena, "%s %s",
                                       t->run.by_nodes ? "profile by nodes" : "profile", c->name);

    if (key == NULL)
        return qdq_nomem(err);
    t->run.builds++;
    QDQ_TRY(qdq_tune_recall(t, key, out, err));
    qdq_status st = *out != NULL ? QDQ_OK : measure(t, c, key, out, err);
    if (st != QDQ_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return st;
}

/* --- times of nodes --------------------------------------------------------------------------- */

/* Takes the list; NULL: there is none. */
static qdq_status take_layers(qdq_tune_state *t, qdq_tune_candidate *c, json_t *layers,
                              qdq_error *err)
{
    const double much = 0.05;
    qdq_tune_times *times = qdq_arena_alloc(&t->arena, sizeof *times);
    qdq_status st = times != NULL
                        ? qdq_tune_attribute(t->task.clean->graph, layers, &t->arena, times, err)
                        : qdq_nomem(err);

    json_decref(layers);
    c->times = times;
    t->run.by_nodes = t->run.by_nodes || (st == QDQ_OK && times->told > much * times->sum);
    return st;
}

static bool can(const qdq_tune_state *t, unsigned capability)
{
    return (qdq_worker_client_engine(t->tools.lab)->capabilities & capability) != 0;
}

static qdq_status take_profile(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    json_t *layers = NULL;

    if (can(t, QDQ_CAN_PROFILE))
        QDQ_TRY(get_layers(t, c, &layers, err));
    return take_layers(t, c, layers, err);
}

/* Where names say too little, the engine may tell the nodes of its layers. */
qdq_status qdq_tune_profile(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    if (c->times != NULL)
        return QDQ_OK;
    t->run.by_nodes = t->run.by_nodes || (can(t, QDQ_NAMES_LAYERS) && can(t, QDQ_CAN_GROUP));
    QDQ_TRY(take_profile(t, c, err));
    if (t->run.by_nodes || c->times->is_known || c->times->sum <= 0 || !can(t, QDQ_CAN_GROUP))
        return QDQ_OK;
    t->run.by_nodes = true;
    return take_profile(t, c, err);
}

qdq_status qdq_tune_profile_from(qdq_tune_state *t, qdq_tune_candidate *c, const qdq_group *g,
                                 size_t n, qdq_error *err)
{
    if (!are_timed(g, n) || c->times != NULL)
        return QDQ_OK;
    json_t *layers = list_layers(g, n, true);
    return layers != NULL ? take_layers(t, c, layers, err) : qdq_nomem(err);
}

/* --- times of decisions ----------------------------------------------------------------------- */

qdq_status qdq_tune_profile_bits(qdq_tune_state *t, const qdq_assign *a, qdq_search_cost *cost,
                                 bool *known, qdq_error *err)
{
    const qdq_decision *g = t->task.space->group;
    qdq_tune_candidate *c;

    QDQ_TRY(qdq_tune_candidate_of(t, a, &c, err));
    QDQ_TRY(qdq_tune_profile(t, c, err));
    const qdq_tune_times *times = c->times;
    *known = times->is_known;
    for (size_t i = 0; i < t->task.space->n_groups && *known; i++) {
        const double share = 1.0 / ((double)qdq_space_groups_beside(t->task.space, i) * times->sum);
        cost[i] = (qdq_search_cost){.own = times->own[g[i].node->id] * share,
                                    .border = times->border[g[i].node->id] / times->sum};
    }
    return QDQ_OK;
}
