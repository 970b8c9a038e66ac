/* space_types.c - other types of activations. The plan of the rest is changed entry by entry, and
 * calibration's scales for the other type are filled in. */
#include "tune/space/space_types.h"

#include <string.h>

#include "base/fail.h"
#include "target/target.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"
#include "tune/space/space_scales.h"

/* --- which tensors there are ------------------------------------------------------------------ */

qdq_status qdq_space_find_typed(qdq_space *s, qdq_error *err)
{
    const size_t n = s->clean->graph->values.n;

    s->typed = qdq_arena_array(&s->arena, n + 1, sizeof *s->typed);
    QDQ_NEED(s->typed != NULL, err);
    for (size_t i = 0; i < n; i++)
        s->typed[i] = QDQ_NOT_TYPED;
    for (size_t i = 0; i < s->n_edges && s->target->others.n > 0; i++) {
        uint32_t *number = &s->typed[s->edge[i].value->id];
        if (*number == QDQ_NOT_TYPED)
            *number = s->n_typed++;
    }
    return QDQ_OK;
}

size_t qdq_space_type_bits(const qdq_space *s)
{
    return s->target->others.n * s->n_typed;
}

uint32_t qdq_space_typed(const qdq_space *s, const qdq_value *v)
{
    return v->graph == s->clean->graph ? s->typed[v->id] : QDQ_NOT_TYPED;
}

static size_t bit_of(const qdq_space *s, uint32_t typed, size_t type)
{
    return qdq_space_scheme_bits(s) + s->n_edges + (type - 1) * s->n_typed + typed;
}

size_t qdq_space_get_type(const qdq_space *s, const qdq_assign *a, uint32_t typed)
{
    if (a->n != qdq_space_edge_bits(s) || typed == QDQ_NOT_TYPED)
        return 0;
    for (size_t k = 1; k <= s->target->others.n; k++)
        if (qdq_assign_get(a, bit_of(s, typed, k)))
            return k;
    return 0;
}

void qdq_space_set_type(const qdq_space *s, qdq_assign *a, uint32_t typed, size_t type)
{
    for (size_t k = 1; k <= s->target->others.n; k++)
        qdq_assign_set(a, bit_of(s, typed, k), k == type);
}

/* --- what a plan gets ------------------------------------------------------------------------- */

const qdq_value *qdq_space_type_decider(const qdq_space *s, const qdq_plan_tensor *e)
{
    const qdq_value *v = qdq_graph_find(s->clean->graph, e->like != NULL ? e->like : e->tensor);

    return !e->known && e->form == NULL && qdq_plan_asked(e) == s->target->format.activation.type &&
                   v != NULL && qdq_space_typed(s, v) != QDQ_NOT_TYPED
               ? v
               : NULL;
}

typedef struct retyping {
    const qdq_space *s;
    const qdq_assign *a;
    qdq_plan *p;
    qdq_arena scratch;
    /* by entry */
    size_t *type;
    /* group -> 1 + its type; 0: it has a member whose type stays */
    qdq_map group;
    qdq_error *err;
} retyping;

static qdq_status find_group_types(retyping *r)
{
    for (size_t i = 0; i < r->p->tensors.n; i++) {
        const qdq_plan_tensor *e = &r->p->tensors.at[i];
        const qdq_value *v = qdq_space_type_decider(r->s, e);
        bool is_new;
        if (e->group == NULL)
            continue;
        qdq_map_value *of = qdq_map_put(&r->group, e->group, &is_new);
        QDQ_NEED(of != NULL, r->err);
        if (is_new)
            of->num = 1;
        const size_t type =
            v != NULL ? qdq_space_get_type(r->s, r->a, qdq_space_typed(r->s, v)) : 0;
        if (v == NULL)
            of->num = 0;
        else if (of->num == 1)
            of->num = 1 + type;
    }
    return QDQ_OK;
}

