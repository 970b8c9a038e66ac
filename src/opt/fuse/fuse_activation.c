/* fuse_activation.c - Gelu, HardSwish, HardSigmoid and Swish from the arithmetic that exporters
 * make of them.
 *
 * What all spellings of one activation share is an operator that is no arithmetic, t = Erf(..), and
 * x. The rule begins there, reads the argument as a polynomial of x, and walks on to the node that
 * computes the wanted polynomial of x and t. Constants may differ by a millionth: by what rounding
 * to float makes of them, or an exporter of sqrt(2). Only float, where that is below what the
 * operators round. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "opt/fuse/composite.h"

enum { STEPS = 6 }; /* from t to the result; from the argument to x */

typedef struct form {
    const qdq_rule *rule;
    /* of t */
    qdq_op op;
    /* its argument, in x */
    qdq_poly inner;
    /* the result, in x and t */
    qdq_poly outer;
    const char *becomes;
} form;

#define SQRT_HALF    0.70710678118654752
#define SQRT_2_BY_PI 0.79788456080286536
#define CUBED        (SQRT_2_BY_PI * 0.044715)
#define SIXTH        (1.0 / 6)

/* Polynomials are rows of t^0 and t^1, with columns of x^0, x^1, ... */
static const form forms[] = {
    {&qdq_rule_fuse_gelu, QDQ_OP_ERF, {{{0, SQRT_HALF}}}, {{{0, 0.5}, {0, 0.5}}}, "Gelu"},
    {&qdq_rule_fuse_gelu,
     QDQ_OP_TANH,
     {{{0, SQRT_2_BY_PI, 0, CUBED}}},
     {{{0, 0.5}, {0, 0.5}}},
     "Gelu"},
    {&qdq_rule_fuse_hardswish, QDQ_OP_CLIP, {{{3, 1}}}, {{{0}, {0, SIXTH}}}, "HardSwish"},
    {&qdq_rule_fuse_hardswish, QDQ_OP_HARDSIGMOID, {{{0, 1}}}, {{{0}, {0, 1}}}, "HardSwish"},
    {&qdq_rule_fuse_hardsigmoid, QDQ_OP_CLIP, {{{3, 1}}}, {{{0}, {SIXTH}}}, "HardSigmoid"},
    {&qdq_rule_fuse_hardsigmoid,
     QDQ_OP_CLIP,
     {{{3, 1}}},
     {{{0}, {0, SIXTH}}},
     "Mul"}, /* of x and HardSigmoid */
    {&qdq_rule_fuse_silu, QDQ_OP_SIGMOID, {{{0, NAN}}}, {{{0}, {0, 1}}}, "Swish"},
};

typedef struct found {
    const form *form;
    qdq_value *x;
    /* computes the result */
    qdq_node *last;
    /* the coefficient of x in the argument */
    double alpha;
    qdq_poly_reader reader;
} found;

/* --- finding ---------------------------------------------------------------------------------- */

static bool scalar_is(const qdq_value *v, double want)
{
    const qdq_tensor *t = qdq_value_const(v);
    double x;

    return t != NULL && qdq_tensor_scalar(t, &x) && x == want;
}

/* Clip(.., 0, 6): the bounds were attributes before opset 11. */
static bool clips_at_six(const qdq_node *n, int64_t opset)
{
    if (opset < 11)
        return qdq_node_float(n, "min", -1) == 0 && qdq_node_float(n, "max", -1) == 6;
    return n->n_attr == 0 && scalar_is(qdq_node_in(n, 1), 0) && scalar_is(qdq_node_in(n, 2), 6);
}

/* HardSigmoid as HardSwish has it: max(0, min(1, x / 6 + 1 / 2)). */
static bool is_sixth(const qdq_node *n)
{
    return qdq_is_near((double)qdq_node_float(n, "alpha", 0.2f), SIXTH) &&
           qdq_node_float(n, "beta", 0.5f) == 0.5f;
}

static bool t_is(const qdq_match *m, qdq_op op)
{
    const qdq_node *t = m->root;

    if (t->op != op || t->n_out != 1)
        return false;
    for (uint32_t i = 0; i < t->n_attr; i++)
        if (t->attr[i]->ref != NULL) /* of a function: who calls it decides */
            return false;
    if (op == QDQ_OP_CLIP)
        return clips_at_six(t, m->opset);
    return op != QDQ_OP_HARDSIGMOID || is_sixth(t);
}

/* The reader of v that does arithmetic. If there are more readers than the right one, this may be
 * the wrong one: then there is no composite, or one that is not closed. */
static qdq_node *next_reader(const qdq_match *m, const qdq_value *v)
{
    int tries = 4;

    QDQ_FOR_USES (u, v) {
        if (u->node->graph == m->graph && qdq_is_arithmetic(u->node))
            return u->node;
        if (--tries == 0)
            return NULL;
    }
    return NULL;
}

/* The way from t to the result. Parts that were looked at and are not on it do not matter: what is
 * beyond the result is not read. */
