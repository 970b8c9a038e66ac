/* compare_match.h - matches values of two models by name, and cuts the second model at all of
 * them. */
#ifndef QDQ_COMPARE_MATCH_H
#define QDQ_COMPARE_MATCH_H

#include "ir/ir.h"
#include "quant/calib/array_copy.h"
#include "quant/compare/compare_stat.h"
#include "quant/compare/slices.h"

/* A value of both models, and its producer in the second one. Text belongs to the second model's
 * copy. */
typedef struct qdq_match {
    const char *name;
    /* name in a: `name`, unless qdq_match_by_values() finds another value */
    const char *of_a;
    /* name in b before Q/DQ: `name`, unless a DQ produces `name` */
    const char *raw;
    /* name of the value that consumers read, after a DQ; NULL: `raw` */
    const char *read;
    const char *node, *op;
    /* its input in the cut model */
    const char *fed;
    /* Q or DQ lies between it and the matched values before it */
    bool quantized;
    /* type in b */
    qdq_elem elem;
    /* approximate size of one sample; 0: unknown */
    size_t bytes;
    /* it is not numeric, or has different shapes */
    bool left_out;
    qdq_compare_stat value, behind, own;
    /* qdq_near_outputs() in a */
    bool is_near;
    /* only with is_near */
    qdq_slices value_slices, own_slices;
    /* value of the first model */
    qdq_held held;
} qdq_match;

typedef QDQ_VEC(qdq_match) qdq_match_vec;
typedef QDQ_VEC(const char *) qdq_text_vec;

typedef struct qdq_matching {
    qdq_arena arena;
    /* copies with types */
    qdq_model *a, *b;
    /* b with a graph input in place of each matched value, for its consumers */
    qdq_model *cut;
    /* in the order of the second model, producers first */
    qdq_match_vec values;
    qdq_text_vec only_a, only_b;
} qdq_matching;

/* Whether the value fits into memory together with `n` others of *bytes; if so, its size is added
 * to *bytes. The first one always fits. */
bool qdq_match_fits(const qdq_match *v, size_t n, size_t *bytes);

/* Whether two values have known ranks or dims that differ. */
bool qdq_shapes_differ(const qdq_value *x, const qdq_value *y);

/* Matches values of two models by name, with the shapes of a sample `in`. Call qdq_matching_free()
 * for *out in every case. */
qdq_status qdq_match_models(const qdq_model *const model[2], const qdq_named_array *in, size_t n,
                            const qdq_job *job, qdq_matching *out, qdq_error *err);
void qdq_matching_free(qdq_matching *m);

/* Lists the layers of `m`, compared on `samples` samples, the largest error first. *out is freed
 * with qdq_free(). Defined in compare_layers_result.c. */
qdq_status qdq_compare_layers_write(const qdq_matching *m, size_t samples,
                                    qdq_compare_layers_result **out, qdq_error *err);

#endif /* QDQ_COMPARE_MATCH_H */
