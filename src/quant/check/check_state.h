/* check_state.h - what a check against a target knows while it works; shared by the check_*.c files
 * of this folder. */
#ifndef QDQ_CHECK_STATE_H
#define QDQ_CHECK_STATE_H

#include "base/vec.h"
#include "ir/ir.h"
#include "qdq/check.h"
#include "target/existing_qdq.h"
#include "target/target.h"

typedef enum qdq_check_kind_id {
#define KIND(ENUM, name, is_error, help) QDQ_CHECK_##ENUM,
#include "quant/check/check_kinds.def"
#undef KIND
    QDQ_CHECK_KIND_COUNT
} qdq_check_kind_id;

/* Of a node of the main graph. */
typedef struct qdq_check_node {
    /* why placement leaves it float; NULL: it does not, or did not look at it */
    const char *reason;
    /* nothing is missing for the 8-bit kernel */
    bool fused;
    /* it has one, but something is missing */
    bool planned;
    /* what the engine ran for it; NULL: not known */
    const char *kernel;
    /* of a Q or DQ that the engine ran; 0: it did not */
    double microseconds;
    /* of a Q or DQ */
    const qdq_found *found;
} qdq_check_node;

typedef QDQ_VEC(qdq_target_finding) qdq_finding_list;

typedef struct qdq_checking {
    /* a copy, with types */
    qdq_model *m;
    const qdq_target *t;
    const qdq_check_opts *opts;
    qdq_arena arena;
    /* by node id */
    qdq_check_node *node;
    qdq_finding_list found;
    size_t n_quantizers, n_fused, n_unfused, n_weights;
    /* that the target has for a node, by its id */
    const qdq_format *const *format;
    bool proven;
    qdq_error *err;
} qdq_checking;

/* Adds a finding about n; `fmt` says why. */
qdq_status qdq_check_add(qdq_checking *c, qdq_check_kind_id kind, const qdq_node *n,
                         uint64_t converted, const char *fmt, ...) QDQ_PRINTF(5, 6);

static inline qdq_check_node *qdq_check_of(const qdq_checking *c, const qdq_node *n)
{
    return &c->node[n->id];
}

static inline bool qdq_check_is_quantizer(const qdq_node *n)
{
    return qdq_node_is_qdq(n);
}

/* The DQ of the main graph that v comes from, or NULL. */
static inline const qdq_node *qdq_check_dq(const qdq_checking *c, const qdq_value *v)
{
    const qdq_node *n = v != NULL ? v->producer : NULL;

    return n != NULL && n->op == QDQ_OP_DEQUANTIZELINEAR && n->graph == c->m->graph ? n : NULL;
}

/* How many elements v has; 0: not known. */
uint64_t qdq_check_elements(const qdq_value *v);

/* The value behind the operators that the engine fuses into n. */
const qdq_value *qdq_check_result(const qdq_checking *c, const qdq_target_op *rule,
                                  const qdq_node *n);

/* check_params.c: every Q and DQ by itself, in all graphs. */
qdq_status qdq_check_params(qdq_checking *c);
/* check_linear.c: weights and biases of n, which is linear. */
qdq_status qdq_check_linear(qdq_checking *c, const qdq_node *n, const qdq_target_op *rule);
/* check_saturation.c: would a processor without VNNI add products of n, which is linear, with
 * saturation? */
qdq_status qdq_check_saturation(qdq_checking *c, const qdq_node *n, const qdq_tensor *codes);
/* check_fusion.c: what the rules say of nodes next to Q/DQ. */
qdq_status qdq_check_fusion(qdq_checking *c);
/* check_engine.c: what the engine runs. Fills kernel and microseconds. */
qdq_status qdq_check_engine(qdq_checking *c);

#endif /* QDQ_CHECK_STATE_H */
