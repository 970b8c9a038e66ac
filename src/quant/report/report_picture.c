/* report_picture.c - the drawing of the model in the page: formats from the plan, times from one
 * profile of the optimized float model and one of the quantized model, scaled to the times of whole
 * runs. */
#include <math.h>

#include "base/fail.h"
#include "quant/goal/node_profile.h"
#include "quant/report/plan_picture.h"
#include "quant/report/report_state.h"

typedef struct layers {
    qdq_layer *at;
    size_t n;
    /* by node id of the clean model, and of all layers: microseconds */
    double *us, all;
} layers;

static qdq_status profile_model(qdq_reporting *r, const qdq_model *m, bool eight, layers *l,
                                qdq_error *err)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    size_t sample;

    o.threads = r->opts.threads;
    o.shapes = r->opts.shapes;
    o.n_shapes = r->opts.n_shapes;
    l->us = qdq_arena_array(&r->arena, (size_t)r->clean->graph->next_node_id + 1, sizeof *l->us);
    QDQ_NEED(l->us != NULL, err);
    QDQ_TRY(qdq_data_find_typical(r->opts.data, r->opts.first, r->opts.count, &sample, err));
    QDQ_TRY(qdq_profile_layers(r->engine, m, &o, r->opts.data, sample, QDQ_PROFILE_RUNS, &l->at,
                               &l->n, err));
    l->all = qdq_profile_nodes(l->at, l->n, &r->node, eight, l->us);
    if (!(l->all > 0))
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "the profile has no times");
    return QDQ_OK;
}

/* --- conversions ------------------------------------------------------------------------------ */

/* The tensor that a Q or DQ of the quantized model converts; NULL: it is neither. */
static const char *converted(const qdq_node *n)
{
    const qdq_value *v = NULL;

    while (n != NULL && qdq_node_is_qdq(n)) {
        v = qdq_node_in(n, 0);
        n = v != NULL ? v->producer : NULL;
    }
    return v != NULL ? v->name : NULL;
}

/* us of layers that are conversions alone, by name of their tensor, as bits of a double. */
static bool add_conversions(qdq_reporting *r, const layers *l, double factor, qdq_map *us)
{
    qdq_map labels = QDQ_MAP_INIT;
    bool ok = qdq_graph_map_labels(r->quantized->graph, &r->arena, &labels);

    for (size_t i = 0; i < l->n && ok; i++) {
        const qdq_layer *g = &l->at[i];
        const qdq_map_value *v = g->n_nodes > 0 ? qdq_map_get(&labels, g->node[0]) : NULL;
        const char *tensor =
            v != NULL && !isnan(g->median_us) && qdq_map_get(&r->node, g->node[0]) == NULL
                ? converted(v->ptr)
                : NULL;
        if (tensor == NULL)
            continue;
        bool is_new;
        qdq_map_value *sum = qdq_map_put(us, tensor, &is_new);
        ok = sum != NULL;
        if (ok && is_new)
            ok = (sum->ptr = qdq_arena_alloc(&r->arena, sizeof(double))) != NULL;
        if (ok)
            *(double *)sum->ptr += g->median_us * factor;
    }
    qdq_map_free(&labels);
    return ok;
}

static bool set_conversions(qdq_reporting *r, qdq_picture *p, const layers *l, double factor)
{
    qdq_map us = QDQ_MAP_INIT;
    const bool ok = add_conversions(r, l, factor, &us);

    for (size_t i = 0; i < p->n_edges && ok; i++) {
        const qdq_map_value *v = p->edge[i].coded ? qdq_map_get(&us, p->edge[i].tensor) : NULL;
        if (v != NULL)
            p->edge[i].convert_us = *(const double *)v->ptr;
    }
    qdq_map_free(&us);
    return ok;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Nodes of one layer are one block. */
static void set_blocks(const qdq_reporting *r, qdq_plan_picture *x, const layers *l)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->at[i].n_nodes; k++) {
            const qdq_node *n = qdq_report_node(r, l->at[i].node[k]);
            const uint32_t at = n != NULL ? x->of[n->id] : QDQ_PICTURE_OUTSIDE;
            if (at != QDQ_PICTURE_OUTSIDE && x->picture.node[at].block == NULL)
                x->picture.node[at].block = l->at[i].layer;
        }
}

