/* trt_profile.h - what `trtexec --exportProfile` writes: time per layer. Names in it are not
 * escaped. */
#ifndef QDQ_TRT_PROFILE_H
#define QDQ_TRT_PROFILE_H

#include "engine/trt/trt_layers.h"

typedef struct qdq_trt_row {
    /* as written */
    const char *name;
    /* NAN: not there, or no number */
    double time_ms, average_ms, median_ms, percentage;
} qdq_trt_row;

typedef struct qdq_trt_profile {
    /* passes; 0: it does not say */
    unsigned count;
    qdq_trt_row *at;
    size_t n;
    /* its "averages" are one shot each */
    bool single_pass;
} qdq_trt_profile;

/* QDQ_E_FORMAT: no profile, or one that is cut off. All in the arena. */
qdq_status qdq_trt_profile_parse(const char *text, size_t size, qdq_arena *arena,
                                 qdq_trt_profile *out, qdq_error *err);

/* Of a row: the median if there is one, else the average; 0 of a row that took no time. NAN:
 * neither. */
double qdq_trt_row_ms(const qdq_trt_row *r);

/* row[i]: the row of layer i, SIZE_MAX if it has none. By position where both lists are equal, else
 * by name, the k-th of equal names to the k-th. *positional says which. */
qdq_status qdq_trt_profile_join(const qdq_trt_profile *p, const qdq_trt_layers *l, size_t *row,
                                bool *positional, qdq_error *err);

#endif /* QDQ_TRT_PROFILE_H */
