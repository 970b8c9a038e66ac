/* baseline_weights.c - are these the weights of the model? Names and nodes need not agree, since
 * tools fold and rename: each weight of the file is looked for among the model's constants, where
 * each of its numbers may be off by a step of the file's own scale, and anything beyond the last
 * code where the file has that one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "quant/weights/weights.h"
#include "tune/baseline/baseline.h"

typedef QDQ_VEC(const qdq_value *) constants;

typedef struct matching {
    qdq_arena arena;
    /* of the model, as it came and cleaned */
    constants known;
    const qdq_model *stripped;
    qdq_error *err;
} matching;

static bool is_float(const qdq_value *v)
{
    const qdq_tensor *t = v != NULL && !v->dead ? qdq_value_const(v) : NULL;

    return t != NULL && t->elem == QDQ_FLOAT && t->count > 0;
}

static qdq_status add_constants(matching *k, const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        for (size_t i = 0; i < g->values.n; i++)
            if (is_float(g->values.at[i]) && !QDQ_PUSH(&k->arena, &k->known, g->values.at[i]))
                return qdq_nomem(k->err);
    return QDQ_OK;
}

/* --- what a number may be --------------------------------------------------------------------- */

/* Of each element the interval of what it may have been. */
typedef struct bounds {
    float *low, *high;
} bounds;

static qdq_status new_bounds(const qdq_tensor *t, qdq_arena *scratch, bounds *b, qdq_error *err)
{
    b->low = qdq_arena_array(scratch, (size_t)t->count, sizeof *b->low);
    b->high = qdq_arena_array(scratch, (size_t)t->count, sizeof *b->high);
    return b->low != NULL && b->high != NULL ? QDQ_OK : qdq_nomem(err);
}

/* A weight that stays float: folding rounds, and so do 16 bits. */
static void allow_rounding(const float *w, size_t n, bounds *b)
{
    const float relative = 1.0f / 128, most = qdq_absmax(w, n) * 1e-5f;

    for (size_t i = 0; i < n; i++) {
        const float room = fabsf(w[i]) * relative + most;
        b->low[i] = w[i] - room;
        b->high[i] = w[i] + room;
    }
}

/* Of each channel or block; zeros NULL: all are 0. */
typedef struct scales_of {
    const float *scales;
    const int32_t *zeros;
} scales_of;

/* Scales of a weight of the plan: given ones, or those that follow from it. */
static qdq_status find_scales(const qdq_plan_weight *p, const float *w, const qdq_scale_grid *g,
                              qdq_arena *scratch, scales_of *out, qdq_error *err)
{
    const size_t n = qdq_scale_count(g);
    const qdq_qscheme scheme = qdq_plan_scheme(p);

    *out = (scales_of){p->scales, p->zero_points};
    if (p->scales != NULL)
        return p->n_scales == n ? QDQ_OK
                                : qdq_fail(err, QDQ_E_FORMAT, "'%s': scales do not fit", p->tensor);
    float *own = qdq_arena_array(scratch, 3 * n + 1, sizeof *own);
    int32_t *zero = qdq_arena_array(scratch, n + 1, sizeof *zero);
    QDQ_NEED(own != NULL && zero != NULL, err);
    QDQ_TRY(qdq_weight_ranges(w, g, NULL, own, own + n, err));
    QDQ_TRY(qdq_weight_scales(&scheme, own, own + n, NULL, n, own + 2 * n, zero, err));
    for (size_t i = 0; i < n; i++) /* nothing but zeros has any scale, and no room */
        own[2 * n + i] = own[i] == 0 && own[n + i] == 0 ? 0 : own[2 * n + i];
    *out = (scales_of){own + 2 * n, zero};
    return QDQ_OK;
}

static void allow_step(const qdq_plan_weight *p, float w, float scale, int32_t zero, float *low,
                       float *high)
{
    const float mantissa = 1.0f / 8, least = 1e-6f;
    const qdq_qscheme scheme = qdq_plan_scheme(p);
    int32_t first, last;
    float room = fmaxf(scale * 1.001f, least);

    if (!qdq_qscheme_codes(&scheme, &first, &last)) { /* codes that are numbers */
        *low = w - fabsf(w) * mantissa - room;
        *high = w + fabsf(w) * mantissa + room;
        return;
    }
    *low = w <= ((float)(first - zero) + 0.5f) * scale && scale > 0 ? -INFINITY : w - room;
    *high = w >= ((float)(last - zero) - 0.5f) * scale && scale > 0 ? INFINITY : w + room;
}

static qdq_status allow_steps(const qdq_plan_weight *p, const qdq_tensor *t, const float *w,
                              qdq_arena *scratch, bounds *b, qdq_error *err)
{
    scales_of o;
    qdq_scale_grid g;
    size_t at = 0;

    QDQ_TRY(qdq_weight_grid(t, p->axis, p->block, &g, err));
    QDQ_TRY(find_scales(p, w, &g, scratch, &o, err));
    for (size_t outer = 0; outer < g.c.outer; outer++)
        for (size_t channel = 0; channel < g.c.channels; channel++)
            for (size_t inner = 0; inner < g.c.inner; inner++, at++) {
                const size_t s = qdq_scale_at(&g, outer, channel, inner);
                allow_step(p, w[at], o.scales[s], o.zeros != NULL ? o.zeros[s] : 0, &b->low[at],
                           &b->high[at]);
            }
    return QDQ_OK;
}

/* --- looking for it --------------------------------------------------------------------------- */

static bool is_within(const bounds *b, const float *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(w[i] >= b->low[i] && w[i] <= b->high[i]))
            return false;
    return true;
}

