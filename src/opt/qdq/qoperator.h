/* qoperator.h - the pass qoperator-to-qdq from inside; shared by its files only. */
#ifndef QDQ_QOPERATOR_H
#define QDQ_QOPERATOR_H

#include "opt/opt.h"

/* What codes mean: values of scale and zero point (NULL: 0), and their type (QDQ_UNDEFINED: not
 * known). */
typedef struct qdq_codes {
    qdq_value *scale, *zero;
    qdq_elem elem;
} qdq_codes;

typedef struct qdq_qop {
    qdq_opt *o;
    qdq_graph *g;
    /* address of a value -> qdq_codes * */
    qdq_map codes;
    qdq_error *err;
} qdq_qop;

/* What the codes in v mean, or NULL: not known. */
const qdq_codes *qdq_qop_codes(const qdq_qop *s, const qdq_value *v);
qdq_status qdq_qop_remember(qdq_qop *s, const qdq_value *v, qdq_codes codes);

/* The type of the codes in v, from its data, zero point or type; QDQ_UNDEFINED: not known. */
qdq_elem qdq_qop_elem(const qdq_qop *s, const qdq_value *v, const qdq_value *zero);

/* Reads a scale: one (*axis -1), or one per index of `axis`. Answers why DequantizeLinear could not
 * say it, or NULL. `axis` below 0: only one is allowed. */
const char *qdq_qop_scale(const qdq_qop *s, const qdq_value *scale, const qdq_value *zero,
                          int *axis);

/* DequantizeLinear of codes v before `before`; its output, or NULL: out of memory. */
qdq_value *qdq_qop_dequantize(qdq_qop *s, qdq_node *before, qdq_value *v, qdq_value *scale,
                              qdq_value *zero, int axis);

/* Output i of n, which was codes, is now the float that they stand for: readers get it through a
 * new Q, which has the output's name. `c` is what its codes mean; without zero point, codes that
 * are not uint8 get one. */
qdq_status qdq_qop_requantize(qdq_qop *s, qdq_node *n, uint32_t i, qdq_codes c);

/* n goes on as operator `op` of the default domain, with these inputs and its attributes but the
 * one named `drop` (NULL: all stay). */
qdq_status qdq_qop_recast(qdq_qop *s, qdq_node *n, const char *op, uint32_t n_in,
                          qdq_value *const *in, const char *drop);

/* --- what one node becomes; *done false: it is none of theirs --------------------------------- */

/* qoperator_static.c: QLinearConv and its like, with a scale for everything. */
qdq_status qdq_qop_static(qdq_qop *s, qdq_node *n, bool *done);
/* qoperator_dynamic.c: MatMulInteger and ConvInteger with the Cast and Mul behind them. */
qdq_status qdq_qop_integer(qdq_qop *s, qdq_node *n, bool *done);
/* qoperator_move.c: operators that move codes. */
qdq_status qdq_qop_move(qdq_qop *s, qdq_node *n, bool *done);

#endif /* QDQ_QOPERATOR_H */
