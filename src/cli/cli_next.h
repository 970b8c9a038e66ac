/* cli_next.h - the command to run next, as a line to copy. */
#ifndef QDQ_CLI_NEXT_H
#define QDQ_CLI_NEXT_H

#include "cli/cli.h"
#include "cli/cli_data.h"
#include "cli/cli_engine.h"
#include "cli/cli_model.h"
#include "qdq/quant.h"

typedef struct cli_next {
    /* models */
    const char *before, *after;
    /* NULL: not known */
    const qdq_target *target;
    /* what was given of these */
    const cli_data_args *pixels;
    const cli_engine_args *engine;
    const cli_state_args *state;
    const cli_shape_args *shape;
    /* of bench: open dimensions as in a sample, in one of these two ways; empty and NULL: 1 does */
    const cli_shape_args *sample;
    const char *data;
    /* of --threads; 0: all */
    int64_t threads;
} cli_next;

/* --per-tensor names the layer that costs accuracy. */
void cli_next_compare(const cli_next *next, const char *data, FILE *to);

/* On the engine that the target is for: the speed on another one says nothing of it. No line for a
 * target of no engine. */
void cli_next_bench(const cli_next *next, FILE *to);

#endif /* QDQ_CLI_NEXT_H */