/* *any: some entries have another type. */
static qdq_status find_types(retyping *r, bool *any)
{
    *any = false;
    r->type = qdq_arena_array(&r->scratch, r->p->tensors.n + 1, sizeof *r->type);
    QDQ_NEED(r->type != NULL, r->err);
    QDQ_TRY(find_group_types(r));
    for (size_t i = 0; i < r->p->tensors.n; i++) {
        const qdq_plan_tensor *e = &r->p->tensors.at[i];
        const qdq_value *v = qdq_space_type_decider(r->s, e);
        const qdq_map_value *group = e->group != NULL ? qdq_map_get(&r->group, e->group) : NULL;
        if (group != NULL)
            r->type[i] = group->num > 1 ? (size_t)group->num - 1 : 0;
        else if (v != NULL)
            r->type[i] = qdq_space_get_type(r->s, r->a, qdq_space_typed(r->s, v));
        *any = *any || r->type[i] > 0;
    }
    return QDQ_OK;
}

static bool same_numbers(const qdq_plan_tensor *a, const qdq_plan_tensor *b)
{
    return a->qparam.type == b->qparam.type && a->qparam.scale == b->qparam.scale &&
           a->qparam.zero_point == b->qparam.zero_point;
}

/* Scales of the entries with another type, from a plan of these alone: what shares a scale is
 * together in it. An entry whose numbers are in the other format what they were stays as it is. */
static qdq_status fill_types(retyping *r, const qdq_space_scaling *from)
{
    qdq_plan all = *r->p;
    qdq_status st = QDQ_OK;
    size_t at = 0;

    memset(&r->p->tensors, 0, sizeof r->p->tensors);
    for (size_t i = 0; i < all.tensors.n && st == QDQ_OK; i++) {
        qdq_plan_tensor own = all.tensors.at[i];
        if (r->type[i] == 0)
            continue;
        own.form = &r->s->target->others.at[r->type[i] - 1].format;
        own.qparam = (qdq_qparam){.type = own.form->activation.type};
        own.asked = own.qparam.type;
        own.fold = NULL;
        own.from_plan = false;
        own.origin = "tuned";
        if (!QDQ_PUSH(&r->p->arena, &r->p->tensors, own))
            st = qdq_nomem(r->err);
    }
    if (st == QDQ_OK)
        st = qdq_space_fill_scales(r->s, from, r->p, r->err);
    const qdq_plan filled = *r->p;
    r->p->tensors = all.tensors;
    /* what calibration saw no value of is not in it */
    for (size_t i = 0; i < all.tensors.n && at < filled.tensors.n && st == QDQ_OK; i++) {
        qdq_plan_tensor *e = &r->p->tensors.at[i];
        const qdq_plan_tensor *own = &filled.tensors.at[at];
        if (r->type[i] == 0 || own->consumers.at != e->consumers.at ||
            strcmp(own->tensor, e->tensor) != 0)
            continue;
        at++;
        if (!same_numbers(own, e))
            *e = *own;
    }
    return st;
}

static bool chooses_types(const qdq_space *s, const qdq_assign *a)
{
    const size_t first = qdq_space_scheme_bits(s) + s->n_edges, n = qdq_space_type_bits(s);

    for (size_t i = 0; i < n && a->n == qdq_space_edge_bits(s); i++)
        if (qdq_assign_get(a, first + i))
            return true;
    return false;
}

qdq_status qdq_space_retype(const qdq_space *s, const qdq_assign *a, const qdq_space_scaling *from,
                            qdq_plan *p, qdq_error *err)
{
    retyping r = {.s = s, .a = a, .p = p, .scratch = QDQ_ARENA_INIT, .err = err};
    bool any = false;

    if (!chooses_types(s, a))
        return QDQ_OK;
    qdq_status st = find_types(&r, &any);
    if (st == QDQ_OK && any)
        st = fill_types(&r, from);
    if (st == QDQ_OK && any && !qdq_plan_finish(p))
        st = qdq_nomem(err);
    qdq_map_free(&r.group);
    qdq_arena_free(&r.scratch);
    return st;
}
