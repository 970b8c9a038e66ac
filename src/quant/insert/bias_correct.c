/* bias_correct.c - corrects biases for the mean error of rounded weights. Products are listed
 * twice: before calibration for the means that they need, and after it, when their weights have
 * scales. */
#include "quant/insert/bias_correct.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "quant/calib/calib_means.h"
#include "quant/insert/insert.h"
#include "quant/weights/linear_form.h"

/* A node that reads a weight of the plan. */
typedef struct product {
    /* of the bias */
    const qdq_node *n, *reader;
    uint32_t input;
    /* index into the plan's */
    size_t weight;
    const qdq_tensor *bias;
    qdq_linear_form form;
    /* it is left alone; NULL: it is not */
    const char *why;
} product;

typedef struct corrector {
    const qdq_model *m;
    const qdq_target *target;
    qdq_plan *p;
    qdq_arena scratch;
    /* label -> node of the main graph */
    qdq_map nodes;
    /* qdq_means_index */
    qdq_map means;
    /* names of p->tensors -> index */
    qdq_map tensors;
    /* names of p->scalings */
    qdq_map scaled;
    /* in the order of p->weights */
    QDQ_VEC(product) products;
    /* the first of the weight at hand */
    size_t at;
    qdq_error *err;
} corrector;

/* --- products --------------------------------------------------------------------------------- */

static bool is_scaled(const corrector *c, const qdq_node *n)
{
    return qdq_map_get(&c->scaled, n->in[0].value->name) != NULL;
}

static const char *look_at(const corrector *c, product *p)
{
    const qdq_value *x = qdq_node_in(p->n, 0);
    const char *why = qdq_linear_form_of(p->n, &p->form);

    if (why != NULL)
        return why;
    if (x == NULL || qdq_value_const(x) != NULL)
        return "its data is constant";
    if (c->p->weights.at[p->weight].store == QDQ_WEIGHT_AS_NBITS)
        return "its weight goes into MatMulNBits";
    why = qdq_linear_bias(p->n, &p->form, &p->reader, &p->input, &p->bias);
    if (why == NULL && p->bias != NULL &&
        qdq_map_get(&c->tensors, p->reader->in[p->input].value->name) != NULL)
        why = "its bias is quantized like data";
    return why;
}

static qdq_status list_weight(corrector *c, size_t index)
{
    const qdq_edges *edges = &c->p->weights.at[index].consumers;

    for (size_t i = 0; i < edges->n; i++) {
        product p = {.n = qdq_map_get_ptr(&c->nodes, edges->at[i].node), .weight = index};

        if (p.n == NULL || !qdq_op_is_linear(p.n->op))
            continue; /* no one asks why an embedding has no bias */
        p.why = edges->at[i].input == 1 ? look_at(c, &p) : "its weight is its first input";
        QDQ_NEED(QDQ_PUSH(&c->scratch, &c->products, p), c->err);
    }
    return QDQ_OK;
}

static qdq_status list_products(corrector *c)
{
    QDQ_NEED(qdq_graph_map_labels(c->m->graph, &c->scratch, &c->nodes), c->err);
    for (size_t i = 0; i < c->p->tensors.n; i++)
        QDQ_NEED(qdq_map_set_num(&c->tensors, c->p->tensors.at[i].tensor, i), c->err);
    for (size_t i = 0; i < c->p->scalings.n; i++)
        QDQ_NEED(qdq_map_put(&c->scaled, c->p->scalings.at[i].tensor, NULL) != NULL, c->err);
    QDQ_TRY(qdq_means_index(c->p, &c->means, c->err));
    for (size_t i = 0; i < c->p->weights.n; i++)
        QDQ_TRY(list_weight(c, i));
    return QDQ_OK;
}

static void corrector_free(corrector *c)
{
    qdq_map_free(&c->nodes);
    qdq_map_free(&c->means);
    qdq_map_free(&c->tensors);
    qdq_map_free(&c->scaled);
    qdq_arena_free(&c->scratch);
}

qdq_status qdq_bias_correct_means(const qdq_model *m, unsigned folds, qdq_plan *p, qdq_error *err)
{
    corrector c = {.m = m, .p = p, .err = err};
    qdq_status st = list_products(&c);

    for (size_t i = 0; i < c.products.n && st == QDQ_OK; i++) {
        const product *at = &c.products.at[i];

        if (at->why == NULL && !qdq_means_want(p, &c.means, at->n->in[0].value->name, at->form.axis,
                                               at->form.in, folds))
            st = qdq_nomem(err);
    }
    corrector_free(&c);
    return st;
}

/* --- corrections ------------------------------------------------------------------------------ */

/* What the bias of a product takes off, by the samples outside a fold. NULL: out of memory, or not
 * finite, which p->why says. */
static const float *delta_of(corrector *c, product *p, const qdq_plan_mean *m, size_t without,
                             const float *w, const float *back)
{
    const size_t out = p->form.out;
    double *mean = qdq_arena_array(&c->scratch, p->form.in + 1, sizeof *mean),
           *delta = qdq_arena_array(&c->scratch, out + 1, sizeof *delta);
    float *kept = qdq_arena_array(&c->p->arena, out + 1, sizeof *kept);

    if (mean == NULL || delta == NULL || kept == NULL)
        return NULL;
    if (m != NULL)
        qdq_means_get(m, without, mean);
    qdq_linear_error(&p->form, w, back, mean, delta);
    for (size_t i = 0; i < out; i++) {
        kept[i] = (float)delta[i];
        if (!isfinite(kept[i]))
            p->why = "the correction is not finite";
    }
    return kept;
}

