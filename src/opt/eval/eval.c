/* eval.c - one node whose inputs are known: which kernel computes it, what it may take, what it
 * gives back. The kernels are in eval_*.c; this file knows no arithmetic. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "ir/edit.h"

typedef enum kind { MATH, MOVE, RAW } kind;

typedef struct kernel {
    /* NULL: not computed */
    qdq_eval_fn *run;
    kind kind;
    uint32_t least, most;
} kernel;

static const kernel kernels[QDQ_OP_COUNT] = {
#define EVAL(OP, function, kind, least, most)                                                      \
    [QDQ_OP_##OP] = {qdq_eval_##function, kind, least, most},
#include "opt/eval/eval.def"
#undef EVAL
};

/* A later opset may have changed what an operator means. */
enum { OPSET_MIN = 7, OPSET_MAX = 26 };

bool qdq_eval_knows(qdq_op op)
{
    return (unsigned)op < (unsigned)QDQ_OP_COUNT && kernels[op].run != NULL;
}

void qdq_eval_refuse(qdq_eval *c, const char *why)
{
    if (why == NULL)
        c->nomem = true;
    if (c->why == NULL)
        c->why = why;
}

bool qdq_eval_refuse_type(qdq_eval *c, uint32_t i)
{
    qdq_elem e = c->in[i]->elem;

    return QDQ_REFUSE(c, "input %u has type %s, which is not computed here", (unsigned)i,
                      qdq_elem_name(e == c->actual ? c->real : e));
}

bool qdq_eval_same_types(qdq_eval *c)
{
    for (uint32_t i = 1; i < c->node->n_in; i++)
        if (c->in[i] != NULL && c->in[0] != NULL && c->in[i]->elem != c->in[0]->elem)
            return QDQ_REFUSE(c, "inputs of the types %s and %s", qdq_elem_name(c->in[0]->elem),
                              qdq_elem_name(c->in[i]->elem));
    return true;
}

void qdq_eval_store(const qdq_sum *from, int64_t n, qdq_elem e, void *out, int64_t to)
{
    size_t size = qdq_eval_size(e);

    for (int64_t i = 0; i < n; i++)
        if (e == QDQ_FLOAT)
            ((float *)out)[to + i] = (float)from[i].f;
        else /* a double; or the low bytes of an integer, which wrap it */
            memcpy((char *)out + (size_t)(to + i) * size, &from[i], size);
}

/* --- attributes ------------------------------------------------------------------------------- */

static const qdq_attr *attr(qdq_eval *c, const char *name, qdq_attr_type type)
{
    const qdq_attr *a = qdq_node_attr(c->node, name);

    if (a != NULL && a->type != type) {
        qdq_eval_refuse(
            c,
            qdq_arena_printf(c->memory, "attribute '%s' has a type that it should not have", name));
        return NULL;
    }
    return a;
}

int64_t qdq_eval_int(qdq_eval *c, const char *name, int64_t fallback)
{
    const qdq_attr *a = attr(c, name, QDQ_ATTR_INT);

    return a == NULL ? fallback : a->v.i;
}

bool qdq_eval_flag(qdq_eval *c, const char *name, bool fallback)
{
    int64_t i = qdq_eval_int(c, name, fallback);

    if (i != 0 && i != 1)
        qdq_eval_refuse(c, qdq_arena_printf(c->memory, "attribute '%s' is neither 0 nor 1", name));
    return i != 0;
}

float qdq_eval_float(qdq_eval *c, const char *name, float fallback)
{
    const qdq_attr *a = attr(c, name, QDQ_ATTR_FLOAT);

    return a == NULL ? fallback : a->v.f;
}

bool qdq_eval_int_list(qdq_eval *c, const char *name, const int64_t **list, int64_t *count)
{
    const qdq_attr *a = attr(c, name, QDQ_ATTR_INTS);
    static const int64_t none = 0;

    *list = a == NULL ? NULL : a->count == 0 ? &none : a->v.ints;
    *count = a == NULL ? 0 : (int64_t)a->count;
    return a != NULL;
}

bool qdq_eval_string_is(qdq_eval *c, const char *name, const char *text, const char *fallback)
{
    attr(c, name, QDQ_ATTR_STRING);
    return qdq_node_string_is(c->node, name, text, fallback);
}

bool qdq_eval_read_axes(qdq_eval *c, const int64_t *list, int64_t count, int rank, int *axis,
                        bool *mark)
{
    qdq_error err = QDQ_ERROR_INIT;

    return qdq_axes_read(list, count, rank, axis, mark, &err) == QDQ_OK ||
           QDQ_REFUSE(c, "%s", err.text);
}

bool qdq_eval_axis(qdq_eval *c, int64_t axis, int rank, int *out)
{
    return qdq_eval_read_axes(c, &axis, 1, rank, out, NULL);
}

/* --- lists of integers ------------------------------------------------------------------------ */

bool qdq_eval_ints(qdq_eval *c, uint32_t i, const int64_t **list, int64_t *count)
{
    const qdq_const *x = qdq_eval_in(c, i);
    int64_t *wide;

    *list = NULL;
    *count = 0;
    if (x == NULL)
        return true;
    *count = x->count;
    if (x->elem == QDQ_INT64) {
        *list = x->data;
        return true;
    }
    if (x->elem != QDQ_INT32)
        return qdq_eval_refuse_type(c, i);
    *list = wide = qdq_eval_scratch(c, x->count, sizeof *wide);
    for (int64_t k = 0; wide != NULL && k < x->count; k++)
        wide[k] = ((const int32_t *)x->data)[k];
    return wide != NULL;
}

bool qdq_eval_ints_or_attr(qdq_eval *c, uint32_t i, const char *name, int64_t since,
                           const int64_t **list, int64_t *count)
{
    const qdq_const *x = qdq_eval_in(c, i);

    if (c->opset < since) {
        if (x != NULL)
            return QDQ_REFUSE(c, "input %u is there, which below opset %" PRId64 " is an attribute",
                              (unsigned)i, since);
        qdq_eval_int_list(c, name, list, count);
        return c->why == NULL;
    }
    if (name != NULL && qdq_node_attr(c->node, name) != NULL)
        return QDQ_REFUSE(c, "attribute '%s' is there, which since opset %" PRId64 " is an input",
                          name, since);
    if (x != NULL && x->rank > 1)
        return QDQ_REFUSE(c, "input %u has rank %d, expected 1", (unsigned)i, x->rank);
    return qdq_eval_ints(c, i, list, count);
}

bool qdq_eval_axes(qdq_eval *c, uint32_t i, int64_t since, int rank, bool *mark, int64_t *count)
{
    const int64_t *list;

    if (!qdq_eval_ints_or_attr(c, i, "axes", since, &list, count))
        return false;
    if (list == NULL)
        *count = -1;
    return qdq_eval_read_axes(c, list, *count, rank, NULL, mark);
}

/* --- memory ----------------------------------------------------------------------------------- */

void *qdq_eval_scratch(qdq_eval *c, int64_t n, size_t size)
{
    void *p = qdq_arena_array(c->memory, (size_t)n, size);

    if (p == NULL)
        c->nomem = true;
    return p;
}

/* Checks shape and limit before anything is allocated, and keeps a copy of the dims. */
static bool begin_output(qdq_eval *c, uint32_t i, qdq_elem elem, int rank, const int64_t *dim)
{
    qdq_const *o = &c->out[i];
    int64_t *copy, count;
    size_t cost;

    if (c->why != NULL || c->nomem)
        return false;
    if (rank > QDQ_EVAL_RANK)
        return QDQ_REFUSE(c, "a result of rank %d, expected at most %d", rank, QDQ_EVAL_RANK);
    if (!qdq_dims_count(rank, dim, &count) || !qdq_elem_bytes(elem, count, &o->bytes) ||
        !qdq_elem_bytes(elem == c->actual ? c->real : elem, count, &cost))
        return QDQ_REFUSE(c, "a result that has more elements than can be counted");
    if (cost > c->bytes_left)
        return QDQ_REFUSE(c, "a result of %" PRIu64 " bytes is above the limit of %" PRIu64,
                          cost + (c->limit - c->bytes_left), c->limit);
    copy = qdq_eval_scratch(c, rank, sizeof *copy);
    if (copy == NULL)
        return false;
    if (rank > 0)
        memcpy(copy, dim, (size_t)rank * sizeof *copy);
    c->bytes_left -= cost;
    o->elem = elem;
    o->rank = rank;
    o->dim = copy;
    o->count = count;
    return true;
}

void *qdq_eval_output(qdq_eval *c, uint32_t i, qdq_elem elem, int rank, const int64_t *dim)
{
    if (!begin_output(c, i, elem, rank, dim))
        return NULL;
    return (void *)(c->out[i].data = qdq_eval_scratch(c, (int64_t)c->out[i].bytes, 1));
}

bool qdq_eval_view(qdq_eval *c, uint32_t i, const qdq_const *x, int rank, const int64_t *dim)
{
    if (!begin_output(c, i, x->elem, rank, dim))
        return false;
    if (c->out[i].count != x->count)
        return QDQ_REFUSE(c, "%" PRId64 " elements do not fill a shape of %" PRId64, x->count,
                          c->out[i].count);
    c->out[i].data = x->data;
    return true;
}

/* --- NaN -------------------------------------------------------------------------------------- */

static bool has_nan(const qdq_const *x)
{
    unsigned found = 0;

    if (x == NULL || x->data == NULL)
        return false;
    if (x->elem == QDQ_FLOAT)
        for (int64_t i = 0; i < x->count; i++)
            found |= isnan(((const float *)x->data)[i]) != 0;
    else if (x->elem == QDQ_DOUBLE)
        for (int64_t i = 0; i < x->count; i++)
            found |= isnan(((const double *)x->data)[i]) != 0;
    return found != 0;
}

bool qdq_eval_check_nan(qdq_eval *c)
{
    if (!has_nan(&c->out[0]))
        return true;
    for (uint32_t i = 0; i < c->node->n_in; i++)
        if (has_nan(c->in[i]))
            return true;
    return QDQ_REFUSE(c, "the result has NaN and the inputs have none");
}

/* --- types that kernels do not see --------------------------------------------------------------
 *
 * Arithmetic takes float16 and bfloat16 as float, moving takes elements of less than a byte as
 * bytes: the inputs are converted before, the outputs after. */

static bool is_widened(qdq_elem e)
{
    return qdq_elem_is_half(e) || qdq_elem_bits(e) < 8;
}

static bool run_kernel(qdq_eval *c, const kernel *k)
{
    return k->run(c) && c->why == NULL && !c->nomem && (k->kind != MATH || qdq_eval_check_nan(c));
}

static unsigned code_at(const unsigned char *data, int64_t i, unsigned bits)
{
    unsigned per_byte = 8 / bits;

    return data[i / per_byte] >> (unsigned)(i % per_byte) * bits & ((1U << bits) - 1);
}

static void widen(const qdq_const *x, void *to)
{
    unsigned bits = qdq_elem_bits(x->elem);
    const uint16_t *half = x->data;
    unsigned char *byte = to;
    float *wide = to;

    if (x->elem == QDQ_FLOAT16)
        for (int64_t i = 0; i < x->count; i++)
            wide[i] = qdq_float_of_float16(half[i]);
    else if (x->elem == QDQ_BFLOAT16)
        for (int64_t i = 0; i < x->count; i++)
            wide[i] = qdq_float_of_bfloat16(half[i]);
    else
        for (int64_t i = 0; i < x->count; i++)
            byte[i] = (unsigned char)code_at(x->data, i, bits);
}

static void narrow(const qdq_const *x, qdq_elem e, void *to) /* `to` is zeroed */
{
    unsigned bits = qdq_elem_bits(e), per_byte = bits < 8 ? 8 / bits : 1;
    const float *wide = x->data;
    const unsigned char *code = x->data;
    unsigned char *byte = to;
    uint16_t *half = to;

    if (e == QDQ_FLOAT16)
        for (int64_t i = 0; i < x->count; i++)
            half[i] = qdq_float16_of_double((double)wide[i]);
    else if (e == QDQ_BFLOAT16)
        for (int64_t i = 0; i < x->count; i++)
            half[i] = qdq_bfloat16_of_double((double)wide[i]);
    else
        for (int64_t i = 0; i < x->count; i++)
            byte[i / per_byte] |=
                (unsigned char)((unsigned)code[i] << (unsigned)(i % per_byte) * bits);
}

static bool narrow_outputs(qdq_eval *c)
{
    for (uint32_t i = 0; i < c->node->n_out; i++) {
        qdq_const *o = &c->out[i];
        void *data;

        if (o->data == NULL || o->elem != c->actual)
            continue;
        qdq_elem_bytes(c->real, o->count, &o->bytes);
        data = qdq_eval_scratch(c, (int64_t)o->bytes, 1);
        if (data == NULL)
            return false;
        narrow(o, c->real, data);
        o->elem = c->real;
        o->data = data;
    }
    return true;
}

/* `real` is the type of some input. Others must not be of the type that stands in for it: they
 * would become one. */
static bool run_widened(qdq_eval *c, const kernel *k, qdq_elem real)
{
    const qdq_const *in[QDQ_EVAL_INPUTS];
    qdq_const wide[QDQ_EVAL_INPUTS];
    const qdq_const *const *given = c->in;

    c->real = real;
    c->actual = qdq_elem_is_half(real) ? QDQ_FLOAT : QDQ_UINT8;
    for (uint32_t i = 0; i < c->node->n_in; i++) {
        void *data;

        in[i] = given[i];
        if (given[i] == NULL)
            continue;
        if (given[i]->elem != real && (given[i]->elem == c->actual || is_widened(given[i]->elem)))
            return QDQ_REFUSE(c, "inputs of the types %s and %s", qdq_elem_name(real),
                              qdq_elem_name(given[i]->elem));
        if (given[i]->elem != real)
            continue;
        data = qdq_eval_scratch(c, given[i]->count, qdq_eval_size(c->actual));
        if (data == NULL)
            return false;
        wide[i] = *given[i];
        wide[i].elem = c->actual;
        wide[i].data = data;
        wide[i].bytes = (size_t)given[i]->count * qdq_eval_size(c->actual);
        widen(given[i], data);
        in[i] = &wide[i];
    }
    c->in = in;
    return run_kernel(c, k) && narrow_outputs(c);
}

/* --- one node --------------------------------------------------------------------------------- */

static bool check_inputs(qdq_eval *c, const kernel *k)
{
    const qdq_node *n = c->node;

    if (n->n_in > k->most || n->n_in < k->least)
        return QDQ_REFUSE(c, "%u inputs, expected %u to %u", (unsigned)n->n_in, (unsigned)k->least,
                          (unsigned)k->most);
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_const *x = c->in[i];

        if (x == NULL && i < k->least)
            return QDQ_REFUSE(c, "input %u is left out", (unsigned)i);
        if (x == NULL)
            continue;
        if (x->rank > QDQ_EVAL_RANK)
            return QDQ_REFUSE(c, "input %u has rank %d, expected at most %d", (unsigned)i, x->rank,
                              QDQ_EVAL_RANK);
        if (qdq_elem_bits(x->elem) == 0 || qdq_elem_bits(x->elem) > 64)
            return qdq_eval_refuse_type(c, i);
    }
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (n->attr[i]->ref != NULL)
            return QDQ_REFUSE(c, "attribute '%s' is one of the function's caller",
                              n->attr[i]->name);
    return true;
}

