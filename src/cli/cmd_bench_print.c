/* cmd_bench_print.c - what bench measured, as a table or as JSON. One engine is as it is; several
 * are a column, and a list. */
#include "cli/cmd_bench.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static void dims_json(qdq_json_out dims, const qdq_io *io)
{
    for (int i = 0; i < io->rank; i++)
        qdq_json_put_int(dims, NULL, io->dim[i] < 0 ? 1 : io->dim[i]);
}

/* An input that is open, and what it is run as: of a sequence, at the first step. */
typedef struct assumed {
    const char *model;
    qdq_io declared, run;
    bool changes;
} assumed;

static qdq_status assume(const bench *b, assumed *a, qdq_error *err)
{
    const qdq_named_array *in;
    size_t n;

    a->run = a->declared;
    a->changes = false;
    if (!cmd_bench_has_steps(b))
        return QDQ_OK;
    QDQ_TRY(cli_data_changes(b->data, a->declared.name, &a->changes, err));
    QDQ_TRY(qdq_data_get(b->data, 0, &in, &n, err));
    for (size_t i = 0; i < n; i++)
        for (int r = 0; r < a->run.rank && strcmp(in[i].name, a->run.name) == 0; r++)
            a->run.dim[r] = in[i].array.dim[r];
    return QDQ_OK;
}

/* Calls `fn` for each such input. */
static qdq_status list_assumed(const bench *b, void (*fn)(void *ctx, const assumed *a), void *ctx,
                               qdq_error *err)
{
    assumed a;

    for (size_t i = 0; i < b->n_models; i++)
        for (size_t k = 0; qdq_model_input(b->models[i], k, &a.declared); k++) {
            if (!cli_is_assumed(&a.declared, &b->shapes))
                continue;
            a.model = b->c->operand[i];
            QDQ_TRY(assume(b, &a, err));
            fn(ctx, &a);
        }
    return QDQ_OK;
}

static void assumed_json(void *ctx, const assumed *a)
{
    qdq_json_out entry = qdq_json_put_object(*(const qdq_json_out *)ctx, NULL);

    qdq_json_put_text(entry, "model", a->model);
    qdq_json_put_text(entry, "input", a->run.name);
    dims_json(qdq_json_put_list(entry, "shape"), &a->run);
}

/* In all steps. */
static double sequence_ms(const bench *b, const qdq_bench_model *t)
{
    return t->median_ms * (double)qdq_data_steps(b->data);
}

static void model_json(const bench *b, qdq_json_out model, const bench_entry *e, const char *path)
{
    const qdq_bench_model *t = &e->time;
    const bool good = e->failed == NULL;

    qdq_json_put_text(model, "model", path);
    qdq_json_put_short(model, "median_ms", good ? t->median_ms : (double)NAN);
    qdq_json_put_short(model, "p10_ms", good ? t->p10_ms : (double)NAN);
    qdq_json_put_short(model, "p90_ms", good ? t->p90_ms : (double)NAN);
    if (cmd_bench_has_steps(b))
        qdq_json_put_short(model, "sequence_ms", good ? sequence_ms(b, t) : (double)NAN);
    qdq_json_put_known(model, "runs", good, t->runs);
    qdq_json_put_text(model, "shapes", good ? e->open ? "open" : "fixed" : NULL);
    qdq_json_put_text(model, "unoptimized", e->unoptimized);
    qdq_json_put_text(model, "failed", e->failed);
}

static void ratio_json(qdq_json_out ratio, const bench_entry *e, const char *path)
{
    const qdq_bench_model *t = &e->time;
    const bool good = t->speedup > 0;

    qdq_json_put_text(ratio, "model", path);
    qdq_json_put_short(ratio, "speedup", good ? t->speedup : (double)NAN);
    qdq_json_put_short(ratio, "ci_low", good ? t->ci_low : (double)NAN);
    qdq_json_put_short(ratio, "ci_high", good ? t->ci_high : (double)NAN);
}

/* Of an unavailable engine: its name, and the reason. */
static void add_engine(const bench *b, const bench_engine *e, qdq_json_out to)
{
    if (e->engine != NULL) {
        const qdq_engine_info *info = qdq_engine_get_info(e->engine);
        qdq_json_put_text(to, "engine", info->name);
        qdq_json_put_text(to, "engine_version", info->version);
        qdq_json_put_text(to, "device", info->device);
    }
    qdq_json_put_text(to, "spec", e->spec);
    qdq_json_put_text(to, "failed", e->failed);
    qdq_json_put_int(to, "threads", b->threads);
    qdq_json_out models = qdq_json_put_list(to, "models");
    qdq_json_out ratios = qdq_json_put_list(to, "ratios");
    for (size_t i = 0; e->engine != NULL && i < b->n_models; i++) {
        model_json(b, qdq_json_put_object(models, NULL), &e->entry[i], b->c->operand[i]);
        ratio_json(qdq_json_put_object(ratios, NULL), &e->entry[i], b->c->operand[i]);
    }
}

