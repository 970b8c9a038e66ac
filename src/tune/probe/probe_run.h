/* probe_run.h - what the files of a run share: the target that is measured, its sides as files, the outcomes. */
#ifndef QDQ_PROBE_RUN_H
#define QDQ_PROBE_RUN_H

#include <jansson.h>

#include "base/file.h"
#include "qdq/probe.h"
#include "target/target.h"
#include "tune/probe/probe_time.h"

typedef struct qdq_probe_run {
    qdq_arena arena;
    const qdq_target *t;
    qdq_probe_opts opts; /* with the defaults put in */
    json_t *root;        /* the description, as far as it is measured */
    qdq_tempdir *dir;
    qdq_engine *engine; /* calibrates */
    qdq_probe_timer timer;
    char processor[300];
    double started, until;
    size_t left; /* comparisons that may still be needed */
    unsigned n_files;
    qdq_probe_time control;
    QDQ_VEC(qdq_probe_outcome) outcomes;
} qdq_probe_run;

/* Files of both sides at one size; in the arena. *equal: they are the same model, and nothing can be measured. */
qdq_status qdq_probe_write_sides(qdq_probe_run *r, const qdq_probe *p, const qdq_probe_size *size,
                                 const char *path[2], bool *equal, qdq_error *err);

/* Measures one probe, at as many sizes as bisection needs, changes r->root, and adds an outcome. */
qdq_status qdq_probe_measure_one(qdq_probe_run *r, const qdq_probe *p, qdq_error *err);

/* One block. NULL: out of memory. */
qdq_probe_report *qdq_probe_pack_report(const qdq_probe_run *r);

#endif /* QDQ_PROBE_RUN_H */
