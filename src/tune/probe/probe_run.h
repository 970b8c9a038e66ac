/* probe_run.h - what the files of a run share: the target that is measured, its sides as files, the
 * outcomes. */
#ifndef QDQ_PROBE_RUN_H
#define QDQ_PROBE_RUN_H

#include <jansson.h>

#include "base/file.h"
#include "qdq/probe.h"
#include "target/target.h"
#include "tune/probe/probe_time.h"

typedef struct qdq_probe_at { /* a probe at one of its sizes */
    /* without, with; NULL: not written yet */
    const char *path[2];
    qdq_probe_samples samples;
    qdq_probe_time time;
} qdq_probe_at;

typedef struct qdq_probe_one {
    const qdq_probe *p;
    /* what it decides */
    const char *key;
    /* it is not measured: the reason; "": it is */
    const char *why;
    /* one for each size */
    qdq_probe_at *at;
    /* sizes that the rule pays for, from the smallest on */
    size_t n_paying;
    /* more builds may tell more */
    bool open;
} qdq_probe_one;

typedef struct qdq_probe_run {
    qdq_arena arena;
    const qdq_target *t;
    /* with the defaults put in */
    qdq_probe_opts opts;
    /* the description, as far as it is measured */
    json_t *root;
    qdq_tempdir *dir;
    /* calibrates */
    qdq_engine *engine;
    qdq_probe_timer timer;
    char processor[300];
    double started;
    unsigned n_files;
    qdq_probe_time aa_test;
    QDQ_VEC(qdq_probe_outcome) outcomes;
} qdq_probe_run;

/* Files of both sides at one size; in the arena. *equal: they are the same model, and nothing can
 * be measured. */
qdq_status qdq_probe_write_sides(qdq_probe_run *r, const qdq_probe *p, const qdq_probe_size *size,
                                 const char *path[2], bool *equal, qdq_error *err);

qdq_status qdq_probe_begin(qdq_probe_run *r, const qdq_probe *p, qdq_probe_one *out,
                           qdq_error *err);

/* Measures at as many sizes as bisection needs, each in `builds` builds, those of earlier looks
 * among them, or less where it is plain. */
qdq_status qdq_probe_look(qdq_probe_run *r, qdq_probe_one *o, unsigned builds, qdq_error *err);

/* Changes r->root by what was seen, and adds an outcome. */
qdq_status qdq_probe_conclude(qdq_probe_run *r, qdq_probe_one *o, qdq_error *err);

/* One block. NULL: out of memory. */
qdq_probe_report *qdq_probe_pack_report(const qdq_probe_run *r);

#endif /* QDQ_PROBE_RUN_H */