static qdq_status print_json(const bench *b, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    if (b->n_engines == 1) {
        add_engine(b, &b->engines[0], root);
    } else {
        qdq_json_out list = qdq_json_put_list(root, "engines");
        for (size_t i = 0; i < b->n_engines; i++)
            add_engine(b, &b->engines[i], qdq_json_put_object(list, NULL));
    }
    if (cmd_bench_has_steps(b))
        qdq_json_put_size(root, "steps", qdq_data_steps(b->data));
    qdq_json_out run_as = qdq_json_put_list(root, "run_as");
    const qdq_status st = list_assumed(b, assumed_json, &run_as, err);
    if (st != QDQ_OK) {
        qdq_json_drop(&d);
        return st;
    }
    return cli_json_print(&d, err);
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_assumed(void *ctx, const assumed *a)
{
    const cli_shapes none = {NULL, 0, 0};
    char declared[200], run[200];

    (void)ctx;
    cli_shape_text(&a->declared, &none, false, declared, sizeof declared);
    cli_shape_text(&a->run, &none, true, run, sizeof run);
    printf("%s: input '%s' is %s, run as %s %s\n", a->model, a->declared.name, declared, run,
           cli_data_fixing(a->changes));
}

/* Of all that were measured; the lines on inputs say which one is open. */
static const char *shapes_of(const bench *b, const bench_engine *e)
{
    bool open = false, fixed = false;

    for (size_t i = 0; i < b->n_models; i++) {
        open = open || (e->entry[i].failed == NULL && e->entry[i].open);
        fixed = fixed || (e->entry[i].failed == NULL && !e->entry[i].open);
    }
    return open && fixed ? ", shapes open and fixed"
           : open        ? ", shapes open"
           : fixed       ? ", shapes fixed"
                         : "";
}

static void print_engines(const bench *b)
{
    for (size_t i = 0; i < b->n_engines; i++) {
        const bench_engine *e = &b->engines[i];
        if (e->engine == NULL) {
            printf("not measured: %s\n", e->failed);
            continue;
        }
        const qdq_engine_info *info = qdq_engine_get_info(e->engine);
        printf("engine %s %s on %s, %d thread%s%s\n", info->name, info->version, info->device,
               b->threads, cli_plural((size_t)b->threads), shapes_of(b, e));
    }
}

static void print_remarks(const bench *b)
{
    for (size_t i = 0; i < b->n_engines; i++)
        for (size_t k = 0; b->engines[i].engine != NULL && k < b->n_models; k++) {
            const bench_entry *e = &b->engines[i].entry[k];
            if (e->unoptimized != NULL)
                printf("%s: run without the engine's optimizations, since it fails with them: %s\n",
                       b->c->operand[k], e->unoptimized);
            if (e->failed != NULL)
                printf("not measured: %s\n", e->failed);
        }
}

static void add_row(const bench *b, const bench_engine *engine, size_t i, cli_table *t)
{
    const bench_entry *e = &engine->entry[i];
    const qdq_bench_model *m = &e->time;
    const bool steps = cmd_bench_has_steps(b);

    if (b->n_engines > 1)
        cli_cell(t, "%s", engine->spec);
    cli_cell(t, "%s", b->c->operand[i]);
    if (e->failed != NULL) {
        for (int k = 0; k < 5 + steps; k++)
            cli_cell(t, "-");
        cli_cell(t, "%s", "");
        return;
    }
    cli_cell(t, "%.4g", m->median_ms);
    cli_cell(t, "%.4g", m->p10_ms);
    cli_cell(t, "%.4g", m->p90_ms);
    if (steps)
        cli_cell(t, "%.4g", sequence_ms(b, m));
    cli_cell(t, "%u", m->runs);
    if (m->speedup > 0)
        cli_cell(t, "%.3f", m->speedup);
    else
        cli_cell(t, "%s", "-");
    if (i == 0 || m->speedup <= 0)
        cli_cell(t, "%s", "");
    else
        cli_cell(t, "%.3f to %.3f", m->ci_low, m->ci_high);
}

static void add_heads(const bench *b, cli_table *t)
{
    const bool steps = cmd_bench_has_steps(b);
    const char *const heads[] = {b->n_engines > 1 ? "engine" : NULL,
                                 "model",
                                 steps ? "step ms" : "median ms",
                                 "p10",
                                 "p90",
                                 steps ? "sequence ms" : NULL,
                                 "runs",
                                 "speed-up",
                                 "95 % interval"};

    for (size_t i = 0; i < QDQ_COUNT(heads); i++)
        if (heads[i] != NULL)
            cli_cell(t, "%s", heads[i]);
}

static qdq_status print_text(const bench *b, qdq_error *err)
{
    static const char *const columns[2][2] = {{"lrrrrrl", "lrrrrrrl"}, {"llrrrrrl", "llrrrrrrl"}};
    const bool steps = cmd_bench_has_steps(b);
    cli_table t = {.arena = &b->c->arena, .columns = columns[b->n_engines > 1][steps]};

    print_engines(b);
    if (steps)
        printf("a sequence of %zu step%s%s\n", qdq_data_steps(b->data),
               cli_plural(qdq_data_steps(b->data)), qdq_data_is_random(b->data) ? ", random" : "");
    QDQ_TRY(list_assumed(b, print_assumed, NULL, err));
    print_remarks(b);
    if (b->n_measured == 0)
        return QDQ_OK;
    add_heads(b, &t);
    for (size_t i = 0; i < b->n_engines; i++)
        for (size_t k = 0; b->engines[i].engine != NULL && k < b->n_models; k++)
            add_row(b, &b->engines[i], k, &t);
    return cli_table_print(&t, stdout, err);
}

qdq_status cmd_bench_print(const bench *b, qdq_error *err)
{
    return b->c->json ? print_json(b, err) : print_text(b, err);
}
