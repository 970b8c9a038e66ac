/* fuse_norm.c - LayerNormalization and RMSNormalization from the arithmetic that exporters make of
 * them.
 *
 *     d = x - mean(x)                       RMSNormalization: d = x
 *     n = d / sqrt(mean(d * d) + epsilon)   or d * (1 / sqrt(..)); the square as Mul or Pow;
 *                                           d made once or twice
 *     y = n * scale + bias                  both may be missing: then scale is all ones
 *
 * The rule begins at n, where all spellings meet, and takes the scale and bias that follow.
 * Exporters of float16 models compute n in float, between two Casts: the operator is defined that
 * way, too. */
#include <float.h>

#include "base/fail.h"
#include "opt/fuse/composite.h"
#include "opt/rules/rule_layout.h"

typedef struct norm {
    /* computes the result */
    qdq_node *last;
    qdq_value *x, *d;
    /* NULL: none */
    qdq_value *scale, *bias;
    /* of x, scale, bias and the result */
    qdq_elem elem;
    /* what is normalized: `rank` dims from here */
    const qdq_dim *dim;
    int rank;
    double epsilon;
    qdq_parts parts;
} norm;

/* --- d and its x ------------------------------------------------------------------------------ */

static qdq_node *maker(const qdq_match *m, const qdq_value *v, qdq_op op)
{
    return v != NULL && v->producer != NULL && v->graph == m->graph && v->producer->op == op
               ? v->producer
               : NULL;
}

/* d = x - mean(x): its x, and both nodes; or NULL. */
static qdq_value *centred(const qdq_match *m, const qdq_value *d, qdq_node **sub, qdq_node **mean)
{
    *sub = maker(m, d, QDQ_OP_SUB);
    *mean = *sub != NULL ? maker(m, qdq_node_in(*sub, 1), QDQ_OP_REDUCEMEAN) : NULL;
    return *mean != NULL && qdq_node_in(*sub, 0) == qdq_node_in(*mean, 0) ? qdq_node_in(*sub, 0)
                                                                          : NULL;
}

/* The axes of a ReduceMean that keeps them, if they are the last ones: how many; else 0. */
static int count_last_axes(const qdq_match *m, const qdq_node *n, int rank)
{
    qdq_rule_ints axes;
    bool there;

    if (qdq_node_int(n, "keepdims", 1) != 1 || !qdq_rule_axes(m, n, 18, rank, &axes, &there) ||
        !there)
        return 0;
    for (int i = 0; i < axes.n; i++)
        if (axes.at[i] != rank - axes.n + i)
            return 0;
    return axes.n;
}

/* --- the core: from x to n -------------------------------------------------------------------- */

typedef struct core {
    /* all of the same axes */
    qdq_node *mean[3];
    size_t n_mean;
    /* their greatest rank */
    int constants;
} core;

static bool add_centre(const qdq_match *m, const qdq_value *d, qdq_value *x, norm *f, core *c)
{
    qdq_node *sub, *mean;

    if (centred(m, d, &sub, &mean) != x || !qdq_parts_add(&f->parts, sub) ||
        !qdq_parts_add(&f->parts, mean))
        return false;
    c->mean[c->n_mean++] = mean;
    return true;
}

/* `square` is d * d, where d may have been made a second time. */
static bool find_square(const qdq_match *m, norm *f, core *c)
{
    static const qdq_poly d_squared = {{{0, 0, 1}}};
    const qdq_value *square = qdq_match_value(m, "square"), *d = qdq_poly_step(m->graph, square);
    qdq_poly_reader reader = {.graph = m->graph, .x = d};
    qdq_poly p;

    if (d == NULL || !qdq_poly_read(&reader, square, &p) || !qdq_poly_is(&p, &d_squared))
        return false;
    for (size_t i = 0; i < reader.parts.n; i++)
        if (!qdq_parts_add(&f->parts, reader.parts.node[i]))
            return false;
    c->constants = reader.rank;
    return d == f->d || (f->x != f->d && add_centre(m, d, f->x, f, c));
}

static bool find_core(const qdq_match *m, bool subtracts_mean, norm *f, core *c)
{
    const qdq_tensor *one = qdq_match_const(m, "one"), *epsilon = qdq_match_const(m, "epsilon");
    qdq_node *sub, *mean;
    qdq_value *x;
    double number;

    f->d = qdq_match_value(m, "d");
    x = centred(m, f->d, &sub, &mean);
    if (subtracts_mean != (x != NULL))
        return false;
    f->x = subtracts_mean ? x : f->d;
    for (size_t i = 0; i < m->n_pat; i++)
        if (!qdq_parts_add(&f->parts, m->node[i]))
            return false;
    c->mean[c->n_mean++] = qdq_match_node(m, "variance");
    if ((subtracts_mean && !add_centre(m, f->d, x, f, c)) || !find_square(m, f, c))
        return false;
    if (one != NULL && (!qdq_tensor_scalar(one, &number) || number != 1))
        return false;
    if (one != NULL && one->rank > c->constants)
        c->constants = one->rank;
    if (epsilon->rank > c->constants)
        c->constants = epsilon->rank;
    return qdq_tensor_scalar(epsilon, &f->epsilon);
}