/* Does a bias of this product become int32? As placement would say of one that is there. */
static bool is_int32(const corrector *c, const product *p)
{
    const qdq_plan_weight *w = &c->p->weights.at[p->weight];
    const qdq_value *x = p->n->in[0].value;
    const qdq_map_value *entry = qdq_map_get(&c->tensors, x->name);
    qdq_format f = c->target->format;

    f.weight.type = w->type;
    f.weight_block = w->block;
    if (entry != NULL)
        f.activation.type = c->p->tensors.at[entry->num].qparam.type;
    else if (x->producer == NULL || x->producer->op != QDQ_OP_DEQUANTIZELINEAR)
        return false;
    for (size_t i = 0; i < c->target->ops.n; i++)
        if (c->target->ops.at[i].bias == QDQ_BIAS_INPUT &&
            strcmp(c->target->ops.at[i].op, p->n->type) == 0)
            return qdq_format_has_int32_bias(&f);
    return false;
}

static qdq_status add_bias(corrector *c, const product *p, const qdq_plan_correction *new)
{
    const qdq_plan_weight *w = &c->p->weights.at[p->weight];
    const qdq_plan_bias b = {.tensor = new->tensor,
                             .consumer = new->consumer,
                             .activation = p->n->in[0].value->name,
                             .weight = w->tensor,
                             .rule = w->rule,
                             .origin = "rule"};

    return qdq_allocated(!is_int32(c, p) || qdq_plan_add_bias(c->p, b), c->err);
}

static bool name_is_taken(const corrector *c, const char *name)
{
    for (size_t i = 0; i < c->m->graphs.n; i++)
        if (qdq_graph_find(c->m->graphs.at[i], name) != NULL)
            return true;
    return false;
}

static bool is_zero(const qdq_plan_correction *c)
{
    for (size_t i = 0; i < c->n_delta; i++)
        if (c->delta[i] != 0)
            return false;
    return true;
}

/* By all samples, and by those outside each fold. */
static qdq_status find_deltas(corrector *c, product *p, const float *w, const float *back,
                              qdq_plan_correction *to)
{
    const qdq_plan_mean *m =
        qdq_means_find(c->p, &c->means, p->n->in[0].value->name, p->form.axis, p->form.in);

    to->n_delta = p->form.out;
    to->delta = delta_of(c, p, m, SIZE_MAX, w, back);
    QDQ_NEED(to->delta != NULL, c->err);
    if (m == NULL || m->rows < 2 || is_zero(to))
        return QDQ_OK;
    to->fold = qdq_arena_array(&c->p->arena, m->rows, sizeof *to->fold);
    for (size_t k = 0; k < m->rows; k++)
        QDQ_NEED(to->fold != NULL && (to->fold[k] = delta_of(c, p, m, k, w, back)) != NULL, c->err);
    return QDQ_OK;
}

static qdq_status add_correction(corrector *c, product *p, qdq_plan_correction *entry)
{
    qdq_arena *arena = &c->p->arena;

    entry->tensor = p->bias != NULL ? qdq_arena_strdup(arena, p->reader->in[p->input].value->name)
                                    : qdq_arena_printf(arena, "%s_bias", p->n->out[0]->name);
    entry->consumer =
        (qdq_edge){qdq_arena_strdup(arena, qdq_node_label(p->reader, &c->scratch)), p->input};
    QDQ_NEED(entry->tensor != NULL && entry->consumer.node != NULL, c->err);
    if (p->bias == NULL && name_is_taken(c, entry->tensor))
        p->why = "the name of its bias is taken";
    if (p->why != NULL || is_zero(entry))
        return QDQ_OK;
    QDQ_NEED(QDQ_PUSH(arena, &c->p->corrections, *entry), c->err);
    return p->bias == NULL ? add_bias(c, p, entry) : QDQ_OK;
}

/* Products of weight `index`, which comes back from its codes as `back`. */
static qdq_status correct_products(void *ctx, size_t index, const float *w, const float *back,
                                   qdq_error *err)
{
    corrector *c = ctx;

    (void)err; /* c->err */
    while (c->at < c->products.n && c->products.at[c->at].weight < index)
        c->at++;
    for (; c->at < c->products.n && c->products.at[c->at].weight == index; c->at++) {
        product *p = &c->products.at[c->at];

        if (p->why == NULL && is_scaled(c, p->n))
            p->why = "its data is scaled";
        if (p->why != NULL)
            continue;
        qdq_plan_correction entry = {0};
        QDQ_TRY(find_deltas(c, p, w, back, &entry));
        QDQ_TRY(add_correction(c, p, &entry));
    }
    return QDQ_OK;
}

static void tell_skipped(const corrector *c, const qdq_job *job)
{
    const product *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < c->products.n; i++) {
        const product *p = &c->products.at[i];

        if (p->why == NULL)
            continue;
        first = n++ == 0 ? p : first;
    }
    if (n > 0)
        qdq_job_log(job, QDQ_LOG_WARNING, "%zu of %zu products keep their bias, as '%s': %s", n,
                    c->products.n, first->n->out[0]->name, first->why);
}

qdq_status qdq_bias_correct(const qdq_model *m, const qdq_target *t, const qdq_job *job,
                            qdq_plan *p, qdq_error *err)
{
    corrector c = {.m = m, .target = t, .p = p, .err = err};

    if (!qdq_plan_finish(p)) /* weights in the order in which they are walked */
        return qdq_nomem(err);
    qdq_status st = list_products(&c);
    if (st == QDQ_OK)
        st = qdq_insert_try_weights(m, p, correct_products, &c, err);
    if (st == QDQ_OK)
        tell_skipped(&c, job);
    corrector_free(&c);
    return st;
}
