/* insert_weight.c - weights of a plan:
 *
 *   codes   float initializer -> initializer of codes, scales, zero points, DQ
 *   float   the float initializer -> Q -> DQ
 *   nbits   inside the operators that read it (insert_nbits.c)
 *   dynamic the same, when all else is there (insert_dynamic.c)
 *
 * Scales are given, or follow from the weight. */
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "ir/pages.h"
#include "quant/insert/insert_state.h"
#include "quant/weights/half_numbers.h"
#include "quant/weights/pairs.h"

/* --- scales ----------------------------------------------------------------------------------- */

/* The part of the range that codes span, for each scale; NULL: out of memory. */
static float *clip_factors(qdq_inserter *in, const qdq_plan_weight *w)
{
    float *factor = qdq_arena_array(&in->scratch, w->n_scales + 1, sizeof *factor);

    for (size_t i = 0; factor != NULL && i < w->n_scales; i++)
        factor[i] = qdq_clip_factor(w->clip[i], w->clip_step);
    return factor;
}

static qdq_status scales_of_weight(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s)
{
    qdq_qscheme scheme = qdq_plan_scheme(w);
    qdq_arena_mark mark = qdq_arena_get_mark(&in->scratch);
    size_t n = qdq_scale_count(&s->grid);

    scheme.storage = in->plan->half.type;
    float *low = qdq_arena_array(&in->scratch, n + 1, sizeof *low), *factor = NULL;
    float *high = qdq_arena_array(&in->scratch, n + 1, sizeof *high);

    if (w->clip != NULL)
        factor = clip_factors(in, w);
    if (low == NULL || high == NULL || (w->clip != NULL && factor == NULL))
        return qdq_nomem(in->err);
    QDQ_TRY(qdq_weight_ranges(s->floats, &s->grid, qdq_job_cancel(in->job), low, high, in->err));
    if (w->pairs)
        QDQ_TRY(qdq_pairs_widen(s->floats, s->tensor, w->axis, &s->grid, qdq_job_cancel(in->job),
                                low, high, in->err));
    QDQ_TRY(qdq_weight_scales(&scheme, low, high, factor, n, s->scales, s->zeros, in->err));
    qdq_tensor_rest(s->tensor);
    qdq_arena_reset(&in->scratch, mark);
    return QDQ_OK;
}

static void given_scales(const qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s)
{
    qdq_elem type = in->plan->half.type;
    bool fit = qdq_half_fits(w->scales, w->n_scales, type);

    for (size_t i = 0; i < w->n_scales; i++) /* codes are made with the scale that will be stored */
        s->scales[i] = fit ? qdq_half_round(w->scales[i], type) : w->scales[i];
    if (w->zero_points != NULL)
        memcpy(s->zeros, w->zero_points, w->n_scales * sizeof *s->zeros);
}

qdq_status qdq_insert_find_floats(qdq_inserter *in, qdq_weight_state *s)
{
    return s->floats != NULL ? QDQ_OK
                             : qdq_weight_floats_until(s->tensor, qdq_job_cancel(in->job),
                                                       &in->copies, &s->floats, in->err);
}

void qdq_insert_drop_floats(qdq_inserter *in, qdq_weight_state *s, qdq_arena_mark mark)
{
    if (s->is_changed)
        return;
    s->floats = NULL;
    qdq_arena_reset(&in->copies, mark);
    qdq_tensor_rest(s->tensor);
}

static qdq_status cached_scales(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s,
                                size_t n)
{
    const qdq_cached_scales *known;

    if (w->scales != NULL) {
        given_scales(in, w, s);
        return QDQ_OK;
    }
    known = qdq_insert_cached_scales(in->cache, w, &in->scratch);
    if (known == NULL) {
        QDQ_TRY(qdq_insert_find_floats(in, s));
        QDQ_TRY(scales_of_weight(in, w, s));
        return qdq_insert_cache_scales(in->cache, w, s->scales, s->zeros, n, in->err);
    }
    memcpy(s->scales, known->scales, n * sizeof *s->scales);
    memcpy(s->zeros, known->zeros, n * sizeof *s->zeros);
    return QDQ_OK;
}

/* --- codes ------------------------------------------------------------------------------------ */