static bool compute(qdq_eval *c)
{
    const qdq_node *n = c->node;

    if (!qdq_eval_knows(n->op))
        return QDQ_REFUSE(c, "operator %s is not computed here", n->type);
    if (c->opset < OPSET_MIN || c->opset > OPSET_MAX)
        return QDQ_REFUSE(c, "opset %" PRId64 ", expected %d to %d", c->opset, OPSET_MIN,
                          OPSET_MAX);
    if (n->n_in > QDQ_EVAL_INPUTS || n->n_out > QDQ_EVAL_OUTPUTS || n->n_out < 1)
        return QDQ_REFUSE(c, "%u inputs and %u outputs, expected at most %d and 1 to %d",
                          (unsigned)n->n_in, (unsigned)n->n_out, QDQ_EVAL_INPUTS, QDQ_EVAL_OUTPUTS);
    const kernel *k = &kernels[n->op];
    if (!check_inputs(c, k))
        return false;
    for (uint32_t i = 0; k->kind != RAW && i < n->n_in; i++) {
        qdq_elem e = c->in[i] == NULL ? QDQ_UNDEFINED : c->in[i]->elem;

        if (k->kind == MATH ? qdq_elem_is_half(e) : e != QDQ_UNDEFINED && qdq_elem_bits(e) < 8)
            return run_widened(c, k, e);
    }
    return run_kernel(c, k);
}

