/* bench_unit.h - what a round of qdq_bench() times in place of one run of a session. */
#ifndef QDQ_BENCH_UNIT_H
#define QDQ_BENCH_UNIT_H

#include "qdq/engine.h"

/* A unit of `runs` runs; `time` takes one of model i, in ns. */
typedef struct qdq_bench_unit {
    void *ctx;
    qdq_status (*time)(void *ctx, size_t i, uint64_t *ns, qdq_error *err);
    unsigned runs;
} qdq_bench_unit;

/* As qdq_bench() of n models. Times in `out` are of a run; opts->warmup counts units, 0: 1. */
qdq_status qdq_bench_units(const qdq_bench_unit *unit, size_t n, const qdq_bench_opts *opts,
                           qdq_bench_model *out, qdq_error *err);

#endif /* QDQ_BENCH_UNIT_H */
