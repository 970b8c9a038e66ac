/* space_dynamic.c - operators with data that is quantized at run time. Which ones can have this
 * form is asked of placement: it places all of them so. */
#include "tune/space/space_dynamic.h"

#include "base/fail.h"
#include "quant/place/place.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"

/* --- which there are -------------------------------------------------------------------------- */

typedef QDQ_VEC(const qdq_node *) node_list;

static bool may_be(const qdq_space *s, const qdq_node *n)
{
    const qdq_target_op *op = qdq_target_find(s->target, n->type);

    return op != NULL && op->dynamic && n->domain[0] == '\0';
}

/* The plan where all operators that may have the form do. */
static qdq_status place_dynamic(const qdq_space *s, const qdq_quantize_opts *opts, qdq_plan *p,
                                qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const qdq_format **formats =
        qdq_arena_array(&scratch, (size_t)s->clean->graph->next_node_id + 1, sizeof *formats);
    const qdq_place_opts po = {.exclude = opts->exclude,
                               .include = opts->include,
                               .op_types = opts->op_types,
                               .exclude_op_types = opts->exclude_op_types,
                               .formats = formats,
                               .finite = s->finite};
    qdq_status st = qdq_allocated(formats != NULL, err);

    if (st == QDQ_OK) {
        QDQ_FOR_NODES (n, s->clean->graph)
            formats[n->id] = may_be(s, n) ? &s->dynamic_format : NULL;
        st = qdq_place(s->clean, s->target, &po, p, err);
    }
    qdq_arena_free(&scratch);
    return st;
}

/* Two weights of an LSTM are one operator. */
static qdq_status add_readers(qdq_space *s, const qdq_plan_weight *w, node_list *all,
                              qdq_error *err)
{
    for (size_t i = 0; i < w->consumers.n && w->store == QDQ_WEIGHT_AS_DYNAMIC; i++) {
        const qdq_node *n = qdq_space_node(s, w->consumers.at[i].node);
        if (n == NULL || s->dynamic_of[n->id] != QDQ_NOT_DYNAMIC)
            continue;
        s->dynamic_of[n->id] = all->n;
        QDQ_NEED(QDQ_PUSH(&s->arena, all, n), err);
    }
    return QDQ_OK;
}

static qdq_status find_dynamic(qdq_space *s, const qdq_quantize_opts *opts, qdq_plan *p,
                               qdq_error *err)
{
    node_list all = {0};

    QDQ_TRY(place_dynamic(s, opts, p, err));
    for (size_t i = 0; i < p->weights.n; i++)
        QDQ_TRY(add_readers(s, &p->weights.at[i], &all, err));
    s->dynamic = all.at;
    s->n_dynamic = all.n;
    return QDQ_OK;
}

/* An override is a format that the target's author chose. */
qdq_status qdq_space_find_dynamic(qdq_space *s, const qdq_quantize_opts *opts, qdq_error *err)
{
    const size_t n = (size_t)s->clean->graph->next_node_id + 1;

    s->dynamic_of = qdq_arena_array(&s->arena, n, sizeof *s->dynamic_of);
    QDQ_NEED(s->dynamic_of != NULL, err);
    for (size_t i = 0; i < n; i++)
        s->dynamic_of[i] = QDQ_NOT_DYNAMIC;
    if (qdq_format_weight_only(&s->target->format) || s->target->overrides.n > 0 ||
        !qdq_target_get_dynamic(s->target, &s->dynamic_format))
        return QDQ_OK;
    qdq_plan *p = qdq_plan_new();
    qdq_status st = p != NULL ? find_dynamic(s, opts, p, err) : qdq_nomem(err);
    qdq_plan_free(p);
    return st;
}

size_t qdq_space_dynamic_bits(const qdq_space *s)
{
    return s->n_dynamic;
}

size_t qdq_space_dynamic_of(const qdq_space *s, const qdq_node *n)
{
    return n->graph == s->clean->graph ? s->dynamic_of[n->id] : QDQ_NOT_DYNAMIC;
}

/* --- assignments ------------------------------------------------------------------------------ */

static size_t bit_of(const qdq_space *s, size_t i)
{
    return qdq_space_edge_bits(s) - s->n_formats - s->n_dynamic + i;
}

bool qdq_space_is_dynamic(const qdq_space *s, const qdq_assign *a, size_t i)
{
    return a->n == qdq_space_edge_bits(s) && qdq_assign_get(a, bit_of(s, i));
}

size_t qdq_space_count_dynamic(const qdq_space *s, const qdq_assign *a)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_dynamic; i++)
        n += qdq_space_is_dynamic(s, a, i);
    return n;
}

void qdq_space_make_dynamic(const qdq_space *s, qdq_assign *a, size_t i)
{
    const qdq_node *n = s->dynamic[i];

    for (size_t g = s->first_group[n->id]; g < s->n_groups && s->group[g].node == n; g++)
        qdq_space_set_part(s, a, g, QDQ_PART_NONE);
    for (size_t e = s->first_edge[n->id]; e < s->n_edges && s->edge[e].node == n; e++)
        if (qdq_space_is_flipped(s, a, e))
            qdq_space_flip(s, a, e);
    qdq_assign_set(a, bit_of(s, i), true);
}

qdq_status qdq_space_dynamic_formats(const qdq_space *s, const qdq_assign *a, qdq_arena *arena,
                                     const qdq_format *const **out, qdq_error *err)
{
    const qdq_format **formats = NULL;

    *out = NULL;
    for (size_t i = 0; i < s->n_dynamic; i++) {
        if (!qdq_space_is_dynamic(s, a, i))
            continue;
        if (formats == NULL)
            formats =
                qdq_arena_array(arena, (size_t)s->clean->graph->next_node_id + 1, sizeof *formats);
        QDQ_NEED(formats != NULL, err);
        formats[s->dynamic[i]->id] = &s->dynamic_format;
    }
    *out = formats;
    return QDQ_OK;
}