static qdq_status check_codes(const qdq_inserter *in, const qdq_plan_weight *w,
                              const qdq_weight_state *s)
{
    size_t size = 0;

    if (w->codes == NULL)
        return QDQ_OK;
    if (!qdq_elem_bytes(w->type, s->tensor->count, &size) || w->codes_size != size)
        return qdq_fail(in->err, QDQ_E_FORMAT, "%zu bytes of 'codes', expected %zu", w->codes_size,
                        size);
    if (s->is_changed)
        return qdq_fail(in->err, QDQ_E_FORMAT, "it has 'codes', but its readers have their data %s",
                        s->whole != NULL ? "partly in float" : "scaled");
    return QDQ_OK;
}

qdq_status qdq_insert_weight_codes(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s,
                                   void *packed)
{
    if (w->codes != NULL) {
        memcpy(packed, w->codes, w->codes_size);
        return QDQ_OK;
    }
    QDQ_TRY(qdq_insert_find_floats(in, s));
    const qdq_weight_params p = {w->type, s->scales, s->zeros, qdq_job_cancel(in->job)};
    return qdq_weight_codes(s->floats, &s->grid, &p, packed, in->err);
}

qdq_status qdq_insert_weight_scales(qdq_inserter *in, size_t index)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    qdq_weight_state *s = &in->weight[index];

    s->tensor = qdq_value_const(qdq_insert_find_value(in, w->tensor));
    QDQ_TRY(qdq_weight_grid(s->tensor, w->axis, w->block, &s->grid, in->err));
    size_t n = qdq_scale_count(&s->grid);
    if (w->block != 0 && s->tensor->rank > QDQ_MAX_RANK)
        return qdq_fail(in->err, QDQ_E_UNSUPPORTED,
                        "blocks of a tensor of rank %d, expected at most %d", s->tensor->rank,
                        QDQ_MAX_RANK);
    if ((w->scales != NULL || w->clip != NULL) && w->n_scales != n)
        return qdq_fail(in->err, QDQ_E_FORMAT, "%zu %s, but %zu %s", w->n_scales,
                        w->scales != NULL ? "scales" : "letters in 'clip'", n,
                        w->block != 0 ? "blocks" : "channels");
    s->scales = qdq_arena_array(&in->scratch, n + 1, sizeof *s->scales);
    s->zeros = qdq_arena_array(&in->scratch, n + 1, sizeof *s->zeros);
    QDQ_NEED(s->scales != NULL && s->zeros != NULL, in->err);
    QDQ_TRY(qdq_insert_zeroed(in, index));
    if (in->cache != NULL && !s->is_changed) {
        QDQ_TRY(check_codes(in, w, s));
        return cached_scales(in, w, s, n);
    }
    const qdq_arena_mark mark = qdq_arena_get_mark(&in->copies);
    QDQ_TRY(qdq_insert_find_floats(in, s));
    QDQ_TRY(qdq_insert_scaled(in, w, s));
    QDQ_TRY(check_codes(in, w, s));
    if (w->scales != NULL)
        given_scales(in, w, s);
    else
        QDQ_TRY(scales_of_weight(in, w, s));
    qdq_insert_drop_floats(in, s, mark);
    return QDQ_OK;
}

/* --- codes that may be there ------------------------------------------------------------------ */

static qdq_status make_codes(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s,
                             qdq_fresh_codes *fresh)
{
    size_t size;
    void *codes = NULL;

    if (qdq_elem_bytes(w->type, s->tensor->count, &size))
        codes = qdq_arena_alloc(&in->scratch, size + 1);
    QDQ_NEED(codes != NULL, in->err);
    QDQ_TRY(qdq_insert_weight_codes(in, w, s, codes));
    qdq_tensor_rest(s->tensor);
    fresh->like = s->tensor;
    fresh->type = w->type;
    fresh->data = (qdq_span){codes, size};
    return QDQ_OK;
}

/* Has it codes that others may have, too? */
static bool shares_codes(const qdq_plan_weight *w, const qdq_weight_state *s)
{
    return (w->store == QDQ_WEIGHT_AS_CODES || w->store == QDQ_WEIGHT_AS_DYNAMIC) && !s->is_changed;
}

