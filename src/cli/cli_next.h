/* cli_next.h - the command to run next, as a line to copy. */
#ifndef QDQ_CLI_NEXT_H
#define QDQ_CLI_NEXT_H

#include "cli/cli.h"
#include "qdq/quant.h"

typedef struct cli_next {
    const char *before, *after; /* models */
    const qdq_target *target;   /* NULL: not known */
    const char *engine;         /* of --engine; NULL: ort */
    int64_t threads;            /* of --threads; 0: all */
} cli_next;

/* --per-tensor names the layer that costs accuracy. */
void cli_next_compare(const cli_next *next, const char *data, FILE *to);

/* On the engine that the target is for: the speed on another one says nothing of it. No line for a
 * target of no engine. */
void cli_next_bench(const cli_next *next, FILE *to);

#endif /* QDQ_CLI_NEXT_H */
