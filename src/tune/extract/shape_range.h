/* shape_range.h - the shapes of all values of a model for the least, the usual and the greatest
 * shapes of its inputs: what a part of it is built and timed with. */
#ifndef QDQ_SHAPE_RANGE_H
#define QDQ_SHAPE_RANGE_H

#include "ir/facts.h"

enum { QDQ_SHAPE_MIN, QDQ_SHAPE_OPT, QDQ_SHAPE_MAX, QDQ_SHAPE_RANGE };

/* Shapes of inputs that are not fixed. Without `opt` nothing is known of them; an input without
 * `min` or `max` has its `opt` there. */
typedef struct qdq_shape_range_opts {
    const qdq_input_shape *shapes[QDQ_SHAPE_RANGE];
    size_t n[QDQ_SHAPE_RANGE];
} qdq_shape_range_opts;

/* The shapes of all inputs that are not fixed, as engines time a model: what is given, dims whose
 * symbol is fixed by that, and 1. For `opt` where parts are to be timed and users gave no shapes,
 * or not all. In the arena. */
qdq_status qdq_usual_shapes(const qdq_model *m, const qdq_input_shape *given, size_t n,
                            qdq_arena *arena, qdq_input_shape **out, size_t *n_out, qdq_error *err);

typedef struct qdq_shape_range {
    /* clones with these shapes, inferred; values have the names that they had */
    qdq_model *model[QDQ_SHAPE_RANGE];
    /* of the usual one */
    qdq_facts *facts;
    /* there are shapes at all */
    bool has_shapes;
} qdq_shape_range;

/* `opts` may be NULL. QDQ_E_USAGE: shapes that do not fit, or min and max without opt. */
qdq_status qdq_shape_range_open(const qdq_model *m, const qdq_shape_range_opts *opts,
                                qdq_shape_range **out, qdq_error *err);
void qdq_shape_range_close(qdq_shape_range *r); /* NULL is allowed */

/* The dims of v, -1 where they are not known; false: not even the rank is. A dim that does not grow
 * with the inputs is sorted, so that min <= max; opt stays, and they include it. */
typedef struct qdq_dims_range {
    int rank;
    int64_t dim[QDQ_SHAPE_RANGE][QDQ_MAX_RANK];
    /* some dim differs */
    bool dynamic;
} qdq_dims_range;
bool qdq_shape_range_of(const qdq_shape_range *r, const qdq_value *v, qdq_dims_range *out);

/* What v holds for the usual shapes, in the memory of that model; NULL: it is not known before it
 * runs, or out of memory (*st). */
const qdq_tensor *qdq_shape_range_tensor(const qdq_shape_range *r, const qdq_value *v,
                                         qdq_status *st);

#endif /* QDQ_SHAPE_RANGE_H */
