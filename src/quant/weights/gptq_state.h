/* gptq_state.h - what GPTQ knows while it runs; shared by the gptq*.c files only. */
#ifndef QDQ_GPTQ_STATE_H
#define QDQ_GPTQ_STATE_H

#include <math.h>

#include "base/vec.h"
#include "quant/weights/gptq.h"
#include "quant/weights/weight_columns.h"

/* Rows that the Hessian is made of, and rows that decide. */
enum { QDQ_GPTQ_FIT, QDQ_GPTQ_HELD, QDQ_GPTQ_PARTS };

/* An activation, and the weights that read it. */
typedef struct qdq_gptq_group {
    const qdq_value *x;
    QDQ_VEC(qdq_weight_columns) weights;
    /* channels; floats from one row of `h` to the next */
    size_t k, ld;
    /* X'X: of the first part in the upper triangle and on the diagonal, of the second part in the
     * lower triangle and in held_diagonal. NULL: the group is not in this pass */
    float *h, *held_diagonal;
    /* rows that are not in h yet, */
    float *panels[QDQ_GPTQ_PARTS];
    /* and their number */
    size_t filled[QDQ_GPTQ_PARTS];
    uint64_t rows[QDQ_GPTQ_PARTS];
    /* too large for any pass */
    bool is_left;
} qdq_gptq_group;

/* --- gptq_collect.c: X'X ---------------------------------------------------------------------- */

/* The bytes of a group in a pass; UINT64_MAX: more than there are. */
uint64_t qdq_gptq_group_bytes(size_t k);
/* False: out of memory. */
bool qdq_gptq_begin_group(qdq_gptq_group *g);
void qdq_gptq_end_group(qdq_gptq_group *g);

/* n rows of k numbers; those that are not finite count as 0. */
void qdq_gptq_add_rows(qdq_gptq_group *g, int part, const float *x, size_t n);
/* Before `h` is read. */
void qdq_gptq_flush(qdq_gptq_group *g);

/* --- gptq_factor.c ---------------------------------------------------------------------------- */

/* The Cholesky factor of the inverse Hessian. Channels are processed from the last position to the
 * first: row p of `v` left of its diagonal, and diagonal[p], are the row of the paper's upper
 * factor that belongs to channel[p], in the order of positions. */
typedef struct qdq_gptq_factor {
    size_t k, ld;
    float *v, *diagonal;
    size_t *channel;
    /* damping, as it is added to the diagonal of `h` */
    float added;
    /* right of its diagonal `v` has the lower triangle of the Hessian, rows and columns from the
     * last channel to the first (qdq_gptq_mirror) */
    bool is_mirrored;
} qdq_gptq_factor;

uint64_t qdq_gptq_factor_bytes(size_t k);
/* Channels that were always 0 get no updates and give none. *why: there is none; free it all the
 * same. False: out of memory. */
bool qdq_gptq_factorize(const qdq_gptq_group *g, const qdq_gptq_opts *opts, qdq_gptq_factor *out,
                        const char **why);
void qdq_gptq_factor_free(qdq_gptq_factor *f);

/* --- gptq_round.c ----------------------------------------------------------------------------- */

/* What becomes of a weight: in the order of the scale tensor and of the weight. */
typedef struct qdq_gptq_result {
    float *scales;
    int32_t *zeros;
    /* not packed */
    unsigned char *codes;
    /* squared errors of the held-out products: with these codes, and with the nearest ones */
    double error, nearest;
} qdq_gptq_result;

/* Less than a tenth of a dB is chance: other rows may lose more than before. */
#define QDQ_GPTQ_LEAST_GAIN_DB 0.1

/* How much less error `after` is than `before`; 0 where either says nothing. */
static inline double qdq_gptq_gain(double before, double after)
{
    return before > 0 && isfinite(before) && isfinite(after)
               ? 10 * log10(before / fmax(after, 1e-12 * before))
               : 0;
}

/* False: out of memory; free the result all the same, here and where rounding fails. */
bool qdq_gptq_result_new(const qdq_weight_columns *w, qdq_gptq_result *out);
void qdq_gptq_result_free(qdq_gptq_result *r);

/* `job` may cancel it. */
qdq_status qdq_gptq_round(const qdq_gptq_group *g, const qdq_gptq_factor *f,
                          const qdq_weight_columns *w, const qdq_job *job, qdq_gptq_result *out,
                          qdq_error *err);

/* --- gptq_refine.c ---------------------------------------------------------------------------- */

/* Before anything is refined: what the factor does not need of its memory holds what the group has
 * no more of, since its lower triangle is that of the held-out rows. */
void qdq_gptq_mirror(const qdq_gptq_group *g, qdq_gptq_factor *f);

/* Replaces what GPTQ made of a weight if the held-out rows gain by moving its values and scales. */
qdq_status qdq_gptq_refine(const qdq_gptq_group *g, const qdq_gptq_factor *f,
                           const qdq_weight_columns *w, const qdq_job *job, qdq_gptq_result *r,
                           qdq_error *err);

#endif /* QDQ_GPTQ_STATE_H */
