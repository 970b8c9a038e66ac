/* cmd_bench.c - latency of models side by side. The library interleaves the rounds and makes the intervals. */
#include <string.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_model.h"

#define MAX_MODELS 64

struct bench_args {
    cli_common common;
    cli_engine_args engine;
    cli_shape_args shape;
    int64_t threads, rounds, warmup, seed;
};

static const cli_opt options[] = {
    {.letter = 't',
     .name = "threads",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(bench_args, threads),
     .what = "N",
     .help = "threads of the engine; 0: all processors",
     .init = "1",
     .min = 0,
     .max = 1024},
    {.name = "rounds",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(bench_args, rounds),
     .what = "N",
     .help = "interleaved rounds; default: what 2 s allow, 20 to 1000",
     .min = 1,
     .max = 1000000},
    {.name = "warmup",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(bench_args, warmup),
     .what = "N",
     .help = "runs of each model that are not counted",
     .init = "3",
     .min = 1,
     .max = 1000000},
    {.name = "seed",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(bench_args, seed),
     .what = "N",
     .help = "of the random input: floats normal(0,1), integers 0 or 1",
     .init = "0",
     .min = 0,
     .max = INT64_MAX},
    CLI_END,
};

static const cli_group groups[] = {
    {"bench", options, 0},
    {"shapes", cli_shape_opts, CLI_AT(bench_args, shape)},
    {"engine", cli_engine_opts, CLI_AT(bench_args, engine)},
    {"", cli_trtexec_opts, CLI_AT(bench_args, engine)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

typedef struct bench {
    cli *c;
    const struct bench_args *a;
    size_t n;
    int threads;
    qdq_model *models[MAX_MODELS];
    qdq_session *sessions[MAX_MODELS];
    const char *unoptimized[MAX_MODELS]; /* why the engine's optimizations are off; NULL: they are not */
    qdq_bench_model times[MAX_MODELS];
    qdq_engine *engine;
} bench;

/* --- result --------------------------------------------------------------------------------------------------- */

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

    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; qdq_model_input(b->models[i], k, &io); k++) {
            if (!cli_is_assumed(&io, &b->a->shape.shapes))
                continue;
            json_t *entry = json_object();
            cli_json_set(j, entry, "model", cli_json_text(b->c->operand[i]));
            cli_json_set(j, entry, "input", cli_json_text(io.name));
            cli_json_set(j, entry, "shape", dims_json(j, &io));
            cli_json_add(j, list, entry);
        }
    return list;
}

static qdq_status print_json(const bench *b, qdq_error *err)
{
    const qdq_engine_info *info = qdq_engine_get_info(b->engine);
    cli_json j = {false};
    json_t *root = json_object();
    json_t *models = json_array();
    json_t *ratios = json_array();

    for (size_t i = 0; i < b->n; i++) {
        const qdq_bench_model *t = &b->times[i];
        json_t *model = json_object();
        json_t *ratio = json_object();
        cli_json_set(&j, model, "model", cli_json_text(b->c->operand[i]));
        cli_json_set(&j, model, "median_ms", cli_json_real(t->median_ms));
        cli_json_set(&j, model, "p10_ms", cli_json_real(t->p10_ms));
        cli_json_set(&j, model, "p90_ms", cli_json_real(t->p90_ms));
        cli_json_set(&j, model, "runs", json_integer(t->runs));
        cli_json_set(&j, model, "unoptimized",
                     b->unoptimized[i] != NULL ? cli_json_text(b->unoptimized[i]) : json_null());
        cli_json_add(&j, models, model);
        cli_json_set(&j, ratio, "model", cli_json_text(b->c->operand[i]));
        cli_json_set(&j, ratio, "speedup", cli_json_real(t->speedup));
        cli_json_set(&j, ratio, "ci_low", cli_json_real(t->ci_low));
        cli_json_set(&j, ratio, "ci_high", cli_json_real(t->ci_high));
        cli_json_add(&j, ratios, ratio);
    }
    cli_json_set(&j, root, "engine", cli_json_text(info->name));
    cli_json_set(&j, root, "engine_version", cli_json_text(info->version));
    cli_json_set(&j, root, "device", cli_json_text(info->device));
    cli_json_set(&j, root, "threads", json_integer(b->threads));
    cli_json_set(&j, root, "models", models);
    cli_json_set(&j, root, "ratios", ratios);
    cli_json_set(&j, root, "run_as", assumed_json(b, &j));
    return cli_json_print(&j, root, err);
}