static void set_times(qdq_plan_picture *x, const layers l[2], const double factor[2])
{
    for (size_t i = 0; i < x->picture.n_nodes; i++) {
        qdq_picture_node *n = &x->picture.node[i];
        const uint32_t id = x->node[i]->id;

        if (!qdq_plan_picture_is_main(x, i))
            continue;
        n->given_us = l[0].us[id] * factor[0];
        n->chosen_us = l[1].us[id] * factor[1];
        if (n->chosen != n->input) /* its own decision, not that of its layer */
            n->price = (qdq_picture_price){
                QDQ_PRICE_PROFILED, n->given_us - n->chosen_us, NAN, NULL, NULL, NULL};
    }
}

static qdq_status measure_profiles(qdq_reporting *r, qdq_plan_picture *x, layers l[2],
                                   qdq_error *err)
{
    const qdq_model *const models[2] = {r->clean, r->quantized};
    double factor[2];

    for (int i = 0; i < 2; i++) {
        QDQ_TRY(profile_model(r, models[i], i == 1, &l[i], err));
        factor[i] = r->has_time ? r->time[i].median_ms * 1000 / l[i].all : 1;
    }
    set_times(x, l, factor);
    set_blocks(r, x, &l[1]);
    x->picture.times = r->has_time
                           ? "Times come from a profile of each model, scaled to its whole run."
                           : "Times come from a profile of each model.";
    return qdq_allocated(qdq_plan_picture_divide(x, &r->arena) && qdq_plan_picture_fuse(x) &&
                             set_conversions(r, &x->picture, &l[1], factor[1]),
                         err);
}

static bool can_profile(const qdq_reporting *r)
{
    const unsigned needed = QDQ_CAN_PROFILE | QDQ_CAN_LIST_LAYERS;

    return r->engine != NULL && r->opts.data != NULL &&
           (qdq_engine_get_info(r->engine)->capabilities & needed) == needed;
}

static qdq_status set_figures(qdq_reporting *r, qdq_plan_picture *x, qdq_error *err)
{
    for (size_t i = 0; i < x->picture.n_nodes && r->opts.target != NULL; i++)
        QDQ_TRY(qdq_plan_picture_quote(x, i, &x->picture.node[i], r->opts.target, &r->arena, err));
    return QDQ_OK;
}

static qdq_status set_errors(qdq_reporting *r, qdq_plan_picture *x, qdq_error *err)
{
    for (size_t i = 0; i < x->picture.n_nodes; i++) {
        qdq_picture_node *n = &x->picture.node[i];
        const qdq_compare_layer *l = n->chosen != n->input ? qdq_report_layer(r, n->name) : NULL;

        if (l == NULL || !(l->error > 0))
            continue;
        n->price.measured =
            qdq_arena_printf(&r->arena, "introduces %.1f dB by itself", -10 * log10(l->error));
        QDQ_NEED(n->price.measured != NULL, err);
    }
    return QDQ_OK;
}

qdq_status qdq_report_draw(qdq_reporting *r, qdq_error *err)
{
    qdq_error found = QDQ_ERROR_INIT;
    layers l[2] = {{.n = 0}};
    const char *why = NULL;
    qdq_plan_picture x;

    QDQ_TRY(qdq_plan_picture_make(r->clean, r->plan, r->opts.target, &r->arena, &x, err));
    if (r->opts.named)
        qdq_plan_picture_name(&x);
    qdq_status st = can_profile(r) ? measure_profiles(r, &x, l, &found) : QDQ_E_UNSUPPORTED;
    const bool timed = st == QDQ_OK;
    if (!timed && found.text[0] != '\0')
        st = qdq_report_note(r, st, &found, &why, err);
    else
        st = QDQ_OK;
    if (!timed)
        qdq_plan_picture_estimate(&x);
    if (st == QDQ_OK && why != NULL) {
        x.picture.times = qdq_arena_printf(&r->arena, "%s No profile: %s.", x.picture.times, why);
        st = qdq_allocated(x.picture.times != NULL, err);
    }
    if (st == QDQ_OK)
        st = set_errors(r, &x, err);
    if (st == QDQ_OK)
        st = set_figures(r, &x, err);
    r->picture = x.picture;
    for (size_t i = 0; i < r->picture.n_nodes && st == QDQ_OK; i++) /* layers are freed here */
        if (r->picture.node[i].block != NULL && (r->picture.node[i].block = qdq_arena_strdup(
                                                     &r->arena, r->picture.node[i].block)) == NULL)
            st = qdq_nomem(err);
    for (int i = 0; i < 2; i++)
        qdq_free(l[i].at);
    return st;
}