/* NULL: what is normalized is known, and may be. */
static const char *find_shape(const qdq_match *m, norm *f, const core *c)
{
    const qdq_type *type = qdq_match_type(m, f->x);

    if (!(f->epsilon >= FLT_MIN && f->epsilon <= FLT_MAX))
        return "epsilon is not a positive float";
    if (type == NULL || type->rank < 0)
        return "the shape of what is normalized is not proven";
    if (type->elem != QDQ_FLOAT && type->elem != QDQ_DOUBLE)
        return "the element type is neither float nor double";
    if (c->constants > type->rank)
        return qdq_constant_too_wide;
    f->elem = type->elem;
    f->rank = count_last_axes(m, c->mean[0], type->rank);
    for (size_t i = 1; i < c->n_mean; i++)
        if (count_last_axes(m, c->mean[i], type->rank) != f->rank)
            f->rank = 0;
    if (f->rank == 0)
        return "the means are not over the last axes";
    f->dim = type->dim + type->rank - f->rank;
    for (int i = 0; i < f->rank; i++)
        if (f->dim[i].value <= 0)
            return "the shape of what is normalized is not proven";
    return NULL;
}

/* --- what follows n --------------------------------------------------------------------------- */

/* A constant of the normalized shape, but for ones in front. */
static bool has_shape(const norm *f, const qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);

    if (t == NULL || t->elem != f->elem || t->rank < f->rank)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != (i < t->rank - f->rank ? 1 : f->dim[i - (t->rank - f->rank)].value))
            return false;
    return true;
}

/* `op` with such a constant behind the last node: the constant, and it becomes the last one. */
static qdq_value *take_operand(norm *f, qdq_op op, int rank_of_x)
{
    qdq_node *n = qdq_value_only_user(f->last->out[0]);

    if (n == NULL || n->op != op || !qdq_is_arithmetic(n))
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        qdq_value *v = n->in[i].value;

        if (!has_shape(f, v) || qdq_value_const(v)->rank > rank_of_x ||
            !qdq_parts_add(&f->parts, n))
            continue;
        f->last = n;
        return v;
    }
    return NULL;
}

/* x = Cast(float16) and Cast(n) to float16, if nothing else reads that x: then the operator does
 * both. */
static void take_casts(const qdq_match *m, norm *f)
{
    qdq_node *in = maker(m, f->x, QDQ_OP_CAST), *out = qdq_value_only_user(m->root->out[0]);
    norm wider = *f;

    if (f->elem != QDQ_FLOAT || in == NULL ||
        qdq_match_elem(m, qdq_node_in(in, 0)) != QDQ_FLOAT16 || out == NULL ||
        out->op != QDQ_OP_CAST || qdq_node_int(out, "to", 0) != QDQ_FLOAT16 ||
        !qdq_parts_add(&wider.parts, in) || !qdq_parts_add(&wider.parts, out) ||
        !qdq_parts_closed(&wider.parts, out))
        return;
    *f = wider;
    f->x = qdq_node_in(in, 0);
    f->elem = QDQ_FLOAT16;
    f->last = out;
}

static bool too_many_ones(const qdq_match *m, const norm *f)
{
    uint64_t bytes = (uint64_t)qdq_elem_bits(f->elem) / 8;

    for (int i = 0; i < f->rank; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)f->dim[i].value, &bytes))
            return true;
    return bytes > m->o->opts->fold_output_bytes;
}

static const char *find_norm(const qdq_match *m, bool subtracts_mean)
{
    norm *f = qdq_match_found(m, sizeof *f);
    core c = {.n_mean = 0};
    const char *why;
    int rank;

    *f = (norm){.last = m->root};
    if (!find_core(m, subtracts_mean, f, &c))
        return qdq_not_this;
    why = find_shape(m, f, &c);
    if (why != NULL)
        return why;
    rank = qdq_match_rank(m, f->x);
    take_casts(m, f);
    f->scale = take_operand(f, QDQ_OP_MUL, rank);
    f->bias = subtracts_mean ? take_operand(f, QDQ_OP_ADD, rank) : NULL;
    if (!qdq_parts_closed(&f->parts, f->last))
        return qdq_read_elsewhere;
    return f->scale == NULL && too_many_ones(m, f)
               ? "a scale of ones would be larger than the limit"
               : NULL;
}