/* Of weights from *at on: as many as are not too large together. */
static qdq_status cache_some(qdq_inserter *in, const char *const *key, size_t *at,
                             qdq_fresh_codes *fresh)
{
    const size_t most = (size_t)16 << 20;
    size_t n = 0, size = 0;

    for (; *at < in->plan->weights.n && size < most; ++*at) {
        const qdq_arena_mark copies = qdq_arena_get_mark(&in->copies);

        QDQ_TRY(qdq_job_poll(in->job, in->err));
        if (key[*at] == NULL || qdq_insert_cached_codes(in->cache, key[*at]) != NULL)
            continue;
        fresh[n].key = key[*at];
        QDQ_TRY(make_codes(in, &in->plan->weights.at[*at], &in->weight[*at], &fresh[n]));
        qdq_insert_drop_floats(in, &in->weight[*at], copies);
        size += fresh[n++].data.size;
    }
    return qdq_insert_cache_codes(in->cache, fresh, n, in->err);
}

qdq_status qdq_insert_find_codes(qdq_inserter *in)
{
    const size_t count = in->plan->weights.n;
    qdq_fresh_codes *fresh = qdq_arena_array(&in->scratch, count + 1, sizeof *fresh);
    const char **key = qdq_arena_array(&in->scratch, count + 1, sizeof *key);

    QDQ_NEED(fresh != NULL && key != NULL, in->err);
    for (size_t i = 0; i < count; i++) {
        const qdq_plan_weight *w = &in->plan->weights.at[i];
        const qdq_weight_state *s = &in->weight[i];

        if (!shares_codes(w, s))
            continue;
        key[i] =
            qdq_insert_codes_key(w, s->scales, s->zeros, qdq_scale_count(&s->grid), &in->scratch);
        QDQ_NEED(key[i] != NULL, in->err);
    }
    for (size_t at = 0; at < count;) {
        const qdq_arena_mark mark = qdq_arena_get_mark(&in->scratch);

        QDQ_TRY(cache_some(in, key, &at, fresh));
        qdq_arena_reset(&in->scratch, mark);
    }
    for (size_t i = 0; i < count; i++)
        if (key[i] != NULL)
            in->weight[i].codes = qdq_insert_cached_codes(in->cache, key[i]);
    return QDQ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static qdq_scale_form form_of(const qdq_plan_weight *w, const qdq_weight_state *s)
{
    qdq_scale_form form = {.axis = w->axis, .block = w->block};

    if (w->block != 0) {
        form.rank = s->tensor->rank;
        memcpy(form.dim, s->tensor->dim, (size_t)form.rank * sizeof *form.dim);
        form.dim[w->axis] = (int64_t)s->grid.n_block;
    } else if (w->axis >= 0) {
        form.rank = 1;
        form.dim[0] = (int64_t)s->grid.c.channels;
    }
    return form;
}

qdq_status qdq_insert_dynamic(qdq_inserter *in, size_t index)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    qdq_weight_state *s = &in->weight[index];
    const qdq_scale_form form = form_of(w, s);

    return w->store == QDQ_WEIGHT_AS_DYNAMIC ? qdq_insert_integer(in, w, s, &form) : QDQ_OK;
}

qdq_status qdq_insert_codes(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s,
                            qdq_tensor **out)
{
    const qdq_arena_mark mark = qdq_arena_get_mark(&in->copies);
    void *codes;

    if (s->codes != NULL) {
        *out = qdq_tensor_share(in->m, s->codes);
        return qdq_allocated(*out != NULL, in->err);
    }
    *out = qdq_tensor_new_on_disk(in->m, w->type, s->tensor->rank, s->tensor->dim, &codes);
    QDQ_NEED(*out != NULL, in->err);
    QDQ_TRY(qdq_insert_weight_codes(in, w, s, codes));
    qdq_insert_drop_floats(in, s, mark);
    qdq_tensor_rest(*out);
    return QDQ_OK;
}

/* The initializer of codes. */
static qdq_status store_codes(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s,
                              qdq_value **out)
{
    qdq_tensor *t = NULL;

    QDQ_TRY(qdq_insert_codes(in, w, s, &t));
    *out = qdq_insert_constant(in, in->g, w->tensor, "_quantized", t);
    return qdq_allocated(*out != NULL, in->err);
}

