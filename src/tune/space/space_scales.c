/* space_scales.c - scales of entries, and of everything that a plan of the space can have. */
#include "tune/space/space_scales.h"

#include <string.h>

#include "base/fail.h"
#include "quant/quantize_steps.h"
#include "quant/weights/weight_mse.h"
#include "tune/space/space_edges.h"

/* --- entries ---------------------------------------------------------------------------------- */

/* Plans find out for themselves that these have no range, and leave what reads them float. */
static void drop_empty(qdq_plan *p, const qdq_calib_names *empty)
{
    size_t n = 0;

    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];
        const char *decides = t->like != NULL ? t->like : t->tensor;
        bool gone = false;

        for (size_t k = 0; k < empty->n && !gone; k++)
            gone = strcmp(empty->at[k], decides) == 0;
        if (!gone)
            p->tensors.at[n++] = *t;
    }
    p->tensors.n = n;
}

qdq_status qdq_space_fill_scales(const qdq_space *s, const qdq_space_scaling *from, qdq_plan *p,
                                 qdq_error *err)
{
    const qdq_quantizing q = {.m = s->clean,
                              .target = s->target,
                              .engine = from->engine,
                              .data = from->data,
                              .opts = from->opts,
                              .basis = {.folds = from->folds},
                              .plan = p};
    qdq_calib_names empty = {0};

    QDQ_TRY(qdq_scales_give(from->known, p, err));
    for (size_t before = SIZE_MAX; qdq_plan_needs_samples(p) && empty.n != before;) {
        before = empty.n;
        QDQ_TRY(qdq_find_scales(&q, &empty, err));
        drop_empty(p, &empty);
    }
    return qdq_scales_keep(from->known, p, err);
}

void qdq_space_note_random(qdq_plan *p, const qdq_plan *entries, const qdq_data *data)
{
    if (data != NULL && !qdq_data_is_random(data))
        return;
    for (size_t i = 0; i < entries->tensors.n; i++)
        p->placement_only |= !entries->tensors.at[i].known;
}

qdq_status qdq_space_fill_clips(const qdq_space *s, qdq_scales *known, qdq_plan *p, qdq_error *err)
{
    QDQ_TRY(qdq_scales_give_clips(known, p, err));
    QDQ_TRY(qdq_weight_mse_search(s->clean, p, err));
    return qdq_scales_keep_clips(known, p, err);
}

/* --- all scales ------------------------------------------------------------------------------- */

typedef struct calibrating {
    const qdq_space *s;
    /* for its scales alone */
    qdq_plan *p;
    /* "TYPE FORMAT TENSOR" of entries that decide for themselves */
    qdq_map have;
    /* tensors whose range is pooled with that of others */
    qdq_map grouped;
    /* such tensors on their own: calibration knows a tensor in one way at a time */
    QDQ_VEC(qdq_plan_tensor) later;
    /* such tensors as they were, if there are other types */
    QDQ_VEC(qdq_plan_tensor) groups;
    qdq_error *err;
} calibrating;

/* Of an entry that decides for itself; false: out of memory. */
static bool note_entry(calibrating *c, const qdq_plan_tensor *e, bool *is_new)
{
    const char *key = qdq_arena_printf(&c->p->arena, "%d %p %s", (int)e->qparam.type,
                                       (const void *)e->form, e->tensor);

    return key != NULL && qdq_map_put(&c->have, key, is_new) != NULL;
}

/* An entry of a tensor on its own, whoever it shares a scale with when all is quantized. */
static qdq_status add_single(calibrating *c, const char *tensor, qdq_elem type,
                             const qdq_format *form)
{
    const qdq_plan_tensor entry = {.tensor = tensor,
                                   .all = true,
                                   .qparam = {.type = type},
                                   .form = form,
                                   .rule = "",
                                   .origin = ""};
    bool is_new;

    QDQ_NEED(note_entry(c, &entry, &is_new), c->err);
    if (!is_new)
        return QDQ_OK;
    bool ok = qdq_map_get(&c->grouped, tensor) != NULL
                  ? QDQ_PUSH(&c->p->arena, &c->later, entry)
                  : QDQ_PUSH(&c->p->arena, &c->p->tensors, entry);
    return ok ? QDQ_OK : qdq_nomem(c->err);
}

static qdq_status add_others(calibrating *c, const char *tensor)
{
    for (size_t i = 0; i < c->s->target->others.n; i++) {
        const qdq_format *f = &c->s->target->others.at[i].format;
        QDQ_TRY(add_single(c, tensor, f->activation.type, f));
    }
    return QDQ_OK;
}

/* The target's format, and the other ones that it allows, which have no entry yet. */
static qdq_status add_all_types(calibrating *c, const char *tensor)
{
    QDQ_TRY(add_single(c, tensor, c->s->target->format.activation.type, NULL));
    return add_others(c, tensor);
}

static qdq_status note_own(calibrating *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const qdq_plan_tensor *t = &c->p->tensors.at[i];

        if (t->group != NULL && t->like == NULL &&
            qdq_map_put(&c->grouped, t->tensor, NULL) == NULL)
            return qdq_nomem(c->err);
        if (t->like != NULL || t->group != NULL)
            continue;
        QDQ_NEED(note_entry(c, t, NULL), c->err);
    }
    return QDQ_OK;
}

