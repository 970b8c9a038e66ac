/* composite.h - for rules that put the many nodes of an exporter's Gelu or LayerNormalization
 * together again. Exporters differ in how they spell the same arithmetic: x * 0.5 * t, (x / 2) * t,
 * x * (t / 2). Here it is read as what it computes, a polynomial, and compared with what it should
 * be. */
#ifndef QDQ_COMPOSITE_H
#define QDQ_COMPOSITE_H

#include "opt/rules/rule.h"

enum { QDQ_PARTS_MAX = 24 };

/* --- the nodes of a composite ----------------------------------------------------------------- */

typedef struct qdq_parts {
    qdq_node *node[QDQ_PARTS_MAX];
    size_t n;
} qdq_parts;

/* Again is once. False: there is no room. */
bool qdq_parts_add(qdq_parts *p, qdq_node *n);

/* What the parts compute is read by parts only, and is no graph output. What `last` computes is the
 * result, and anybody's. */
bool qdq_parts_closed(const qdq_parts *p, const qdq_node *last);

/* Why rules for composites refuse. */
extern const char qdq_read_elsewhere[], qdq_constant_too_wide[];
/* All but the opset of the graph lets fuse-layernorm fuse this. */
extern const char qdq_layernorm_too_old[];
enum { QDQ_LAYERNORM_OPSET = 17 };

/* Takes out those that nothing reads any more. */
void qdq_parts_remove_unread(const qdq_parts *p);

/* --- what they compute ------------------------------------------------------------------------ */

/* The sum of c[i][k] * t^i * x^k. */
typedef struct qdq_poly {
    double c[2][4];
} qdq_poly;

/* How the values of one polynomial are read: through Add, Sub, Mul, Div and Pow with constants of
 * one element. */
typedef struct qdq_poly_reader {
    /* nodes of others are not looked at */
    const qdq_graph *graph;
    /* t may be NULL */
    const qdq_value *x, *t;
    /* the nodes that were read */
    qdq_parts parts;
    /* of the constants; QDQ_UNDEFINED: there are none */
    qdq_elem elem;
    /* the greatest of the constants */
    int rank;
    /* operands looked at; the reader gives up after some */
    int steps;
} qdq_poly_reader;

/* False: v is no polynomial of x and t, or not one that has room here. */
bool qdq_poly_read(qdq_poly_reader *r, const qdq_value *v, qdq_poly *out);

/* The same polynomial but for what rounding does to constants: each coefficient up to one
 * millionth. NAN in `want` stands for any number but 0. */
bool qdq_poly_is(const qdq_poly *p, const qdq_poly *want);

/* One of the operators that polynomials are read through. */
bool qdq_is_arithmetic(const qdq_node *n);

/* Where v is arithmetic: its first operand that is no constant, one step closer to x. NULL: v is
 * not. */
qdq_value *qdq_poly_step(const qdq_graph *g, const qdq_value *v);

/* True if a and b are the same but for what rounding does to constants. */
bool qdq_is_near(double a, double b);

#endif /* QDQ_COMPOSITE_H */
