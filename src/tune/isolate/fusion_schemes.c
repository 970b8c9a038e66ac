/* fusion_schemes.c - the ways to put Q/DQ into a fusion group, as bits of an assignment. */
#include "tune/isolate/fusion_schemes.h"

#include "base/fail.h"
#include "target/target.h"

const char *const qdq_scheme_kind_names[QDQ_SCHEME_COUNT] = {
    "none", "full", "weight-only", "activation-only", "skip-small", "rules"};

/* --- output channels -------------------------------------------------------------------------- */

/* Along the axis that has them, which is not always the first; INT64_MAX: the target knows none. */
static int64_t output_channels(const qdq_node *n, const qdq_target_op *op, const qdq_tensor *w)
{
    if (w->rank < 2)
        return INT64_MAX;
    switch (op->axis) {
    case QDQ_AXIS_TENSOR:
        return INT64_MAX;
    case QDQ_AXIS_0:
        return w->dim[0];
    case QDQ_AXIS_1: { /* ConvTranspose: those of each group */
        int64_t groups = qdq_node_int(n, "group", 1);

        return groups > 0 && w->dim[1] <= INT64_MAX / groups ? w->dim[1] * groups : INT64_MAX;
    }
    case QDQ_AXIS_LAST:
        return w->dim[w->rank - 1];
    case QDQ_AXIS_GEMM:
        return w->dim[qdq_node_int(n, "transB", 0) != 0 ? w->rank - 2 : w->rank - 1];
    }
    return INT64_MAX;
}

static bool is_small(const qdq_space *s, size_t i)
{
    const qdq_decision *g = &s->group[i];
    const qdq_target_op *op = qdq_target_find(s->target, g->node->type);
    const qdq_value *weight = g->linear && op != NULL ? qdq_node_in(g->node, op->weight) : NULL;
    const qdq_tensor *w = weight != NULL ? qdq_value_const(weight) : NULL;

    return w != NULL && output_channels(g->node, op, w) < QDQ_SCHEME_SMALL;
}

/* --- schemes ---------------------------------------------------------------------------------- */

typedef struct choosing {
    const qdq_fusions *f;
    uint32_t group;
    const qdq_space *s;
    const qdq_assign *allowed;
    /* without small operators there are others left */
    bool skips;
} choosing;

static bool is_inside(const choosing *c, size_t i)
{
    return c->f->of[c->s->group[i].node->id] == c->group;
}

static bool may_be_on(const choosing *c, size_t i)
{
    return c->allowed == NULL || qdq_assign_get(c->allowed, i);
}

static bool has_larger(const choosing *c)
{
    for (size_t i = 0; i < c->s->n_groups; i++)
        if (is_inside(c, i) && may_be_on(c, i) && c->s->group[i].linear && !is_small(c->s, i))
            return true;
    return false;
}

static qdq_space_part part_of(const choosing *c, qdq_scheme_kind kind, size_t i)
{
    if (!may_be_on(c, i))
        return QDQ_PART_NONE;
    switch (kind) {
    case QDQ_SCHEME_NONE:
    case QDQ_SCHEME_COUNT:
        return QDQ_PART_NONE;
    case QDQ_SCHEME_FULL:
        return QDQ_PART_FULL;
    case QDQ_SCHEME_WEIGHT_ONLY:
        return QDQ_PART_WEIGHT; /* of what has no halves this is nothing */
    case QDQ_SCHEME_ACTIVATION_ONLY:
        return QDQ_PART_ACTIVATION;
    case QDQ_SCHEME_SKIP_SMALL:
        return c->skips && is_small(c->s, i) ? QDQ_PART_NONE : QDQ_PART_FULL;
    case QDQ_SCHEME_RULES:
        return qdq_assign_get(&c->s->rules, i) ? QDQ_PART_FULL : QDQ_PART_NONE;
    }
    return QDQ_PART_NONE;
}

void qdq_fusion_set_scheme(const qdq_fusions *f, uint32_t group, const qdq_space *s,
                           const qdq_assign *allowed, qdq_scheme_kind kind, qdq_assign *a)
{
    choosing c = {.f = f, .group = group, .s = s, .allowed = allowed};

    c.skips = has_larger(&c);
    for (size_t i = 0; i < s->n_groups; i++)
        if (is_inside(&c, i))
            qdq_space_set_part(s, a, i, part_of(&c, kind, i));
}

static bool is_listed(const qdq_fusion_schemes *all, const qdq_assign *bits)
{
    for (size_t i = 0; i < all->n; i++)
        if (qdq_assign_equal(&all->at[i].bits, bits))
            return true;
    return false;
}

qdq_status qdq_fusion_list_schemes(const qdq_fusions *f, uint32_t group, const qdq_space *s,
                                   const qdq_assign *allowed, qdq_arena *arena,
                                   qdq_fusion_schemes *out, qdq_error *err)
{
    out->n = 0;
    for (unsigned kind = 0; kind < QDQ_SCHEME_COUNT; kind++) {
        qdq_fusion_scheme *next = &out->at[out->n];

        next->kind = (qdq_scheme_kind)kind;
        QDQ_NEED(qdq_assign_new(&next->bits, qdq_space_scheme_bits(s), arena), err);
        qdq_fusion_set_scheme(f, group, s, allowed, next->kind, &next->bits);
        out->n += !is_listed(out, &next->bits);
    }
    return QDQ_OK;
}
