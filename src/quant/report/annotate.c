/* annotate.c - writes decisions of the plan into the metadata of nodes. */
#include "quant/report/annotate.h"

#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/map.h"
#include "ir/edit.h"
#include "onnx/node_props.h"
#include "qdq/report.h"
#include "quant/quantize_steps.h"
#include "quant/report/plan_picture.h"

enum { MOST_PROPS = 8, MOST_TEXT = 48 };

static const char prefix[] = "qdq.";

typedef struct props {
    qdq_prop at[MOST_PROPS];
    size_t n;
    char text[3][MOST_TEXT];
} props;

static void add_prop(props *p, const char *key, const char *value)
{
    if (value != NULL && value[0] != '\0')
        p->at[p->n++] = (qdq_prop){key, value};
}

/* Texts of times live in p. */
static void add_times(props *p, const qdq_picture_node *n)
{
    const char *const keys[] = {"qdq.given_us", "qdq.chosen_us", "qdq.saved_us"};
    const double us[] = {n->given_us, n->chosen_us, n->price.saved_us};

    for (int i = 0; i < 3; i++) {
        if (!isfinite(us[i]))
            continue;
        if (i == 2 && isfinite(n->price.doubt_us))
            snprintf(p->text[i], MOST_TEXT, "%.4g +- %.2g", us[i], n->price.doubt_us);
        else
            snprintf(p->text[i], MOST_TEXT, "%.4g", us[i]);
        add_prop(p, keys[i], p->text[i]);
    }
    add_prop(p, "qdq.measured", n->price.measured);
    add_prop(p, "qdq.overruled", n->price.rules);
}

static qdq_status note_node(qdq_node *n, const qdq_picture_node *of, bool timed, qdq_error *err)
{
    props p = {.n = 0};

    add_prop(&p, "qdq.format", qdq_elem_name(of->chosen));
    if (of->weight != QDQ_UNDEFINED)
        add_prop(&p, "qdq.weight", qdq_elem_name(of->weight));
    add_prop(&p, "qdq.why", of->why);
    if (timed)
        add_times(&p, of);
    return qdq_node_set_props(n, prefix, p.at, p.n, err);
}

/* A Q says which rule put it there. */
static qdq_status note_quantizer(qdq_node *n, const qdq_map *rules, qdq_error *err)
{
    const qdq_value *x = qdq_node_in(n, 0);
    props p = {.n = 0};

    add_prop(&p, "qdq.why", x != NULL ? qdq_map_get_ptr(rules, x->name) : NULL);
    return qdq_node_set_props(n, prefix, p.at, p.n, err);
}

/* Names -> nodes of the picture, tensors -> rules. */
static bool index_picture(const qdq_picture *p, qdq_map *nodes, qdq_map *rules)
{
    bool ok = true;

    for (size_t i = 0; i < p->n_nodes && ok; i++)
        ok = qdq_map_set_ptr(nodes, p->node[i].name, &p->node[i]);
    for (size_t i = 0; i < p->n_edges && ok; i++)
        ok = p->edge[i].why == NULL || qdq_map_set_ptr(rules, p->edge[i].tensor, p->edge[i].why);
    return ok;
}

static bool is_drawn(const qdq_graph *g)
{
    return !g->dead && g->function == NULL;
}

static bool name_nodes(qdq_model *m)
{
    for (size_t i = 0; i < m->graphs.n; i++)
        if (is_drawn(m->graphs.at[i]) && !qdq_graph_name_nodes(m->graphs.at[i]))
            return false;
    return true;
}

static qdq_status note_graph(qdq_graph *g, const qdq_map *nodes, const qdq_map *rules, bool timed,
                             qdq_error *err)
{
    QDQ_FOR_NODES (n, g) {
        const qdq_picture_node *of = qdq_map_get_ptr(nodes, n->name);
        QDQ_TRY(of != NULL                       ? note_node(n, of, timed, err)
                : n->op == QDQ_OP_QUANTIZELINEAR ? note_quantizer(n, rules, err)
                                                 : qdq_node_set_props(n, prefix, NULL, 0, err));
    }
    return QDQ_OK;
}

qdq_status qdq_annotate(qdq_model *m, const qdq_picture *p, bool timed, qdq_error *err)
{
    qdq_map nodes = QDQ_MAP_INIT, rules = QDQ_MAP_INIT;
    const bool ok = name_nodes(m) && index_picture(p, &nodes, &rules);
    qdq_status st = qdq_allocated(ok, err);

    if (ok)
        qdq_model_allow_node_props(m);
    for (size_t i = 0; i < m->graphs.n && st == QDQ_OK; i++)
        if (is_drawn(m->graphs.at[i]))
            st = note_graph(m->graphs.at[i], &nodes, &rules, timed, err);
    qdq_map_free(&nodes);
    qdq_map_free(&rules);
    return st;
}

qdq_status qdq_plan_annotate(const qdq_plan *p, const qdq_model *m, const qdq_job *job,
                             qdq_model *quantized, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_model *clean = NULL;
    qdq_target *t = NULL;
    qdq_plan_picture x;

    qdq_status st = qdq_quantize_clean(p, m, job, &clean, err);
    if (st == QDQ_OK && qdq_target_load(p->target, &t, NULL) == QDQ_E_NOMEM)
        st = qdq_nomem(err); /* else it may be a file that is elsewhere */
    if (st == QDQ_OK)
        st = qdq_plan_picture_make(clean, p, t, &arena, &x, err);
    if (st == QDQ_OK)
        st = qdq_annotate(quantized, &x.picture, false, err);
    qdq_target_free(t);
    qdq_model_free(clean);
    qdq_arena_free(&arena);
    return st;
}
