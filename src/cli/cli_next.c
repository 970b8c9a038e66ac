/* cli_next.c - the command to run next. */
#include "cli/cli_next.h"

#include <inttypes.h>
#include <string.h>

static const char bench_engine[] = "ort"; /* the default of bench */

/* --- words of a shell ------------------------------------------------------------------------- */

static void put_word(const char *text, FILE *to)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./:=,@%";

    if (text[0] != '\0' && strspn(text, plain) == strlen(text)) {
        fputs(text, to);
        return;
    }
    fputc('\'', to);
    for (; *text != '\0'; text++)
        fputs(*text == '\'' ? "'\\''" : (const char[]){*text, '\0'}, to);
    fputc('\'', to);
}

static void put_option(const cli_opt *o, const char *value, FILE *to)
{
    fprintf(to, " %s ", o->spelling);
    put_word(value, to);
}

static void put_shapes(const cli_opt *o, const cli_shapes *shapes, FILE *to)
{
    for (size_t i = 0; i < shapes->n; i++) {
        const qdq_input_shape *s = &shapes->at[i];

        fprintf(to, " %s ", o->spelling);
        put_word(s->name, to);
        for (int k = 0; k < s->rank; k++)
            fprintf(to, "%c%" PRId64, k == 0 ? '=' : 'x', s->dim[k]);
    }
}

static void put_names(const cli_opt *o, const cli_names *names, FILE *to)
{
    for (size_t i = 0; i < names->n; i++)
        put_option(o, names->at[i], to);
}

static void put_reals(const cli_opt *o, const cli_reals *r, FILE *to)
{
    if (r->n > 0)
        fprintf(to, " %s ", o->spelling);
    for (int i = 0; i < r->n; i++)
        fprintf(to, i == 0 ? "%.9g" : ",%.9g", r->at[i]);
}

static void put_extent(const cli_opt *o, const cli_extent *e, FILE *to)
{
    if (e->height != 0)
        fprintf(to, " %s %dx%d", o->spelling, e->height, e->width);
}

/* What is given of these options, of the kinds that say what a model runs on. */
static void put_given(const cli_opt *opts, const void *args, FILE *to)
{
    for (const cli_opt *o = opts; o->name != NULL; o++) {
        const void *at = (const char *)args + o->offset;

        if (o->kind == CLI_LIST || o->kind == CLI_NAMES)
            put_names(o, at, to);
        else if (o->kind == CLI_SHAPES)
            put_shapes(o, at, to);
        else if (o->kind == CLI_REALS)
            put_reals(o, at, to);
        else if (o->kind == CLI_EXTENT)
            put_extent(o, at, to);
        else if (o->kind == CLI_CHOICE && *(const int *)at != 0)
            put_option(o, o->choices[*(const int *)at], to);
        else if (o->kind == CLI_WHOLE && *(const int64_t *)at != 0)
            fprintf(to, " %s %" PRId64, o->spelling, *(const int64_t *)at);
        else if (o->kind == CLI_TIME && *(const double *)at != 0)
            fprintf(to, " %s %.9g", o->spelling, *(const double *)at);
        else if ((o->kind == CLI_TEXT || o->kind == CLI_FILE || o->kind == CLI_WORDS) &&
                 *(const char *const *)at != NULL)
            put_option(o, *(const char *const *)at, to);
    }
}

static void put_models(const cli_next *next, const char *command, FILE *to)
{
    fprintf(to, "next: qdq %s ", command);
    put_word(next->before, to);
    fputc(' ', to);
    put_word(next->after, to);
}

static void put_data(const char *data, FILE *to)
{
    fputs(" --data ", to);
    put_word(data, to);
}

/* --- commands --------------------------------------------------------------------------------- */

void cli_next_compare(const cli_next *next, const char *data, FILE *to)
{
    put_models(next, "compare", to);
    put_data(data, to);
    put_given(cli_data_opts, next->pixels, to);
    put_given(cli_state_opts, next->state, to);
    put_given(cli_shape_opts, next->shape, to);
    fputs(" --per-tensor\n", to);
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
               *given = next->engine->engine;
    const bool is_own = given != NULL && is_named(given, own);
    const char *spec = is_own ? given : own;

    if (own[0] == '\0')
        return;
    put_models(next, "bench", to);
    if (strcmp(spec, bench_engine) != 0) {
        fputs(" --engine ", to);
        put_word(spec, to);
    }
    if (is_own) {
        put_given(cli_engine_opts + 1, next->engine, to); /* --engine is its first */
        put_given(cli_trtexec_opts, next->engine, to);
    }
    if (next->data != NULL)
        put_data(next->data, to);
    put_given(cli_state_opts, next->state, to);
    put_given(cli_shape_opts, next->shape, to);
    put_given(cli_shape_opts, next->sample, to);
    if (next->threads != 1) /* as the speed above was measured */
        fprintf(to, " --threads %" PRId64, next->threads);
    fputc('\n', to);
}
