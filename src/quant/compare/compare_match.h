/* compare_match.h - which values of two models are the same by name, and the second model cut open
 * at all of them. */
#ifndef QDQ_COMPARE_MATCH_H
#define QDQ_COMPARE_MATCH_H

#include "ir/ir.h"
#include "quant/calib/array_copy.h"
#include "quant/compare/compare_stat.h"
#include "quant/compare/slices.h"

/* A value that both models have, and what makes it in the second one. Text is of the second model's
 * copy. */
typedef struct qdq_match {
    const char *name;
    const char *of_a; /* the value of a: `name`, unless qdq_match_by_values() finds another one */
    const char *raw;  /* value of b before its Q/DQ: `name`, unless a DQ gives `name` */
    const char *read; /* what readers get: behind a DQ; NULL: `raw` itself */
    const char *node, *op;
    const char *fed; /* the input of the cut model that stands for it */
    bool quantized;  /* Q or DQ between it and the matched values in front */
    qdq_elem elem;   /* in b */
    size_t bytes;    /* of one sample, about; 0: not known */
    bool left_out;   /* no numbers, or of different shape */
    qdq_compare_stat value, behind, own;
    bool is_near;                        /* qdq_near_outputs() in a */
    qdq_slices value_slices, own_slices; /* of what is near */
    qdq_held held;                       /* of the first model */
} qdq_match;

typedef QDQ_VEC(qdq_match) qdq_match_vec;
typedef QDQ_VEC(const char *) qdq_text_vec;

typedef struct qdq_matching {
    qdq_arena arena;
    qdq_model *a, *b;     /* copies with types */
    qdq_model *cut;       /* b, where every reader of a matched value reads a graph input instead */
    qdq_match_vec values; /* in order of the second model, producers first */
    qdq_text_vec only_a, only_b;
} qdq_matching;

/* May the value be held together with `n` others, of which *bytes are held? Then *bytes grows by
 * its own. The first one always may. */
bool qdq_match_fits(const qdq_match *v, size_t n, size_t *bytes);

/* Have two values ranks or dims that are known and not the same? */
bool qdq_shapes_differ(const qdq_value *x, const qdq_value *y);

/* Matches values of two models by name, whose shapes are those of a sample `in`. *out goes to
 * qdq_matching_free(), also when this fails. */
qdq_status qdq_match_models(const qdq_model *const model[2], const qdq_named_array *in, size_t n,
                            const qdq_job *job, qdq_matching *out, qdq_error *err);
void qdq_matching_free(qdq_matching *m);

/* compare_layers_result.c: the layers of `m` that were compared on `samples` samples, the largest
 * error first. *out goes to qdq_free(). */
qdq_status qdq_compare_layers_write(const qdq_matching *m, size_t samples,
                                    qdq_compare_layers_result **out, qdq_error *err);

#endif /* QDQ_COMPARE_MATCH_H */
