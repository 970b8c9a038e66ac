/* fold_state.c - results of constant folding on one graph: stored, counted in bytes, released. */
#include "opt/fold_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum { SMALL = 256 }; /* bytes: results up to here lie in the pass's arena */

/* --- results ---------------------------------------------------------------------------------- */

qdq_fold_result *qdq_fold_result_of(const qdq_folder *f, const qdq_value *v)
{
    if (v->graph != f->g || v->id >= f->n_values || f->result[v->id].c.data == NULL)
        return NULL;
    return &f->result[v->id];
}

static bool keep_result(qdq_folder *f, const qdq_value *v, const qdq_const *c)
{
    qdq_fold_result *r = &f->result[v->id];
    int64_t *dim = qdq_arena_copy(&f->memory, c->dim, (size_t)c->rank, sizeof *dim);
    void *data;

    if (dim == NULL)
        return false;
    if (c->bytes <= SMALL)
        data = qdq_arena_alloc(&f->memory, c->bytes + 1);
    else
        data = r->heap = malloc(c->bytes);
    if (data == NULL)
        return false;
    if (c->bytes > 0)
        memcpy(data, c->data, c->bytes);
    r->c = *c;
    r->c.dim = dim;
    r->c.data = data;
    return true;
}

bool qdq_fold_keep_results(qdq_folder *f, const qdq_node *n, const qdq_const *out, uint64_t *bytes)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (n->out[i] == NULL)
            continue;
        if (!keep_result(f, n->out[i], &out[i]))
            return false;
        *bytes += out[i].bytes;
    }
    return true;
}

void qdq_fold_drop_result(qdq_fold_result *r)
{
    free(r->heap);
    r->heap = NULL;
}

uint64_t qdq_fold_bytes_of(const qdq_folder *f, const qdq_value *v)
{
    const qdq_fold_result *r = qdq_fold_result_of(f, v);
    const qdq_tensor *t = r == NULL ? qdq_value_const(v) : NULL;
    size_t bytes = 0;

    if (r != NULL)
        return r->c.bytes;
    return t != NULL && qdq_elem_bytes(t->elem, t->count, &bytes) ? bytes : 0;
}

bool qdq_fold_may_free(const qdq_folder *f, const qdq_value *v)
{
    return v->n_output == 0 && !v->is_input && v->graph == f->g;
}

bool qdq_fold_is_parameter(const qdq_node *n, uint32_t i)
{
    return qdq_node_is_qdq(n) && (i == 1 || i == 2);
}

/* --- one node --------------------------------------------------------------------------------- */

bool qdq_fold_all_known(const qdq_folder *f, const qdq_node *n)
{
    if (n->n_in > QDQ_EVAL_INPUTS || n->n_out > QDQ_EVAL_OUTPUTS || n->n_out == 0)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        if (v != NULL && qdq_fold_result_of(f, v) == NULL && qdq_value_const(v) == NULL)
            return false;
    }
    return true;
}

qdq_status qdq_fold_evaluate(qdq_folder *f, const qdq_node *n, uint64_t max_bytes, qdq_const *out,
                             const char **why)
{
    qdq_const in[QDQ_EVAL_INPUTS];
    const qdq_const *at[QDQ_EVAL_INPUTS];

    *why = NULL;
    for (uint32_t i = 0; i < n->n_in && *why == NULL; i++) {
        const qdq_value *v = n->in[i].value;
        const qdq_fold_result *r = v != NULL ? qdq_fold_result_of(f, v) : NULL;

        at[i] = v == NULL ? NULL : r != NULL ? &r->c : &in[i];
        if (at[i] == &in[i])
            QDQ_TRY(qdq_const_of_tensor(qdq_value_const(v), &f->work, &in[i], why, f->err));
    }
    if (*why != NULL)
        return QDQ_OK;
    return qdq_eval_node(n, f->opset, at, max_bytes, &f->work, out, why, f->err);
}

void qdq_fold_release_inputs(qdq_folder *f, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;

        if (v == NULL || v->graph != f->g || v->id >= f->n_values || --f->left[v->id] > 0 ||
            v->n_output > 0)
            continue;
        if (!v->is_input)
            f->policy.grown -= (int64_t)qdq_fold_bytes_of(f, v);
        if (qdq_fold_result_of(f, v) != NULL)
            qdq_fold_drop_result(&f->result[v->id]);
    }
}
