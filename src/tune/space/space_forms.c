/* space_forms.c - operators in other formats than the target's. Which ones can have a format is
 * asked of placement: it places all of them so. */
#include "tune/space/space_forms.h"

#include "base/fail.h"
#include "quant/place/place.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"

/* --- which there are -------------------------------------------------------------------------- */

static bool may_be(const qdq_space *s, const qdq_node *n, const qdq_format *f)
{
    const qdq_target_op *op = qdq_target_find(s->target, n->type);

    return op != NULL && n->domain[0] == '\0' &&
           (qdq_format_dynamic(f) ? op->dynamic : op->kind == QDQ_KIND_LINEAR);
}

/* The plan where all operators that may have the format do; formats[node id]: it may. */
static qdq_status place_form(const qdq_space *s, const qdq_quantize_opts *opts, const qdq_format *f,
                             const qdq_format **formats, qdq_plan *p, qdq_error *err)
{
    const qdq_place_opts po = {.exclude = opts->exclude,
                               .include = opts->include,
                               .op_types = opts->op_types,
                               .exclude_op_types = opts->exclude_op_types,
                               .formats = formats,
                               .finite = s->finite};

    QDQ_FOR_NODES (n, s->clean->graph)
        formats[n->id] = may_be(s, n, f) ? f : NULL;
    return qdq_place(s->clean, s->target, &po, p, err);
}

/* What a node can have. */
typedef struct possible {
    /* formats, bit by bit */
    uint32_t forms;
    int axis;
} possible;

/* Two weights of an LSTM are one operator. */
static void note_readers(const qdq_space *s, const qdq_plan *p, const qdq_format *const *formats,
                         size_t form, possible *can)
{
    for (size_t i = 0; i < p->weights.n; i++)
        for (size_t k = 0; k < p->weights.at[i].consumers.n; k++) {
            const qdq_node *n = qdq_space_node(s, p->weights.at[i].consumers.at[k].node);
            if (n == NULL || formats[n->id] == NULL)
                continue;
            can[n->id].forms |= (uint32_t)1 << form;
            can[n->id].axis = p->weights.at[i].axis;
        }
}

static qdq_status find_form(const qdq_space *s, const qdq_quantize_opts *opts, size_t form,
                            possible *can, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const qdq_format **formats =
        qdq_arena_array(&scratch, (size_t)s->clean->graph->next_node_id + 1, sizeof *formats);
    qdq_plan *p = qdq_plan_new();
    qdq_status st = qdq_allocated(formats != NULL && p != NULL, err);

    if (st == QDQ_OK)
        st = place_form(s, opts, &s->forms.at[form].format, formats, p, err);
    if (st == QDQ_OK)
        note_readers(s, p, formats, form, can);
    qdq_plan_free(p);
    qdq_arena_free(&scratch);
    return st;
}

static qdq_status list_formed(qdq_space *s, const possible *can, qdq_error *err)
{
    QDQ_VEC(qdq_space_form) all = {0};

    QDQ_FOR_NODES (n, s->clean->graph) {
        s->first_formed[n->id] = all.n;
        for (size_t k = 0; k < s->forms.n; k++)
            if ((can[n->id].forms >> k & 1) != 0) {
                const qdq_space_form form = {n, k, can[n->id].axis};
                QDQ_NEED(QDQ_PUSH(&s->arena, &all, form), err);
            }
    }
    s->formed = all.at;
    s->n_formed = all.n;
    return QDQ_OK;
}

qdq_status qdq_space_find_forms(qdq_space *s, const qdq_quantize_opts *opts, qdq_error *err)
{
    const size_t n = (size_t)s->clean->graph->next_node_id + 1;
    possible *can = qdq_arena_array(&s->arena, n, sizeof *can);

    s->first_formed = qdq_arena_array(&s->arena, n, sizeof *s->first_formed);
    QDQ_NEED(can != NULL && s->first_formed != NULL, err);
    qdq_target_list_forms(s->target, &s->forms);
    for (size_t k = 0; k < s->forms.n; k++)
        QDQ_TRY(find_form(s, opts, k, can, err));
    return list_formed(s, can, err);
}

const char *qdq_space_forms_name(const qdq_space *s)
{
    return qdq_format_weight_only(&s->target->format) ? "other weights"
                                                      : "data quantized at run time";
}

size_t qdq_space_form_bits(const qdq_space *s)
{
    return s->n_formed;
}

/* --- assignments ------------------------------------------------------------------------------ */

static size_t bit_of(const qdq_space *s, size_t i)
{
    return qdq_space_edge_bits(s) - s->n_formats - s->n_formed + i;
}

bool qdq_space_has_form(const qdq_space *s, const qdq_assign *a, size_t i)
{
    return a->n == qdq_space_edge_bits(s) && qdq_assign_get(a, bit_of(s, i));
}

size_t qdq_space_form_of(const qdq_space *s, const qdq_assign *a, const qdq_node *n)
{
    if (n->graph == s->clean->graph)
        for (size_t i = s->first_formed[n->id]; i < s->n_formed && s->formed[i].node == n; i++)
            if (qdq_space_has_form(s, a, i))
                return i;
    return QDQ_NO_FORM;
}

bool qdq_space_is_dynamic(const qdq_space *s, size_t i)
{
    return qdq_format_dynamic(&s->forms.at[s->formed[i].form].format);
}

size_t qdq_space_count_forms(const qdq_space *s, const qdq_assign *a, bool dynamic)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_formed; i++)
        n += qdq_space_has_form(s, a, i) && qdq_space_is_dynamic(s, i) == dynamic;
    return n;
}

void qdq_space_set_form(const qdq_space *s, qdq_assign *a, size_t i)
{
    const qdq_node *n = s->formed[i].node;

    for (size_t g = s->first_group[n->id]; g < s->n_groups && s->group[g].node == n; g++)
        qdq_space_set_part(s, a, g, QDQ_PART_NONE);
    for (size_t e = s->first_edge[n->id]; e < s->n_edges && s->edge[e].node == n; e++)
        if (qdq_space_is_flipped(s, a, e))
            qdq_space_flip(s, a, e);
    for (size_t k = s->first_formed[n->id]; k < s->n_formed && s->formed[k].node == n; k++)
        qdq_assign_set(a, bit_of(s, k), k == i);
}

void qdq_space_set_own(const qdq_space *s, qdq_assign *a, const qdq_node *n)
{
    for (size_t g = s->first_group[n->id]; g < s->n_groups && s->group[g].node == n; g++)
        qdq_space_set_part(s, a, g, QDQ_PART_FULL);
    for (size_t k = s->first_formed[n->id]; k < s->n_formed && s->formed[k].node == n; k++)
        qdq_assign_set(a, bit_of(s, k), false);
}

qdq_status qdq_space_node_formats(const qdq_space *s, const qdq_assign *a, qdq_arena *arena,
                                  const qdq_format *const **out, qdq_error *err)
{
    const qdq_format **formats = NULL;

    *out = NULL;
    for (size_t i = 0; i < s->n_formed; i++) {
        if (!qdq_space_has_form(s, a, i))
            continue;
        if (formats == NULL)
            formats =
                qdq_arena_array(arena, (size_t)s->clean->graph->next_node_id + 1, sizeof *formats);
        QDQ_NEED(formats != NULL, err);
        formats[s->formed[i].node->id] = &s->forms.at[s->formed[i].form].format;
    }
    *out = formats;
    return QDQ_OK;
}