/* A node may list more outputs than its operator has. */
static bool check_outputs(qdq_eval *c)
{
    for (uint32_t i = 0; i < c->node->n_out; i++)
        if (c->node->out[i] != NULL && c->out[i].data == NULL)
            return QDQ_REFUSE(c, "output %u is none of the operator's", (unsigned)i);
    return true;
}

qdq_status qdq_eval_node(const qdq_node *n, int64_t opset, const qdq_const *const *in,
                         uint64_t max_bytes, qdq_arena *memory, qdq_const *out, const char **why,
                         qdq_error *err)
{
    size_t n_out = n->n_out < QDQ_EVAL_OUTPUTS ? n->n_out : QDQ_EVAL_OUTPUTS;
    qdq_eval c = {n,      opset, in,   out, max_bytes, max_bytes, QDQ_UNDEFINED, QDQ_UNDEFINED,
                  memory, NULL,  false};

    memset(out, 0, n_out * sizeof *out);
    *why = NULL;
    if (compute(&c) && check_outputs(&c)) {
        for (size_t i = 0; i < n_out; i++)
            if (n->out[i] == NULL)
                out[i].data = NULL;
        return QDQ_OK;
    }
    memset(out, 0, n_out * sizeof *out);
    QDQ_NEED(!c.nomem, err);
    *why = c.why;
    return QDQ_OK;
}