/* What decides when all is quantized decides for itself when less is. */
static qdq_status add_deciders(calibrating *c, size_t n)
{
    const qdq_elem own = c->s->target->format.activation.type;

    for (size_t i = 0; i < n; i++) {
        const qdq_plan_tensor *t = &c->p->tensors.at[i];

        if (t->known)
            continue;
        if (t->like != NULL || t->group != NULL)
            QDQ_TRY(add_single(c, t->like != NULL ? t->like : t->tensor, t->qparam.type, NULL));
        if (t->qparam.type == own)
            QDQ_TRY(add_all_types(c, t->like != NULL ? t->like : t->tensor));
    }
    return QDQ_OK;
}

/* What shares a scale when all is quantized: also in the other formats. */
static qdq_status note_groups(calibrating *c)
{
    for (size_t i = 0; i < c->p->tensors.n && c->s->target->others.n > 0; i++) {
        const qdq_plan_tensor *e = &c->p->tensors.at[i];
        if (!e->known && e->group != NULL &&
            qdq_plan_asked(e) == c->s->target->format.activation.type &&
            !QDQ_PUSH(&c->p->arena, &c->groups, *e))
            return qdq_nomem(c->err);
    }
    return QDQ_OK;
}

/* The plan of these entries, in this format; NULL: as they are. */
static qdq_status take_entries(calibrating *c, const qdq_plan_tensor *entry, size_t n,
                               const qdq_format *form)
{
    c->p->tensors.n = 0;
    for (size_t i = 0; i < n; i++) {
        qdq_plan_tensor e = entry[i];
        if (form != NULL) {
            e.qparam = (qdq_qparam){.type = form->activation.type};
            e.form = form;
        }
        e.asked = QDQ_UNDEFINED;
        e.fold = NULL;
        QDQ_NEED(QDQ_PUSH(&c->p->arena, &c->p->tensors, e), c->err);
    }
    return QDQ_OK;
}

static bool is_calibrated(const qdq_value *v)
{
    return v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR && v->type->elem == QDQ_FLOAT &&
           qdq_value_const(v) == NULL &&
           (v->producer == NULL || v->producer->op != QDQ_OP_DEQUANTIZELINEAR);
}

/* What the inputs of a group read, in the formats that there are. */
static qdq_status add_inputs(calibrating *c, const qdq_decision *g, const bool *types)
{
    for (uint32_t i = 0; i < g->node->n_in && i < 32; i++) {
        const qdq_value *v = g->node->in[i].value;

        if ((g->inputs >> i & 1) == 0 || !is_calibrated(v))
            continue;
        for (int type = 0; type < QDQ_ELEM_COUNT; type++)
            if (types[type])
                QDQ_TRY(add_single(c, v->name, (qdq_elem)type, NULL));
        QDQ_TRY(add_others(c, v->name));
    }
    return QDQ_OK;
}

/* What kernels may give as codes to whoever reads it. */
static qdq_status add_results(calibrating *c)
{
    for (size_t i = 0; i < c->s->n_edges; i++) {
        const qdq_node *from = qdq_space_source(c->s, c->s->edge[i].value);

        if (from != NULL && c->s->first_group[from->id] != QDQ_NO_GROUP)
            QDQ_TRY(add_all_types(c, c->s->edge[i].value->name));
    }
    return QDQ_OK;
}

static qdq_status add_singles(calibrating *c)
{
    bool types[QDQ_ELEM_COUNT] = {false};
    size_t n = c->p->tensors.n;

    for (size_t i = 0; i < n; i++)
        types[c->p->tensors.at[i].qparam.type] = true;
    QDQ_TRY(note_own(c, n));
    QDQ_TRY(add_deciders(c, n));
    for (size_t i = 0; i < c->s->n_groups; i++)
        QDQ_TRY(add_inputs(c, &c->s->group[i], types));
    return add_results(c);
}

static qdq_status calibrate_all(calibrating *c, const qdq_space_scaling *from)
{
    QDQ_TRY(qdq_quantize_again(from->head, c->p, c->err));
    QDQ_TRY(qdq_space_place_all(c->s, from->opts, c->p, c->err));
    QDQ_TRY(add_singles(c));
    QDQ_TRY(note_groups(c));
    QDQ_TRY(qdq_space_fill_scales(c->s, from, c->p, c->err));
    QDQ_TRY(take_entries(c, c->later.at, c->later.n, NULL));
    QDQ_TRY(qdq_space_fill_scales(c->s, from, c->p, c->err));
    for (size_t i = 0; i < c->s->target->others.n; i++) {
        QDQ_TRY(take_entries(c, c->groups.at, c->groups.n, &c->s->target->others.at[i].format));
        QDQ_TRY(qdq_space_fill_scales(c->s, from, c->p, c->err));
    }
    return qdq_space_fill_clips(c->s, from->known, c->p, c->err);
}

qdq_status qdq_space_calibrate(const qdq_space *s, const qdq_space_scaling *from, qdq_error *err)
{
    calibrating c = {.s = s, .p = qdq_plan_new(), .have = QDQ_MAP_INIT, .err = err};
    qdq_status st = c.p != NULL ? calibrate_all(&c, from) : qdq_nomem(err);

    qdq_map_free(&c.have);
    qdq_map_free(&c.grouped);
    qdq_plan_free(c.p);
    return st;
}