static void print_assumed(const bench *b)
{
    const cli_shapes *shapes = &b->a->shape.shapes;
    qdq_io io;

    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; qdq_model_input(b->models[i], k, &io); k++) {
            const cli_shapes none = {NULL, 0, 0};
            char declared[200], run[200];
            if (!cli_is_assumed(&io, shapes))
                continue;
            cli_shape_text(&io, &none, false, declared, sizeof declared);
            cli_shape_text(&io, &none, true, run, sizeof run);
            printf("%s: input '%s' is %s, run as %s (--shape fixes it)\n", b->c->operand[i], io.name,
                   declared, run);
        }
}

static void print_unoptimized(const bench *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->unoptimized[i] != NULL)
            printf("%s: run without the engine's optimizations, since it fails with them: %s\n",
                   b->c->operand[i], b->unoptimized[i]);
}

static qdq_status print_text(const bench *b, qdq_error *err)
{
    const qdq_engine_info *info = qdq_engine_get_info(b->engine);
    cli_table t = {.arena = &b->c->arena, .columns = "lrrrrrl"};
    static const char *const heads[] = {"model", "median ms", "p10",          "p90",
                                        "runs",  "speed-up",  "95 % interval"};

    printf("engine %s %s on %s, %d thread%s\n", info->name, info->version, info->device, b->threads,
           cli_plural((size_t)b->threads));
    print_assumed(b);
    print_unoptimized(b);
    for (size_t i = 0; i < QDQ_COUNT(heads); i++)
        cli_cell(&t, "%s", heads[i]);
    for (size_t i = 0; i < b->n; i++) {
        const qdq_bench_model *m = &b->times[i];
        cli_cell(&t, "%s", b->c->operand[i]);
        cli_cell(&t, "%.4g", m->median_ms);
        cli_cell(&t, "%.4g", m->p10_ms);
        cli_cell(&t, "%.4g", m->p90_ms);
        cli_cell(&t, "%u", m->runs);
        cli_cell(&t, "%.3f", m->speedup);
        if (i == 0)
            cli_cell(&t, "%s", "");
        else
            cli_cell(&t, "%.3f to %.3f", m->ci_low, m->ci_high);
    }
    return cli_table_print(&t, stdout, err);
}

/* --- measuring ------------------------------------------------------------------------------------------------ */

static qdq_status ignore(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    (void)ctx, (void)name, (void)a, (void)err;
    return QDQ_OK;
}

/* Some models load, and fail when they run. */
static qdq_status run_once(const bench *b, qdq_session *s, qdq_error *err)
{
    qdq_named_array *in = NULL;
    size_t n = 0;

    if (!(qdq_engine_get_info(b->engine)->capabilities & QDQ_CAN_RUN))
        return QDQ_OK;
    qdq_status st = qdq_random_inputs(s, (uint64_t)b->a->seed, &in, &n, err);
    if (st == QDQ_OK)
        st = qdq_session_run(s, in, n, ignore, NULL, err);
    qdq_free(in);
    return st;
}

static qdq_status try_session(bench *b, size_t i, const qdq_session_opts *opts, qdq_error *err)
{
    qdq_status st = qdq_session_open(b->engine, b->models[i], opts, &b->sessions[i], err);

    if (st == QDQ_OK)
        st = run_once(b, b->sessions[i], err);
    if (st != QDQ_OK) {
        qdq_session_close(b->sessions[i]);
        b->sessions[i] = NULL;
    }
    return st;
}