static bool find_result(const qdq_match *m, found *f)
{
    qdq_node *n = m->root;
    const qdq_poly_reader argument = f->reader;
    qdq_poly p;

    f->reader.t = n->out[0];
    for (int i = 0; i < STEPS; i++) {
        n = next_reader(m, n->out[0]);
        f->reader.parts = argument.parts;
        if (n == NULL || !qdq_poly_read(&f->reader, n->out[0], &p))
            return false;
        if (qdq_poly_is(&p, &f->form->outer)) {
            f->last = n;
            return qdq_parts_add(&f->reader.parts, m->root);
        }
    }
    return false;
}

/* x is somewhere below the argument: whatever has both polynomials right is it. */
static bool find_x(const qdq_match *m, const form *want, found *f)
{
    qdq_value *arg = qdq_node_in(m->root, 0), *x = arg;
    qdq_poly p;

    for (int i = 0; x != NULL && i < STEPS; i++, x = qdq_poly_step(m->graph, x)) {
        *f = (found){.form = want, .x = x, .reader = {.graph = m->graph, .x = x}};
        if (!qdq_poly_read(&f->reader, arg, &p) || !qdq_poly_is(&p, &want->inner))
            continue;
        f->alpha = p.c[0][1];
        if (find_result(m, f))
            return true;
    }
    return false;
}

static const char *check_activation(const qdq_match *m)
{
    found *f = qdq_match_found(m, sizeof *f);

    for (size_t i = 0; i < QDQ_COUNT(forms); i++) {
        if (forms[i].rule != m->rule || !t_is(m, forms[i].op) || !find_x(m, &forms[i], f))
            continue;
        if (!qdq_parts_closed(&f->reader.parts, f->last))
            return qdq_read_elsewhere;
        if (f->reader.elem != QDQ_UNDEFINED && f->reader.elem != QDQ_FLOAT)
            return "the element type is not float";
        if (f->reader.rank > 0 && f->reader.rank > qdq_match_rank(m, f->x))
            return qdq_constant_too_wide;
        return NULL;
    }
    return qdq_not_this;
}

/* --- building --------------------------------------------------------------------------------- */

static bool make_sixth(qdq_node *n)
{
    return qdq_node_set_float(n, "alpha", (float)SIXTH) && qdq_node_set_float(n, "beta", 0.5f);
}

static bool set_attributes(const found *f)
{
    if (f->form->op == QDQ_OP_TANH)
        return qdq_node_set_string(f->last, "approximate", "tanh");
    if (f->form->op == QDQ_OP_SIGMOID && f->alpha != 1)
        return qdq_node_set_float(f->last, "alpha", (float)f->alpha);
    return strcmp(f->form->becomes, "HardSigmoid") != 0 || make_sixth(f->last);
}

/* The last node goes on as the activation; what computed its operands goes. */
static qdq_status build_activation(qdq_match *m, qdq_error *err)
{
    found *f = qdq_match_found(m, sizeof *f);
    qdq_value *in[2] = {f->x};
    uint32_t n_in = 1;

    m->root = f->last;
    if (strcmp(f->form->becomes, "Mul") == 0) {
        qdq_node *factor = qdq_match_add(m, "HardSigmoid", 1, in, NULL);

        QDQ_NEED(factor != NULL && make_sixth(factor), err);
        in[n_in++] = factor->out[0];
    }
    QDQ_TRY(qdq_match_recast(m, f->form->becomes, n_in, in, err));
    QDQ_NEED(set_attributes(f), err);
    qdq_parts_remove_unread(&f->reader.parts);
    qdq_match_touch(m, f->last);
    return QDQ_OK;
}

/* --- rules ------------------------------------------------------------------------------------ */

#define ROW(op)                                                                                    \
    {                                                                                              \
        "t", op, {"arg"}, QDQ_PAT_MORE                                                             \
    }

static const qdq_pat gelu[] = {ROW(QDQ_OP_ERF), ROW(QDQ_OP_TANH)};
static const qdq_pat hardswish[] = {ROW(QDQ_OP_CLIP), ROW(QDQ_OP_HARDSIGMOID)};
static const qdq_pat hardsigmoid[] = {ROW(QDQ_OP_CLIP)};
static const qdq_pat silu[] = {ROW(QDQ_OP_SIGMOID)};

#define ACTIVATION(rows, opset)                                                                    \
    {                                                                                              \
        QDQ_RULE_PAT(rows), .min_opset = opset, .check = check_activation,                         \
                            .build = build_activation                                              \
    }

const qdq_rule qdq_rule_fuse_gelu = ACTIVATION(gelu, 20);
const qdq_rule qdq_rule_fuse_hardswish = ACTIVATION(hardswish, 14);
const qdq_rule qdq_rule_fuse_hardsigmoid = ACTIVATION(hardsigmoid, 7);
const qdq_rule qdq_rule_fuse_silu = ACTIVATION(silu, 24);
