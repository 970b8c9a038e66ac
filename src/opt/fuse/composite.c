/* composite.c - reads a subgraph of arithmetic as a polynomial and compares it. */
#include "opt/fuse/composite.h"

#include <math.h>

/* Far more than any spelling needs; values that are read twice and more make trees out of small
 * graphs. */
enum { MAX_DEPTH = 8, MAX_STEPS = 64 };

const char qdq_read_elsewhere[] = "a value inside is read elsewhere";
const char qdq_constant_too_wide[] =
    "a constant may have more dimensions than what it is applied to";

/* --- parts ------------------------------------------------------------------------------------ */

bool qdq_parts_add(qdq_parts *p, qdq_node *n)
{
    if (qdq_nodes_have(p->node, p->n, n))
        return true;
    if (p->n == QDQ_PARTS_MAX)
        return false;
    p->node[p->n++] = n;
    return true;
}

bool qdq_parts_closed(const qdq_parts *p, const qdq_node *last)
{
    for (size_t i = 0; i < p->n; i++) {
        const qdq_node *n = p->node[i];

        for (uint32_t k = 0; n != last && k < n->n_out; k++)
            if (n->out[k] != NULL && !qdq_nodes_alone_read(p->node, p->n, n->out[k]))
                return false;
    }
    return true;
}

void qdq_parts_remove_unread(const qdq_parts *p)
{
    bool again = true;

    while (again) { /* at most once for each part */
        again = false;
        for (size_t i = 0; i < p->n; i++)
            if (!p->node[i]->dead && !qdq_node_is_read(p->node[i])) {
                qdq_node_remove(p->node[i]);
                again = true;
            }
    }
}

/* --- polynomials ------------------------------------------------------------------------------ */

static void add_poly(qdq_poly *p, const qdq_poly *q, double factor)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++)
            p->c[i][k] += factor * q->c[i][k];
}

/* False: the product has powers that there is no room for. */
static bool multiply(qdq_poly *p, const qdq_poly *q)
{
    qdq_poly product = {{{0}}};

    for (int n = 0; n < 64; n++) {
        int i = n >> 5, k = n >> 3 & 3, j = n >> 2 & 1, l = n & 3;
        double c = p->c[i][k] * q->c[j][l];

        if (c == 0)
            continue;
        if (i + j > 1 || k + l > 3)
            return false;
        product.c[i + j][k + l] += c;
    }
    *p = product;
    return true;
}

static bool is_number(const qdq_poly *p, double *x)
{
    *x = p->c[0][0];
    for (int n = 1; n < 8; n++)
        if (p->c[n / 4][n % 4] != 0)
            return false;
    return true;
}

static bool power(qdq_poly *p, const qdq_poly *exponent)
{
    qdq_poly base = *p;
    double n;

    if (!is_number(exponent, &n) || (n != 1 && n != 2 && n != 3))
        return false;
    for (int i = 1; i < (int)n; i++)
        if (!multiply(p, &base))
            return false;
    return true;
}

static bool divide(qdq_poly *p, const qdq_poly *q)
{
    qdq_poly quotient = {{{0}}};
    double x;

    if (!is_number(q, &x) || x == 0)
        return false;
    add_poly(&quotient, p, 1 / x);
    *p = quotient;
    return true;
}

static bool combine(qdq_op op, qdq_poly *p, const qdq_poly *q)
{
    if (op == QDQ_OP_ADD || op == QDQ_OP_SUB) {
        add_poly(p, q, op == QDQ_OP_ADD ? 1 : -1);
        return true;
    }
    if (op == QDQ_OP_MUL)
        return multiply(p, q);
    return op == QDQ_OP_DIV ? divide(p, q) : power(p, q);
}

/* --- reading ---------------------------------------------------------------------------------- */

bool qdq_is_arithmetic(const qdq_node *n)
{
    return (n->op == QDQ_OP_ADD || n->op == QDQ_OP_SUB || n->op == QDQ_OP_MUL ||
            n->op == QDQ_OP_DIV || n->op == QDQ_OP_POW) &&
           n->n_in == 2 && n->n_attr == 0 && n->n_out == 1 && n->out[0] != NULL;
}

static qdq_node *arithmetic(const qdq_graph *g, const qdq_value *v)
{
    return v->producer != NULL && v->graph == g && qdq_is_arithmetic(v->producer) ? v->producer
                                                                                  : NULL;
}

/* The exponent of Pow may be of another type than all else. */
static bool read_number(qdq_poly_reader *r, const qdq_tensor *t, bool exponent, qdq_poly *out)
{
    if (!qdq_tensor_scalar(t, &out->c[0][0]))
        return false;
    if (t->rank > r->rank)
        r->rank = t->rank;
    if (exponent || r->elem == t->elem)
        return true;
    if (r->elem != QDQ_UNDEFINED)
        return false;
    r->elem = t->elem;
    return true;
}

static bool read_value(qdq_poly_reader *r, const qdq_value *v, bool exponent, int depth,
                       qdq_poly *out)
{
    const qdq_tensor *number;
    qdq_node *n;
    qdq_poly right;

    if (v == NULL || r->steps++ == MAX_STEPS)
        return false;
    *out = (qdq_poly){{{0}}};
    if (v == r->x || v == r->t) {
        out->c[v == r->t][v == r->x] = 1;
        return true;
    }
    number = qdq_value_const(v);
    if (number != NULL)
        return read_number(r, number, exponent, out);
    n = depth > 0 ? arithmetic(r->graph, v) : NULL;
    return n != NULL && qdq_parts_add(&r->parts, n) &&
           read_value(r, n->in[0].value, false, depth - 1, out) &&
           read_value(r, n->in[1].value, n->op == QDQ_OP_POW, depth - 1, &right) &&
           combine(n->op, out, &right);
}

bool qdq_poly_read(qdq_poly_reader *r, const qdq_value *v, qdq_poly *out)
{
    r->steps = 0;
    return read_value(r, v, false, MAX_DEPTH, out);
}

bool qdq_is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

bool qdq_poly_is(const qdq_poly *p, const qdq_poly *want)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) {
            double c = p->c[i][k], w = want->c[i][k];

            if (isnan(w) ? !isfinite(c) || c == 0 : !qdq_is_near(c, w))
                return false;
        }
    return true;
}

qdq_value *qdq_poly_step(const qdq_graph *g, const qdq_value *v)
{
    qdq_node *n = arithmetic(g, v);

    for (uint32_t i = 0; n != NULL && i < 2; i++)
        if (n->in[i].value != NULL && qdq_value_const(n->in[i].value) == NULL)
            return n->in[i].value;
    return NULL;
}