static qdq_status open_session(bench *b, size_t i, qdq_error *err)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    cli_shapes mine;

    QDQ_TRY(qdq_job_poll(&b->c->job, err));
    QDQ_TRY(cli_shapes_pick(b->c, &b->a->shape.shapes, b->models[i], &mine, err));
    opts.threads = b->threads;
    opts.shapes = mine.at;
    opts.n_shapes = mine.n;
    qdq_status st = try_session(b, i, &opts, err);
    opts.level = QDQ_LEVEL_NONE;
    if (st == QDQ_E_ENGINE && try_session(b, i, &opts, NULL) == QDQ_OK) {
        b->unoptimized[i] = qdq_arena_strdup(&b->c->arena, err->text);
        return b->unoptimized[i] != NULL ? QDQ_OK : qdq_nomem(err);
    }
    return cli_at_file(b->c->operand[i], st, err);
}

static qdq_status measure(bench *b, qdq_error *err)
{
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;

    for (size_t i = 0; i < b->n; i++)
        QDQ_TRY(cli_model_load(b->c, b->c->operand[i], &b->models[i], err));
    QDQ_TRY(cli_shapes_check(&b->a->shape.shapes, b->models, b->n, err));
    QDQ_TRY(cli_engine_open(b->c, &b->a->engine, &b->engine, err));
    for (size_t i = 0; i < b->n; i++)
        QDQ_TRY(open_session(b, i, err));
    opts.rounds = (unsigned)b->a->rounds;
    opts.warmup = (unsigned)b->a->warmup;
    opts.seed = (uint64_t)b->a->seed;
    opts.job = &b->c->job;
    QDQ_TRY(cli_at_file(b->a->engine.engine, qdq_bench(b->sessions, b->n, &opts, b->times, err), err));
    cli_ui_clear(&b->c->ui);
    return b->c->json ? print_json(b, err) : print_text(b, err);
}

static qdq_status run(cli *c, const void *args, qdq_error *err)
{
    bench *b = qdq_arena_alloc(&c->arena, sizeof *b);

    if (b == NULL)
        return qdq_nomem(err);
    b->c = c;
    b->a = args;
    b->n = c->n_operands;
    b->threads = cli_threads(b->a->threads);
    qdq_status st = measure(b, err);
    for (size_t i = 0; i < b->n; i++)
        qdq_session_close(b->sessions[i]);
    qdq_engine_close(b->engine);
    for (size_t i = 0; i < b->n; i++)
        qdq_model_free(b->models[i]);
    return st;
}

const cli_command cmd_bench = {
    .name = "bench",
    .synopsis = "MODEL [MODEL...] [options]",
    .operands = "1 to 64 MODELs",
    .min_operands = 1,
    .max_operands = MAX_MODELS,
    .summary = "measure the latency of models side by side",
    .about =
        "Measures models in interleaved rounds, so that drift of the machine hits all alike. The speed-up\n"
        "of a model is the time of the first divided by its own: the median of paired rounds, with a\n"
        "95 % interval. Input is random. Dimensions that neither the model nor --shape fixes count as 1,\n"
        "and the output says so. A model that the engine runs without its optimizations alone is measured\n"
        "like that, and the output says why.",
    .json = "{ \"engine\", \"engine_version\", \"device\", \"threads\",\n"
            "  \"models\": [{\"model\", \"median_ms\", \"p10_ms\", \"p90_ms\", \"runs\", \"unoptimized\"}],\n"
            "  \"ratios\": [{\"model\", \"speedup\", \"ci_low\", \"ci_high\"}],\n"
            "  \"run_as\": [{\"model\", \"input\", \"shape\"}] }\n"
            "unoptimized: why the engine's optimizations are off for this model; null: they are on.",
    .example = "qdq bench model.onnx model.qdq.onnx --threads 1",
    .groups = groups,
    .args_size = sizeof(struct bench_args),
    .run = run,
};
