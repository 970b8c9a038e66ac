/* cmd_bench.h - what bench measured: models on engines, and what became of each. */
#ifndef QDQ_CMD_BENCH_H
#define QDQ_CMD_BENCH_H

#include "cli/cli.h"
#include "cli/cli_data.h"
#include "cli/cli_engine.h"
#include "cli/cli_model.h"
#include "cli/cli_range.h"
#include "qdq/sequence.h"

#define BENCH_MAX_MODELS  64
#define BENCH_MAX_ENGINES 16

struct bench_args {
    cli_common common;
    cli_engine_args engine;
    cli_shape_args shape;
    cli_range_args range;
    cli_state_args state;
#include "cli/cli_members.def"
#include "cli/cmd_bench.def"
};

/* A model on an engine. */
typedef struct bench_entry {
    /* while its engine is at work */
    qdq_session *session;
    /* why it was not measured; NULL: it was */
    const char *failed;
    /* why the engine's optimizations are off; NULL: they are not */
    const char *unoptimized;
    /* an input has a dim that neither the model nor --shape fixes */
    bool open;
    /* speedup, ci_low and ci_high are 0 where the first model was not measured */
    qdq_bench_model time;
} bench_entry;

typedef struct bench_engine {
    const char *spec;
    /* NULL: it is unavailable */
    qdq_engine *engine;
    /* why */
    const char *failed;
    /* that are fixed in the models that it gets */
    cli_shapes shapes;
    /* it rejects the shapes of --data as fixed ones: they are those of the input alone */
    bool left_open;
    /* one for each model */
    bench_entry *entry;
} bench_engine;

typedef struct bench {
    cli *c;
    const struct bench_args *a;
    cli_range range;
    /* of --data, with --state also random; or NULL */
    qdq_data *data;
    /* of --shape and --data */
    cli_shapes requested;
    /* that are timed */
    cli_shapes shapes;
    int threads;
    qdq_model **models;
    size_t n_models;
    bench_engine *engines;
    size_t n_engines;
    size_t n_measured, n_failed;
    /* why something was not measured; OK: everything was */
    qdq_error first;
} bench;

/* Is a sequence timed? */
static inline bool cmd_bench_has_steps(const bench *b)
{
    return b->a->state.states.n > 0;
}

/* The table, or JSON where that is asked for. */
qdq_status cmd_bench_print(const bench *b, qdq_error *err);

#endif /* QDQ_CMD_BENCH_H */