qdq_status qdq_insert_weight_back(qdq_inserter *in, size_t index, const float **out)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    qdq_weight_state *s = &in->weight[index];
    size_t n = (size_t)s->tensor->count;
    float *back = qdq_arena_array(&in->scratch, n + 1, sizeof *back);
    void *codes = qdq_arena_array(&in->scratch, n + 1, qdq_code_size(w->type));

    QDQ_NEED(back != NULL && codes != NULL, in->err);
    QDQ_TRY(qdq_insert_weight_codes(in, w, s, codes));
    *out = back;
    const qdq_weight_params p = {w->type, s->scales, s->zeros, qdq_job_cancel(in->job)};
    return qdq_weight_decode(codes, &s->grid, &p, back, in->err);
}

/* The floats that Q is to make the codes of, where these are not those of the tensor; *out NULL:
 * they are. */
static qdq_status other_floats(qdq_inserter *in, size_t index, const float **out)
{
    const qdq_weight_state *s = &in->weight[index];

    *out = s->is_changed ? s->floats : NULL;
    return in->plan->weights.at[index].codes != NULL ? qdq_insert_weight_back(in, index, out)
                                                     : QDQ_OK;
}

/* Q of the float initializer, which stays; its codes become q->input[0]. */
static qdq_status store_floats(qdq_inserter *in, size_t index, qdq_node *before, qdq_quantizer *q)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    const qdq_weight_state *s = &in->weight[index];
    const char *suffix = w->codes != NULL ? "_rounded" : s->whole != NULL ? "_zeroed" : "_scaled";
    const float *floats;

    q->input[0] = qdq_insert_find_value(in, w->tensor);
    QDQ_TRY(other_floats(in, index, &floats));
    if (floats != NULL) {
        qdq_tensor *t = qdq_tensor_of_floats(in->m, s->tensor->rank, s->tensor->dim, floats);

        q->input[0] = qdq_insert_constant(in, in->g, w->tensor, suffix, t);
        QDQ_NEED(q->input[0] != NULL, in->err);
    }
    q->input[0] = qdq_insert_node(in, before, "QuantizeLinear", q,
                                  qdq_insert_name(in, w->tensor, "_QuantizeLinear_Output"),
                                  qdq_type_fixed(in->m, w->type, s->tensor->rank, s->tensor->dim));
    return qdq_allocated(q->input[0] != NULL, in->err);
}

qdq_status qdq_insert_weight(qdq_inserter *in, size_t index)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    qdq_weight_state *s = &in->weight[index];
    qdq_node *before = qdq_insert_first_reader(in, &w->consumers);
    qdq_scale_form form = form_of(w, s);
    qdq_quantizer q = {.base = w->tensor, .form = &form};
    qdq_value *dequantized;

    if (before == NULL)
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "nothing reads it, expected at least one of 'consumers'");
    in->g = before->graph;
    if (w->store == QDQ_WEIGHT_AS_DYNAMIC)
        return QDQ_OK;
    if (w->store == QDQ_WEIGHT_AS_NBITS) {
        const qdq_arena_mark mark = qdq_arena_get_mark(&in->copies);
        QDQ_TRY(qdq_insert_find_floats(in, s));
        QDQ_TRY(qdq_insert_nbits(in, index));
        qdq_insert_drop_floats(in, s, mark);
        return QDQ_OK;
    }
    if (w->store == QDQ_WEIGHT_AS_CODES)
        QDQ_TRY(store_codes(in, w, s, &q.input[0]));
    q.input[1] = qdq_insert_scales(in, w->tensor, &form, s->scales);
    q.input[2] = qdq_insert_zero_points(in, w->tensor, &form, w->type, s->zeros);
    QDQ_NEED(q.input[1] != NULL && q.input[2] != NULL, in->err);
    if (w->store == QDQ_WEIGHT_AS_FLOAT)
        QDQ_TRY(store_floats(in, index, before, &q));
    QDQ_TRY(qdq_insert_back(in, before, &q, s->tensor, &dequantized));
    qdq_insert_feed(in, &w->consumers, dequantized);
    return QDQ_OK;
}
