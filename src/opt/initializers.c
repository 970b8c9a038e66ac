/* initializers.c - where constants stand: freeze-inputs, lift-subgraph-initializers,
 * share-initializers. None of them changes a byte of a tensor. */
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "opt/opt.h"

/* --- freeze-inputs: an input that has data is no input any more ---------------------------------
 *
 * Callers can then not replace it, which changes the interface of the model: only when asked for.
 * Below IR version 4 initializers must be listed as inputs, and are constants all the same. */

qdq_status qdq_pass_freeze_inputs(qdq_opt *o, qdq_error *err)
{
    qdq_graph *g = o->model->graph;

    (void)err;
    for (size_t i = g->inputs.n; o->model->ir_version >= 4 && i-- > 0;) {
        qdq_value *v = g->inputs.at[i];

        if ((v->init != NULL || v->sparse != NULL) && qdq_opt_take_value(o, v))
            qdq_graph_remove_input(g, v);
    }
    return QDQ_OK;
}

/* --- lift-subgraph-initializers: constants of bodies go to the main graph -----------------------
 *
 * There they are seen to be equal to others, and engines prepare them once. Inputs and outputs of a
 * body are its own. */

qdq_status qdq_pass_lift_subgraph_initializers(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    if (g->owner == NULL || qdq_graph_in_function(g))
        return QDQ_OK;
    QDQ_FOR_INITS(v, g)
    {
        if (!v->is_input && v->n_output == 0 && qdq_opt_take_value(o, v) &&
            qdq_value_lift(v, o->model->graph) == NULL)
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* --- share-initializers: equal constants become one ---------------------------------------------
 *
 * What Q and DQ read as data stays apart, unless the argument `weights` asks for it: engines have
 * refused explicit quantization of weights that layers share. So do the zero points of constants:
 * OpenVINO leaves a layer in float whose zero point another layer reads too. Tensors above LARGE
 * are not read, unless the argument is `all`; nor is one that is alone with its type and shape. NaN
 * is equal to nothing. */

enum { LARGE = 1 << 20 };

/* A tensor that stays, and the next one with the same hash: NONE, mostly. */
typedef struct kept {
    qdq_value *value;
    size_t next;
} kept;

#define NONE SIZE_MAX

typedef struct sharing {
    bool takes_weights, takes_all;
    /* lists */
    qdq_arena memory;
    /* for one tensor */
    qdq_arena scratch;
    /* hash of type and shape -> how many candidates have it */
    qdq_map shapes;
    /* hash of everything -> index in `unique` */
    qdq_map contents;
    QDQ_VEC(qdq_value *) candidates;
    QDQ_VEC(kept) unique;
} sharing;

/* Does a DQ of a constant read it as its zero point? */
static bool is_weights_zero_point(const qdq_use *u)
{
    const qdq_value *data = qdq_node_in(u->node, 0);

    return u->index == 2 && strcmp(u->node->type, "DequantizeLinear") == 0 && data != NULL &&
           data->init != NULL;
}

static bool is_weight(const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (is_weights_zero_point(u) ||
            (u->index == 0 && (strcmp(u->node->type, "QuantizeLinear") == 0 ||
                               strcmp(u->node->type, "DequantizeLinear") == 0)))
            return true;
    return false;
}

static bool is_candidate(const sharing *s, const qdq_value *v)
{
    const qdq_tensor *t = v->init;
    size_t bytes;

    return t != NULL && !v->is_input && v->n_output == 0 && v->n_use > 0 &&
           (qdq_elem_is_int(t->elem) || qdq_elem_is_float(t->elem)) &&
           qdq_elem_bytes(t->elem, t->count, &bytes) && (s->takes_all || bytes <= LARGE) &&
           (s->takes_weights || !is_weight(v));
}

static uint64_t shape_hash(const qdq_tensor *t)
{
    return XXH3_64bits_withSeed(t->dim, (size_t)t->rank * sizeof *t->dim,
                                (uint64_t)t->elem << 32 | (uint32_t)t->rank);
}

static bool collect(sharing *s, const qdq_graph *g)
{
    QDQ_FOR_INITS(v, g)
    {
        qdq_map_value *n;

        if (!is_candidate(s, v))
            continue;
        n = qdq_map_put_int(&s->shapes, shape_hash(v->init), NULL);
        if (n == NULL || !QDQ_PUSH(&s->memory, &s->candidates, v))
            return false;
        n->num++;
    }
    return true;
}

/* The same type, shape and bytes as one that was seen before: *twin is that one, else NULL, and v
 * is noted. */
static qdq_status find_twin(sharing *s, qdq_value *v, qdq_value **twin, qdq_error *err)
{
    qdq_map_value *place;
    qdq_span data, other;
    bool is_new;
    kept one = {v, NONE};

    *twin = NULL;
    QDQ_TRY(qdq_tensor_data(v->init, &s->scratch, &data, err));
    place = qdq_map_put_int(
        &s->contents, XXH3_64bits_withSeed(data.data, data.size, shape_hash(v->init)), &is_new);
    QDQ_NEED(place != NULL, err);
    for (size_t i = is_new ? NONE : place->num; i != NONE; i = s->unique.at[i].next) {
        qdq_value *k = s->unique.at[i].value;

        if (!qdq_tensor_same_type(k->init, v->init))
            continue;
        QDQ_TRY(qdq_tensor_data(k->init, &s->scratch, &other, err));
        if (other.size != data.size ||
            (data.size > 0 && memcmp(other.data, data.data, data.size) != 0))
            continue;
        if (!qdq_elem_has_nan(v->init->elem, data.data, v->init->count))
            *twin = k;
        return QDQ_OK;
    }
    one.next = is_new ? NONE : place->num;
    place->num = s->unique.n;
    return QDQ_PUSH(&s->memory, &s->unique, one) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status share(sharing *s, qdq_opt *o, const qdq_graph *g, qdq_error *err)
{
    QDQ_NEED(collect(s, g), err);
    for (size_t i = 0; i < s->candidates.n; i++) {
        qdq_value *v = s->candidates.at[i], *twin;

        if (qdq_map_get_int(&s->shapes, shape_hash(v->init))->num < 2)
            continue;
        QDQ_TRY(qdq_job_poll(o->opts->job, err));
        qdq_arena_mark mark = qdq_arena_get_loop_mark(&s->scratch);
        QDQ_TRY(find_twin(s, v, &twin, err));
        qdq_arena_reset(&s->scratch, mark);
        if (twin == NULL || !qdq_opt_take_value(o, v))
            continue;
        qdq_value_replace(v, twin);
        qdq_value_remove(v);
    }
    return QDQ_OK;
}

qdq_status qdq_pass_share_initializers(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    sharing s = {.takes_weights = qdq_opt_has_arg(o, "weights"),
                 .takes_all = qdq_opt_has_arg(o, "all")};
    qdq_status st = share(&s, o, g, err);

    qdq_map_free(&s.shapes);
    qdq_map_free(&s.contents);
    qdq_arena_free(&s.memory);
    qdq_arena_free(&s.scratch);
    return st;
}