/* --- to and from tensors of the model --------------------------------------------------------- */

qdq_status qdq_const_of_tensor(const qdq_tensor *t, qdq_arena *memory, qdq_const *out,
                               const char **why, qdq_error *err)
{
    static const max_align_t nothing; /* where the data of a tensor without elements is */
    static const int64_t no_dim;
    size_t size = qdq_elem_bits(t->elem) / 8;
    qdq_error reason;
    qdq_span data;

    memset(out, 0, sizeof *out);
    *why = NULL;
    qdq_status st = qdq_tensor_data(t, memory, &data, &reason);
    if (st == QDQ_E_NOMEM)
        return qdq_nomem(err);
    if (st != QDQ_OK) {
        *why = qdq_arena_strdup(memory, reason.text);
        return *why == NULL ? qdq_nomem(err) : QDQ_OK;
    }
    *out = (qdq_const){t->elem,  t->rank,   t->rank > 0 ? t->dim : &no_dim,
                       t->count, data.data, data.size};
    size = size > sizeof(int64_t) ? sizeof(int64_t) : size;
    if (data.size == 0) {
        out->data = &nothing;
    } else if (size > 1 && (uintptr_t)data.data % size != 0) {
        out->data = qdq_arena_copy(memory, data.data, data.size, 1);
        return qdq_allocated(out->data != NULL, err);
    }
    return QDQ_OK;
}

qdq_tensor *qdq_const_to_tensor(qdq_model *m, const qdq_const *c)
{
    return qdq_tensor_of(m, c->elem, c->rank, c->dim, c->data);
}
