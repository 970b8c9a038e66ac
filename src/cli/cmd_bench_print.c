/* cmd_bench_print.c - what bench measured, as a table or as JSON. One engine is as it is; several
 * are a column, and a list. */
#include "cli/cmd_bench.h"

#include "base/fail.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *dims_json(cli_json *j, const qdq_io *io)
{
    json_t *dims = json_array();

    for (int i = 0; i < io->rank; i++)
        cli_json_add(j, dims, json_integer(io->dim[i] < 0 ? 1 : io->dim[i]));
    return dims;
}

static json_t *assumed_json(const bench *b, cli_json *j)
{
    json_t *list = json_array();
    qdq_io io;

    for (size_t i = 0; i < b->n_models; i++)
        for (size_t k = 0; qdq_model_input(b->models[i], k, &io); k++) {
            if (!cli_is_assumed(&io, &b->shapes))
                continue;
            json_t *entry = json_object();
            cli_json_set(j, entry, "model", cli_json_text(b->c->operand[i]));
            cli_json_set(j, entry, "input", cli_json_text(io.name));
            cli_json_set(j, entry, "shape", dims_json(j, &io));
            cli_json_add(j, list, entry);
        }
    return list;
}

static json_t *text_or_null(const char *text)
{
    return text != NULL ? cli_json_text(text) : json_null();
}

static json_t *model_json(const bench_entry *e, const char *path, cli_json *j)
{
    const qdq_bench_model *t = &e->time;
    json_t *model = json_object();
    const bool good = e->failed == NULL;

    cli_json_set(j, model, "model", cli_json_text(path));
    cli_json_set(j, model, "median_ms", good ? cli_json_real(t->median_ms) : json_null());
    cli_json_set(j, model, "p10_ms", good ? cli_json_real(t->p10_ms) : json_null());
    cli_json_set(j, model, "p90_ms", good ? cli_json_real(t->p90_ms) : json_null());
    cli_json_set(j, model, "runs", good ? json_integer(t->runs) : json_null());
    cli_json_set(j, model, "shapes", good ? json_string(e->open ? "open" : "fixed") : json_null());
    cli_json_set(j, model, "unoptimized", text_or_null(e->unoptimized));
    cli_json_set(j, model, "failed", text_or_null(e->failed));
    return model;
}

static json_t *ratio_json(const bench_entry *e, const char *path, cli_json *j)
{
    const qdq_bench_model *t = &e->time;
    json_t *ratio = json_object();
    const bool good = t->speedup > 0;

    cli_json_set(j, ratio, "model", cli_json_text(path));
    cli_json_set(j, ratio, "speedup", good ? cli_json_real(t->speedup) : json_null());
    cli_json_set(j, ratio, "ci_low", good ? cli_json_real(t->ci_low) : json_null());
    cli_json_set(j, ratio, "ci_high", good ? cli_json_real(t->ci_high) : json_null());
    return ratio;
}

/* Of one that is not to be had there is what was asked for, and why not. */
static void add_engine(const bench *b, const bench_engine *e, json_t *to, cli_json *j)
{
    json_t *models = json_array(), *ratios = json_array();

    if (e->engine != NULL) {
        const qdq_engine_info *info = qdq_engine_get_info(e->engine);
        cli_json_set(j, to, "engine", cli_json_text(info->name));
        cli_json_set(j, to, "engine_version", cli_json_text(info->version));
        cli_json_set(j, to, "device", cli_json_text(info->device));
    }
    cli_json_set(j, to, "spec", cli_json_text(e->spec));
    cli_json_set(j, to, "failed", text_or_null(e->failed));
    cli_json_set(j, to, "threads", json_integer(b->threads));
    for (size_t i = 0; e->engine != NULL && i < b->n_models; i++) {
        cli_json_add(j, models, model_json(&e->entry[i], b->c->operand[i], j));
        cli_json_add(j, ratios, ratio_json(&e->entry[i], b->c->operand[i], j));
    }
    cli_json_set(j, to, "models", models);
    cli_json_set(j, to, "ratios", ratios);
}

static qdq_status print_json(const bench *b, qdq_error *err)
{
    cli_json j = {false};
    json_t *root = json_object(), *list = NULL;

    if (b->n_engines == 1) {
        add_engine(b, &b->engines[0], root, &j);
    } else {
        list = json_array();
        for (size_t i = 0; i < b->n_engines; i++) {
            json_t *one = json_object();
            add_engine(b, &b->engines[i], one, &j);
            cli_json_add(&j, list, one);
        }
        cli_json_set(&j, root, "engines", list);
    }
    cli_json_set(&j, root, "run_as", assumed_json(b, &j));
    return cli_json_print(&j, root, err);
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_assumed(const bench *b)
{
    const cli_shapes *shapes = &b->shapes;
    qdq_io io;

    for (size_t i = 0; i < b->n_models; i++)
        for (size_t k = 0; qdq_model_input(b->models[i], k, &io); k++) {
            const cli_shapes none = {NULL, 0, 0};
            char declared[200], run[200];
            if (!cli_is_assumed(&io, shapes))
                continue;
            cli_shape_text(&io, &none, false, declared, sizeof declared);
            cli_shape_text(&io, &none, true, run, sizeof run);
            printf("%s: input '%s' is %s, run as %s (--shape fixes it)\n", b->c->operand[i],
                   io.name, declared, run);
        }
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

    if (b->n_engines > 1)
        cli_cell(t, "%s", engine->spec);
    cli_cell(t, "%s", b->c->operand[i]);
    if (e->failed != NULL) {
        for (int k = 0; k < 6; k++)
            cli_cell(t, "%s", k < 5 ? "-" : "");
        return;
    }
    cli_cell(t, "%.4g", m->median_ms);
    cli_cell(t, "%.4g", m->p10_ms);
    cli_cell(t, "%.4g", m->p90_ms);
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

static qdq_status print_text(const bench *b, qdq_error *err)
{
    const bool several = b->n_engines > 1;
    cli_table t = {.arena = &b->c->arena, .columns = several ? "llrrrrrl" : "lrrrrrl"};
    static const char *const heads[] = {"engine", "model", "median ms", "p10",
                                        "p90",    "runs",  "speed-up",  "95 % interval"};

    print_engines(b);
    print_assumed(b);
    print_remarks(b);
    if (b->n_measured == 0)
        return QDQ_OK;
    for (size_t i = several ? 0 : 1; i < QDQ_COUNT(heads); i++)
        cli_cell(&t, "%s", heads[i]);
    for (size_t i = 0; i < b->n_engines; i++)
        for (size_t k = 0; b->engines[i].engine != NULL && k < b->n_models; k++)
            add_row(b, &b->engines[i], k, &t);
    return cli_table_print(&t, stdout, err);
}

qdq_status cmd_bench_print(const bench *b, qdq_error *err)
{
    return b->c->json ? print_json(b, err) : print_text(b, err);
}
