/* verify_equivalent.c - lists the nodes to leave in float if an engine miscomputes one of them. */
#include <string.h>

#include "base/fail.h"
#include "base/pack.h"
#include "ir/shape.h"
#include "quant/check/verify_state.h"

typedef QDQ_VEC(const qdq_node *) node_list;

typedef struct finding {
    /* with types */
    const qdq_graph *graph;
    const qdq_verify_result *r;
    qdq_arena arena;
    node_list found;
} finding;

static const qdq_node *find_node(finding *f)
{
    QDQ_FOR_NODES (n, f->graph)
        if (strcmp(n->type, f->r->op) == 0 && strcmp(qdq_node_label(n, &f->arena), f->r->node) == 0)
            return n;
    return NULL;
}

static bool has_form(const finding *f, const qdq_node *n, const char *op, const char *form)
{
    char own[QDQ_VERIFY_FORM];

    if (strcmp(n->type, op) != 0 || !qdq_verify_reads_codes(n))
        return false;
    qdq_verify_describe(n, f->r->open, own, sizeof own);
    return strcmp(own, form) == 0;
}

static bool is_found(const finding *f, const qdq_node *n)
{
    for (size_t i = 0; i < f->found.n; i++)
        if (f->found.at[i] == n)
            return true;
    return false;
}

static bool find_same_form(finding *f, const char *op, const char *form)
{
    QDQ_FOR_NODES (n, f->graph)
        if (has_form(f, n, op, form) && !is_found(f, n) && !QDQ_PUSH(&f->arena, &f->found, n))
            return false;
    return true;
}

/* The nodes that read the codes of v, through the DQ behind its Q. */
static bool find_readers_of_codes(finding *f, const qdq_value *v)
{
    QDQ_FOR_USES (q, v)
        for (const qdq_use *d = qdq_verify_converts(q->node) ? q->node->out[0]->first : NULL;
             d != NULL; d = d->next)
            for (const qdq_use *u = qdq_verify_converts(d->node) ? d->node->out[0]->first : NULL;
                 u != NULL; u = u->next)
                if (!is_found(f, u->node) && !QDQ_PUSH(&f->arena, &f->found, u->node))
                    return false;
    return true;
}

/* All that have the form of one that was found, and what makes a Q stand behind the node that was
 * named. */
static bool widen_found(finding *f, const qdq_node *named)
{
    const size_t n = f->found.n;
    char form[QDQ_VERIFY_FORM];
    bool ok = true;

    for (uint32_t i = 0; named != NULL && i < named->n_out && ok; i++)
        ok = named->out[i] == NULL || find_readers_of_codes(f, named->out[i]);
    for (size_t i = 0; i < n && ok; i++) {
        qdq_verify_describe(f->found.at[i], f->r->open, form, sizeof form);
        ok = find_same_form(f, f->found.at[i]->type, form);
    }
    return ok;
}

/* Goes back from `of` until a node reads quantized values. */
static bool find_before(finding *f, const qdq_node *of)
{
    bool *seen = qdq_arena_array(&f->arena, (size_t)f->graph->next_node_id + 1, sizeof *seen);
    node_list open = {0};
    bool ok = seen != NULL && QDQ_PUSH(&f->arena, &open, of);

    while (ok && open.n > 0) {
        const qdq_node *n = open.at[--open.n];

        for (uint32_t i = 0; ok && i < n->n_in; i++) {
            const qdq_value *v = qdq_node_in(n, i);
            const qdq_node *p = v != NULL && v->graph == f->graph ? v->producer : NULL;

            if (p == NULL || seen[p->id])
                continue;
            seen[p->id] = true;
            ok = qdq_verify_reads_codes(p) ? QDQ_PUSH(&f->arena, &f->found, p)
                                           : QDQ_PUSH(&f->arena, &open, p);
        }
    }
    return ok;
}

static void pack_label(qdq_pack *p, void *to)
{
    const char **label = to;

    *label = qdq_pack_string(p, *label);
}

static qdq_status pack_labels(finding *f, const char ***labels, size_t *n, qdq_error *err)
{
    const char **list = qdq_arena_array(&f->arena, f->found.n + 1, sizeof *list);

    QDQ_NEED(list != NULL, err);
    for (size_t i = 0; i < f->found.n; i++)
        list[i] = qdq_node_label(f->found.at[i], &f->arena);
    *labels = qdq_pack_list(list, f->found.n + 1, sizeof *list, pack_label);
    QDQ_NEED(*labels != NULL, err);
    *n = f->found.n;
    return QDQ_OK;
}

qdq_status qdq_verify_equivalent(const qdq_model *m, const qdq_verify_result *r, bool wide,
                                 const char ***labels, size_t *n, qdq_error *err)
{
    finding f = {.r = r, .arena = QDQ_ARENA_INIT};
    qdq_model *copy;

    *labels = NULL;
    *n = 0;
    QDQ_TRY(qdq_model_clone_typed(m, NULL, &copy, err));
    f.graph = copy->graph;
    const qdq_node *named = find_node(&f);
    bool ok = named == NULL || (qdq_verify_reads_codes(named) ? find_same_form(&f, r->op, r->form)
                                                              : find_before(&f, named));
    ok = ok && (!wide || widen_found(&f, named));
    qdq_status st = ok ? pack_labels(&f, labels, n, err) : qdq_nomem(err);
    qdq_arena_free(&f.arena);
    qdq_model_free(copy);
    return st;
}