/* --- building --------------------------------------------------------------------------------- */

/* The constant as the operator wants it: of the normalized shape. NULL: out of memory. */
static qdq_value *shaped(qdq_match *m, const norm *f, qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);
    const char *base =
        v != NULL ? v->name : qdq_arena_printf(&m->o->scratch, "%s_scale", f->last->out[0]->name);
    int64_t *dim = qdq_arena_array(&m->o->scratch, (size_t)f->rank, sizeof *dim);
    qdq_tensor *made;
    void *data;

    if (t != NULL && t->rank == f->rank)
        return v;
    if (base == NULL || dim == NULL)
        return NULL;
    for (int i = 0; i < f->rank; i++)
        dim[i] = f->dim[i].value;
    if (t != NULL)
        return qdq_match_add_const(m, base,
                                   qdq_tensor_view(m->graph->model, t, f->elem, f->rank, dim));
    made = qdq_tensor_new(m->graph->model, f->elem, f->rank, dim, &data);
    for (int64_t i = 0; made != NULL && i < made->count; i++)
        qdq_elem_put_float(f->elem, data, i, 1);
    return qdq_match_add_const(m, base, made);
}

static qdq_status build_norm(qdq_match *m, const char *op, qdq_error *err)
{
    const norm *f = qdq_match_found(m, sizeof *f);
    qdq_value *in[3] = {f->x};
    uint32_t n_in = 1;

    m->root = f->last;
    QDQ_NEED((in[n_in++] = shaped(m, f, f->scale)) != NULL, err);
    if (f->bias != NULL && (in[n_in++] = shaped(m, f, f->bias)) == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_match_recast(m, op, n_in, in, err));
    if (!qdq_node_set_int(f->last, "axis", -f->rank) ||
        !qdq_node_set_float(f->last, "epsilon", (float)f->epsilon) ||
        (f->elem == QDQ_DOUBLE && !qdq_node_set_int(f->last, "stash_type", QDQ_DOUBLE)))
        return qdq_nomem(err);
    qdq_parts_remove_unread(&f->parts);
    qdq_match_touch(m, f->last);
    return QDQ_OK;
}

const char qdq_layernorm_too_old[] = "the operator LayerNormalization needs opset 17";

static const char *check_layernorm(const qdq_match *m)
{
    const char *why = find_norm(m, true);

    return why == NULL && m->opset < QDQ_LAYERNORM_OPSET ? qdq_layernorm_too_old : why;
}

static qdq_status build_layernorm(qdq_match *m, qdq_error *err)
{
    return build_norm(m, "LayerNormalization", err);
}

static const char *check_rmsnorm(const qdq_match *m)
{
    return find_norm(m, false);
}

static qdq_status build_rmsnorm(qdq_match *m, qdq_error *err)
{
    return build_norm(m, "RMSNormalization", err);
}

/* --- rules ------------------------------------------------------------------------------------ */

#define ROOT_OF_MEAN                                                                               \
    {"root", QDQ_OP_SQRT, {"sum"}, 0},                                                             \
        {"sum", QDQ_OP_ADD, {"variance", "#epsilon"}, QDQ_PAT_COMMUTES},                           \
    {                                                                                              \
        "variance", QDQ_OP_REDUCEMEAN, {"square"}, QDQ_PAT_MORE                                    \
    }

static const qdq_pat normalize[] = {
    {"n", QDQ_OP_DIV, {"d", "root"}, 0},
    ROOT_OF_MEAN,
    {"n", QDQ_OP_MUL, {"d", "inverse"}, QDQ_PAT_COMMUTES},
    {"inverse", QDQ_OP_RECIPROCAL, {"root"}, 0},
    ROOT_OF_MEAN,
    {"n", QDQ_OP_MUL, {"d", "inverse"}, QDQ_PAT_COMMUTES},
    {"inverse", QDQ_OP_DIV, {"#one", "root"}, 0},
    ROOT_OF_MEAN,
};

/* Of any opset: what an older one refuses is counted. */
const qdq_rule qdq_rule_fuse_layernorm = {QDQ_RULE_PAT(normalize), .check = check_layernorm,
                                          .build = build_layernorm};
const qdq_rule qdq_rule_fuse_rmsnorm = {QDQ_RULE_PAT(normalize), .min_opset = 23,
                                        .check = check_rmsnorm, .build = build_rmsnorm};
