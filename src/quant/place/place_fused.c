/* place_fused.c - which node of the cleaned model computes what a fused one did. */
#include "quant/place/place_fused.h"

#include <string.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/regexp.h"
#include "base/vec.h"

typedef QDQ_VEC(const char *) names;

typedef struct follower {
    const qdq_model *m, *clean;
    /* labels of the cleaned model's main graph */
    qdq_map left;
    qdq_arena *arena;
    const qdq_job *job;
} follower;

static const qdq_node *producer_in(const qdq_model *clean, const qdq_value *v)
{
    const qdq_value *same = v != NULL ? qdq_graph_find(clean->graph, v->name) : NULL;

    return same != NULL ? same->producer : NULL;
}

/* Scales and shifts by constants are folded into the weights of the node before them. */
static bool folds_into_weights(const qdq_node *n)
{
    return n->op == QDQ_OP_BATCHNORMALIZATION || n->op == QDQ_OP_MUL || n->op == QDQ_OP_DIV ||
           n->op == QDQ_OP_ADD || n->op == QDQ_OP_SUB;
}

static bool has_weights(const qdq_node *n)
{
    return n->op == QDQ_OP_CONV || n->op == QDQ_OP_CONVTRANSPOSE || n->op == QDQ_OP_GEMM ||
           n->op == QDQ_OP_MATMUL;
}

/* The node whose weights n was folded into, possibly with others of its kind; NULL: none. */
static const qdq_node *folded_into(const qdq_model *clean, const qdq_node *n)
{
    enum { LONGEST_CHAIN = 8 };

    for (int i = 0; i < LONGEST_CHAIN && n != NULL && folds_into_weights(n); i++) {
        const qdq_node *before = NULL;

        for (uint32_t k = 0; k < n->n_in; k++) {
            const qdq_value *v = n->in[k].value;
            const qdq_node *maker = producer_in(clean, v);

            if (maker != NULL && has_weights(maker))
                return maker;
            if (v != NULL && v->producer != NULL && v->producer->op != QDQ_OP_CONSTANT)
                before = v->producer;
        }
        n = before;
    }
    return NULL;
}

const qdq_node *qdq_place_maker(const qdq_model *clean, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qdq_node *maker = producer_in(clean, n->out[i]);

        if (maker != NULL)
            return maker;
    }
    return folded_into(clean, n);
}

static const qdq_node *reader_of(const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && n->out[i]->first != NULL)
            return n->out[i]->first->node;
    return NULL;
}

/* Fusing keeps the name of the last result: it is looked for along nodes that are gone, too. NULL:
 * the node was not fused into another. */
static const qdq_node *heir_of(const follower *f, const qdq_node *n)
{
    enum { LONGEST_CHAIN = 64 };

    for (int i = 0; i < LONGEST_CHAIN && n != NULL; i++) {
        const qdq_node *heir = qdq_place_maker(f->clean, n);

        if (heir != NULL)
            return heir;
        n = reader_of(n);
        if (n != NULL && n->graph == f->m->graph &&
            qdq_map_get(&f->left, qdq_node_label(n, f->arena)) != NULL)
            return NULL;
    }
    return NULL;
}

/* --- one entry -------------------------------------------------------------------------------- */

static qdq_status match_entry(const char *entry, qdq_regexp *re, const char *label, bool *yes,
                              qdq_error *err)
{
    if (entry[0] != '=')
        return qdq_regexp_match(re, label, yes, err);
    *yes = strcmp(entry + 1, label) == 0;
    return QDQ_OK;
}

static bool add_entry(const follower *f, names *out, const char *entry)
{
    for (size_t i = 0; i < out->n; i++)
        if (strcmp(out->at[i], entry) == 0)
            return true;
    return QDQ_PUSH(f->arena, out, entry);
}

static bool add_heir(const follower *f, names *out, const char *label, const qdq_node *heir)
{
    const char *name = qdq_node_label(heir, f->arena);
    const char *entry = qdq_arena_printf(f->arena, "=%s", name);

    qdq_job_log(f->job, QDQ_LOG_WARNING, "node '%s': cleaning fused it; '%s' is meant", label,
                name);
    return entry != NULL && add_entry(f, out, entry);
}

static qdq_status any_left(const follower *f, const char *entry, qdq_regexp *re, bool *any,
                           qdq_error *err)
{
    *any = false;
    QDQ_FOR_NODES (n, f->clean->graph) {
        qdq_arena_mark mark = qdq_arena_get_mark(f->arena);
        QDQ_TRY(match_entry(entry, re, qdq_node_label(n, f->arena), any, err));
        qdq_arena_reset(f->arena, mark);
        if (*any)
            return QDQ_OK;
    }
    return QDQ_OK;
}

static qdq_status follow_with(const follower *f, const char *entry, qdq_regexp *re, names *out,
                              qdq_error *err)
{
    size_t found = 0;
    bool yes;

    QDQ_TRY(any_left(f, entry, re, &yes, err));
    QDQ_FOR_NODES (n, f->m->graph) {
        if (yes)
            break;
        qdq_arena_mark mark = qdq_arena_get_mark(f->arena);
        const char *label = qdq_node_label(n, f->arena);
        bool hit;
        QDQ_TRY(match_entry(entry, re, label, &hit, err));
        const qdq_node *heir = hit ? heir_of(f, n) : NULL;
        QDQ_NEED(heir == NULL || add_heir(f, out, label, heir), err);
        if (heir == NULL)
            qdq_arena_reset(f->arena, mark);
        found += heir != NULL;
    }
    return qdq_allocated(found > 0 || add_entry(f, out, entry), err);
}

static qdq_status follow_entry(const follower *f, const char *entry, names *out, qdq_error *err)
{
    qdq_regexp re;

    if (entry[0] == '=')
        return follow_with(f, entry, NULL, out, err);
    QDQ_TRY(qdq_regexp_open(entry, false, &re, err));
    qdq_status st = follow_with(f, entry, &re, out, err);
    qdq_regexp_close(&re);
    return st;
}

/* --- lists ------------------------------------------------------------------------------------ */

static qdq_status follow_list(const follower *f, const char *const **list, qdq_error *err)
{
    names out = {NULL, 0, 0};

    if (*list == NULL)
        return QDQ_OK;
    for (size_t i = 0; (*list)[i] != NULL; i++)
        QDQ_TRY(follow_entry(f, (*list)[i], &out, err));
    QDQ_NEED(QDQ_PUSH(f->arena, &out, NULL), err);
    *list = out.at;
    return QDQ_OK;
}

qdq_status qdq_place_follow_names(const qdq_model *m, const qdq_model *clean, qdq_arena *arena,
                                  qdq_quantize_opts *opts, qdq_error *err)
{
    follower f = {m, clean, QDQ_MAP_INIT, arena, opts->job};

    if (opts->exclude == NULL && opts->include == NULL)
        return QDQ_OK;
    qdq_status st = qdq_allocated(qdq_graph_map_labels(clean->graph, arena, &f.left), err);
    if (st == QDQ_OK)
        st = follow_list(&f, &opts->exclude, err);
    if (st == QDQ_OK)
        st = follow_list(&f, &opts->include, err);
    qdq_map_free(&f.left);
    return st;
}
