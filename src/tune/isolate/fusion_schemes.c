/* fusion_schemes.c - the ways to put Q/DQ into a fusion group, as bits of an assignment. */
#include "tune/isolate/fusion_schemes.h"

#include "base/fail.h"

const char *const qdq_scheme_kind_names[QDQ_SCHEME_COUNT] = {
    "none", "full", "rules", "skip-small", "weight-only", "activation-only"};

/* By what it gives: images have their channels in front. */
static bool is_small(const qdq_decision *g)
{
    const qdq_value *v = qdq_node_out(g->node, 0);
    const qdq_type *t = v != NULL ? v->type : NULL;

    if (!g->linear || t == NULL || t->rank < 2)
        return false;
    const bool image = QDQ_OP_IS_IN(g->node->op, QDQ_OP_CONV, QDQ_OP_CONVTRANSPOSE);
    const int64_t channels = t->dim[image ? 1 : t->rank - 1].value;
    return channels >= 0 && channels < QDQ_SCHEME_SMALL;
}

static bool may_be_on(const qdq_space *s, const qdq_assign *allowed, size_t i, const qdq_fusions *f,
                      uint32_t group)
{
    return f->of[s->group[i].node->id] == group && (allowed == NULL || qdq_assign_get(allowed, i));
}

/* `skips`: without small operators there are others left. */
static qdq_space_part part_of(const qdq_space *s, qdq_scheme_kind kind, bool skips, size_t i)
{
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
        return skips && is_small(&s->group[i]) ? QDQ_PART_NONE : QDQ_PART_FULL;
    case QDQ_SCHEME_RULES:
        return qdq_assign_get(&s->rules, i) ? QDQ_PART_FULL : QDQ_PART_NONE;
    }
    return QDQ_PART_NONE;
}

void qdq_fusion_set_scheme(const qdq_fusions *f, uint32_t group, const qdq_space *s,
                           const qdq_assign *allowed, qdq_scheme_kind kind, qdq_assign *a)
{
    bool skips = false;

    for (size_t i = 0; i < s->n_groups; i++)
        skips |=
            s->group[i].linear && !is_small(&s->group[i]) && may_be_on(s, allowed, i, f, group);
    for (size_t i = 0; i < s->n_groups; i++)
        if (f->of[s->group[i].node->id] == group)
            qdq_space_set_part(s, a, i,
                               may_be_on(s, allowed, i, f, group) ? part_of(s, kind, skips, i)
                                                                  : QDQ_PART_NONE);
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
