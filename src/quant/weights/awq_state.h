/* awq_state.h - what the search for weights knows while it runs; shared by the awq*.c files
 * only. */
#ifndef QDQ_AWQ_STATE_H
#define QDQ_AWQ_STATE_H

#include "base/map.h"
#include "quant/weights/awq.h"
#include "quant/weights/weight_columns.h"

/* At most this many rows of an activation are kept, and about half as many at least. */
enum { QDQ_AWQ_ROWS = 128 };

/* An activation, and the weights that read it. */
typedef struct qdq_awq_group {
    const qdq_value *x;
    QDQ_VEC(qdq_weight_columns) weights;
    size_t k;
    /* of |x|, for each channel */
    double *sum;
    /* least and largest value of each channel, 0 included */
    float *low, *high;
    /* rows that these are of */
    uint64_t n_row;
    /* the kept ones, */
    float *row;
    /* this many, */
    size_t n_kept;
    /* what quantized data makes of these rows; NULL: data stays float */
    const float *row_back;
    /* with lots up to a limit */
    uint64_t lot[QDQ_AWQ_ROWS], limit;
    /* between exponents that are tried for `s`; 0: none are */
    double alpha_step;
    /* NULL: not scaled */
    float *s;
} qdq_awq_group;

typedef struct qdq_awq_state {
    const qdq_quantizing *q;
    qdq_arena scratch;
    QDQ_VEC(qdq_awq_group) groups;
    /* groups of one activation, one after the other: samples take turns; 0: 1 */
    size_t n_turns;
    /* name of an activation -> index of its first group */
    qdq_map by_value;
    qdq_error *err;
} qdq_awq_state;

/* --- awq_collect.c: statistics of the activations --------------------------------------------- */

qdq_status qdq_awq_collect(qdq_awq_state *a);

/* Rows of one sample. False: out of memory. */
bool qdq_awq_add_rows(qdq_awq_group *g, qdq_arena *arena, const float *x, size_t n_row);

/* --- awq_search.c: pure arithmetic ------------------------------------------------------------ */

/* Finds the scales of the group's channels; g->s stays NULL where none loses clearly less than 1.
 * False: out of memory. */
bool qdq_awq_search_scales(qdq_awq_group *g, qdq_arena *arena);

/* Finds the part of the range for each scale of the weight, beside g->s; letters as in plan.h. */
bool qdq_awq_search_clip(const qdq_awq_group *g, const qdq_weight_columns *w, char *letters);

/* Squared error of the products of all kept rows, with g->s = s (NULL: 1) and the whole range;
 * below 0: out of memory. */
double qdq_awq_error(const qdq_awq_group *g, const qdq_weight_columns *w, const float *s);

#endif /* QDQ_AWQ_STATE_H */