/* w has `rows` times `columns`, and is the transposed one. */
static bool is_within_transposed(const bounds *b, const float *w, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < columns; k++)
            if (!(w[i * columns + k] >= b->low[k * rows + i] &&
                  w[i * columns + k] <= b->high[k * rows + i]))
                return false;
    return true;
}

static qdq_status is_it(matching *k, const qdq_tensor *t, const bounds *b, const qdq_value *known,
                        bool *out)
{
    const qdq_tensor *o = qdq_value_const(known);
    const bool turned =
        t->rank == 2 && o->rank == 2 && t->dim[0] == o->dim[1] && t->dim[1] == o->dim[0];
    const float *w;

    *out = false;
    if (!turned && !qdq_tensor_same_type(t, o))
        return QDQ_OK;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = qdq_weight_floats(o, &scratch, &w, k->err);
    if (st == QDQ_OK)
        *out = (qdq_tensor_same_type(t, o) && is_within(b, w, (size_t)t->count)) ||
               (turned && is_within_transposed(b, w, (size_t)o->dim[0], (size_t)o->dim[1]));
    qdq_arena_free(&scratch);
    return st;
}

static qdq_status find_in_model(matching *k, const qdq_value *v, const bounds *b, bool *found)
{
    const qdq_tensor *t = qdq_value_const(v);

    *found = false;
    for (int by_name = 1; by_name >= 0; by_name--) /* the one of that name first */
        for (size_t i = 0; i < k->known.n && !*found; i++) {
            const bool same = strcmp(k->known.at[i]->name, v->name) == 0;
            if (same == (by_name == 1))
                QDQ_TRY(is_it(k, t, b, k->known.at[i], found));
        }
    return QDQ_OK;
}

/* p NULL: it stays float. */
static qdq_status find_weight(matching *k, const qdq_value *v, const qdq_plan_weight *p,
                              bool *found)
{
    const qdq_tensor *t = qdq_value_const(v);
    qdq_arena scratch = QDQ_ARENA_INIT;
    const float *w;
    bounds b;

    qdq_status st = new_bounds(t, &scratch, &b, k->err);
    if (st == QDQ_OK)
        st = qdq_weight_floats(t, &scratch, &w, k->err);
    if (st == QDQ_OK && p != NULL)
        st = allow_steps(p, t, w, &scratch, &b, k->err);
    else if (st == QDQ_OK)
        allow_rounding(w, (size_t)t->count, &b);
    if (st == QDQ_OK)
        st = find_in_model(k, v, &b, found);
    qdq_arena_free(&scratch);
    return st;
}

/* --- which ones ------------------------------------------------------------------------------- */

static const qdq_value *find_value(const qdq_model *m, const char *name)
{
    QDQ_FOR_GRAPHS (g, m) {
        const qdq_value *v = qdq_graph_find(g, name);
        if (v != NULL)
            return v;
    }
    return NULL;
}

static bool is_weight_of(const qdq_node *n, uint32_t input)
{
    if (n->op == QDQ_OP_MATMUL)
        return input < 2;
    return input == 1 &&
           (n->op == QDQ_OP_CONV || n->op == QDQ_OP_CONVTRANSPOSE || n->op == QDQ_OP_GEMM);
}

static qdq_status match_plan(matching *k, const qdq_plan *p, qdq_map *asked, const char **missing)
{
    for (size_t i = 0; i < p->weights.n && *missing == NULL; i++) {
        const qdq_value *v = find_value(k->stripped, p->weights.at[i].tensor);
        bool found;

        if (!is_float(v))
            continue;
        QDQ_NEED(qdq_map_put(asked, v->name, NULL) != NULL, k->err);
        QDQ_TRY(find_weight(k, v, &p->weights.at[i], &found));
        if (!found)
            *missing = v->name;
    }
    return QDQ_OK;
}

static qdq_status match_node(matching *k, const qdq_node *n, qdq_map *asked, const char **missing)
{
    for (uint32_t i = 0; i < n->n_in && *missing == NULL; i++) {
        const qdq_value *v = qdq_node_in(n, i);
        bool found, is_new = false;

        if (!is_weight_of(n, i) || !is_float(v))
            continue;
        QDQ_NEED(qdq_map_put(asked, v->name, &is_new) != NULL, k->err);
        if (!is_new)
            continue;
        QDQ_TRY(find_weight(k, v, NULL, &found));
        if (!found)
            *missing = v->name;
    }
    return QDQ_OK;
}

static qdq_status match_weights(matching *k, const qdq_plan *p, qdq_map *asked,
                                const char **missing)
{
    QDQ_TRY(match_plan(k, p, asked, missing));
    QDQ_FOR_GRAPHS (g, k->stripped)
        QDQ_FOR_NODES (n, g)
            QDQ_TRY(match_node(k, n, asked, missing));
    return QDQ_OK;
}

qdq_status qdq_baseline_compare_weights(const qdq_model *given, const qdq_model *clean,
                                        const qdq_model *stripped, const qdq_plan *p,
                                        char why[QDQ_BASELINE_WHY], qdq_error *err)
{
    matching k = {.arena = QDQ_ARENA_INIT, .stripped = stripped, .err = err};
    qdq_map asked = QDQ_MAP_INIT;
    const char *missing = NULL;

    qdq_status st = add_constants(&k, given);
    if (st == QDQ_OK)
        st = add_constants(&k, clean);
    if (st == QDQ_OK)
        st = match_weights(&k, p, &asked, &missing);
    qdq_map_free(&asked);
    qdq_arena_free(&k.arena);
    if (st == QDQ_OK && missing != NULL)
        snprintf(why, QDQ_BASELINE_WHY, "its weight '%.150s' is none of the model's, within a step",
                 missing);
    return st;
}
