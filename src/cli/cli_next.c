/* cli_next.c - the command to run next. */
#include "cli/cli_next.h"

#include <inttypes.h>
#include <string.h>

static const char bench_engine[] = "ort"; /* the default of bench */

void cli_next_compare(const cli_next *next, const char *data, FILE *to)
{
    fprintf(to, "next: qdq compare %s %s --data %s --per-tensor\n", next->before, next->after,
            data);
}

/* "sim:costs.json" is an engine sim. */
static bool is_named(const char *spec, const char *engine)
{
    const size_t n = strcspn(spec, ":");

    return n == strlen(engine) && strncmp(spec, engine, n) == 0;
}

void cli_next_bench(const cli_next *next, FILE *to)
{
    const char *own = next->target != NULL ? qdq_target_engine(next->target) : bench_engine,
               *spec = next->engine != NULL && is_named(next->engine, own) ? next->engine : own;

    if (own[0] == '\0')
        return;
    fprintf(to, "next: qdq bench %s %s", next->before, next->after);
    if (strcmp(spec, bench_engine) != 0)
        fprintf(to, " --engine %s", spec);
    if (next->threads != 1) /* as the speed above was measured */
        fprintf(to, " --threads %" PRId64, next->threads);
    fputc('\n', to);
}
