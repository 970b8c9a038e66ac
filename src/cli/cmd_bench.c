/* cmd_bench.c - latency of models side by side, on one engine after the other. The library
 * interleaves the rounds and makes the intervals. What an engine refuses does not keep the rest
 * from being measured. */
#include "cli/cmd_bench.h"

#include <string.h>

#include "base/fail.h"
#include "cli/cli_host.h"

#define ARGS bench_args
#include "cli/cli_tables.def"
#include "cli/cmd_bench.def"

static const cli_group groups[] = {
    {"bench", options, 0},
    {"shapes", cli_shape_opts, CLI_AT(bench_args, shape)},
    {"", cli_range_opts, CLI_AT(bench_args, range)},
    {"sequences", cli_state_opts, CLI_AT(bench_args, state)},
    {"engine", engine_opts, 0},
    {"", cli_engine_opts + 1, CLI_AT(bench_args, engine)}, /* without --engine: here it is a list */
    {"", cli_trtexec_opts, CLI_AT(bench_args, engine)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

/* --- sessions --------------------------------------------------------------------------------- */

static qdq_status ignore(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    (void)ctx, (void)name, (void)a, (void)err;
    return QDQ_OK;
}

/* Of an engine that crashed, the message has the name. */
static qdq_status at_engine(const bench_engine *e, qdq_status st, qdq_error *err)
{
    return st == QDQ_OK || st == QDQ_E_INTERRUPTED ||
                   (err != NULL && strncmp(err->text, "engine '", 8) == 0)
               ? st
               : qdq_within(err, st, "engine '%s'", qdq_engine_get_info(e->engine)->name);
}

/* Some models load, and fail when they run. Those with states get no random ones: timing shows it.
 */
static qdq_status run_once(const bench *b, const bench_engine *e, qdq_session *s, qdq_error *err)
{
    qdq_named_array *random = NULL;
    const qdq_named_array *in = NULL;
    size_t n = 0;

    if (cmd_bench_has_steps(b) || !(qdq_engine_get_info(e->engine)->capabilities & QDQ_CAN_RUN))
        return QDQ_OK;
    qdq_status st = e->left_open ? qdq_data_get(b->data, 0, &in, &n, err)
                                 : qdq_random_inputs(s, (uint64_t)b->a->seed, &random, &n, err);
    if (st == QDQ_OK)
        st = qdq_session_run(s, random != NULL ? random : in, n, ignore, NULL, err);
    qdq_free(random);
    return at_engine(e, st, err);
}

static qdq_status try_session(const bench *b, const bench_engine *e, size_t i,
                              const qdq_session_opts *opts, qdq_error *err)
{
    qdq_session **s = &e->entry[i].session;
    qdq_status st = qdq_session_open(e->engine, b->models[i], opts, s, err);
    qdq_io io;

    e->entry[i].open = false;
    for (size_t k = 0; st == QDQ_OK && qdq_session_input(*s, k, &io); k++)
        e->entry[i].open = e->entry[i].open || qdq_io_is_open(&io);
    if (st == QDQ_OK)
        st = run_once(b, e, *s, err);
    return QDQ_HAND_OVER(*s, st, s, qdq_session_close);
}

static qdq_status open_session(const bench *b, const bench_engine *e, size_t i, qdq_error *err)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    cli_shapes mine;

    e->entry[i].unoptimized = NULL;
    QDQ_TRY(qdq_job_poll(&b->c->job, err));
    QDQ_TRY(cli_shapes_pick(b->c, &e->shapes, b->models[i], &mine, err));
    opts.threads = b->threads;
    opts.shapes = mine.at;
    opts.n_shapes = mine.n;
    const unsigned crashes = qdq_engine_crashes(e->engine);
    qdq_status st = try_session(b, e, i, &opts, err);
    opts.level = QDQ_LEVEL_NONE;
    if (st == QDQ_E_ENGINE && crashes == qdq_engine_crashes(e->engine) &&
        try_session(b, e, i, &opts, NULL) == QDQ_OK) {
        e->entry[i].unoptimized = qdq_arena_strdup(&b->c->arena, err->text);
        return e->entry[i].unoptimized != NULL ? QDQ_OK : qdq_nomem(err);
    }
    return cli_at_file(b->c->operand[i], st, err);
}

/* --- what is refused -------------------------------------------------------------------------- */

/* What is wrong with an engine or a model on it; all else (an error on the command line, Ctrl-C,
 * no memory) ends the command. */
static bool is_refusal(qdq_status st)
{
    return st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED || st == QDQ_E_IO || st == QDQ_E_FORMAT;
}

/* Remembers a refusal in *failed; the first one is the command's result once all others are
 * measured. */
static qdq_status note(bench *b, qdq_status st, const char **failed, qdq_error *err)
{
    if (st == QDQ_OK || !is_refusal(st))
        return st;
    *failed = qdq_arena_strdup(&b->c->arena, err->text);
    if (*failed == NULL)
        return qdq_nomem(err);
    if (b->n_failed++ == 0)
        b->first = *err;
    return QDQ_OK;
}

/* --- measuring -------------------------------------------------------------------------------- */

/* n of the models, by their numbers. */
static qdq_status time_some(const bench *b, const bench_engine *e, const size_t *models, size_t n,
                            unsigned rounds, qdq_bench_model *out, qdq_error *err)
{
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_sequence_model sequences[BENCH_MAX_MODELS];
    qdq_session *sessions[BENCH_MAX_MODELS];

    for (size_t k = 0; k < n; k++) {
        sessions[k] = e->entry[models[k]].session;
        sequences[k] = (qdq_sequence_model){sessions[k], b->models[models[k]], b->models[0]};
    }
    opts.rounds = rounds;
    opts.warmup = (unsigned)b->a->warmup;
    opts.seed = (uint64_t)b->a->seed;
    opts.job = &b->c->job;
    if (e->left_open)
        QDQ_TRY(qdq_data_get(b->data, 0, &opts.inputs, &opts.n_inputs, err));
    return at_engine(e,
                     cmd_bench_has_steps(b)
                         ? qdq_bench_sequence(sequences, n, b->data, &opts, out, err)
                         : qdq_bench(sessions, n, &opts, out, err),
                     err);
}

/* All that have a session, interleaved. */
static qdq_status time_open(const bench *b, bench_engine *e, qdq_error *err)
{
    qdq_bench_model times[BENCH_MAX_MODELS];
    size_t open[BENCH_MAX_MODELS], n = 0;

    for (size_t i = 0; i < b->n_models; i++)
        if (e->entry[i].session != NULL)
            open[n++] = i;
    if (n == 0)
        return QDQ_OK;
    QDQ_TRY(time_some(b, e, open, n, (unsigned)b->a->rounds, times, err));
    for (size_t k = 0; k < n; k++) {
        qdq_bench_model *t = &e->entry[open[k]].time;

        *t = times[k];
        if (e->entry[0].session ==
            NULL) /* a ratio to another model than the first would be taken for one to that */
            t->speedup = t->ci_low = t->ci_high = 0;
    }
    return QDQ_OK;
}

static qdq_status drop_model(bench *b, bench_engine *e, size_t i, qdq_status st, qdq_error *err)
{
    QDQ_TRY(note(b, cli_at_file(b->c->operand[i], st, err), &e->entry[i].failed, err));
    qdq_session_close(e->entry[i].session);
    e->entry[i].session = NULL;
    return QDQ_OK;
}

/* Timing them together failed, for the reason in *err. Each is asked alone which of them it was; if
 * none, it was all. */
static qdq_status drop_failing(bench *b, bench_engine *e, qdq_error *err)
{
    const qdq_error together = *err;
    qdq_bench_model scratch;
    bool found = false;

    for (size_t i = 0; i < b->n_models; i++) {
        if (e->entry[i].session == NULL)
            continue;
        qdq_status st = time_some(b, e, &i, 1, 1, &scratch, err);
        found = found || st != QDQ_OK;
        if (st != QDQ_OK)
            QDQ_TRY(drop_model(b, e, i, st, err));
    }
    for (size_t i = 0; i < b->n_models && !found; i++) {
        *err = together;
        if (e->entry[i].session != NULL)
            QDQ_TRY(drop_model(b, e, i, together.code, err));
    }
    return QDQ_OK;
}

/* Shapes of --data that a model cannot be fixed to stay open, for all models: their times are
 * compared. */
static qdq_status open_without_data_shapes(bench *b, bench_engine *e, size_t i, qdq_error *err)
{
    const qdq_error fixed = *err;
    const cli_shapes shapes = e->shapes;

    e->shapes = b->a->shape.shapes;
    e->left_open = true;
    const qdq_status st = open_session(b, e, i, err);
    if (is_refusal(st)) { /* with any shapes */
        e->shapes = shapes;
        e->left_open = false;
        *err = fixed;
        return fixed.code;
    }
    if (st == QDQ_OK)
        cli_warn(&b->c->ui, "%s; shapes stay open, with input of the shapes of --data", fixed.text);
    return st;
}

static bool has_data_shapes(const bench *b, const bench_engine *e)
{
    return !e->left_open && b->data != NULL && e->shapes.at == b->requested.at &&
           b->requested.n > b->a->shape.shapes.n;
}

static qdq_status reopen(bench *b, bench_engine *e, size_t i, qdq_error *err)
{
    if (e->entry[i].session == NULL)
        return QDQ_OK;
    qdq_session_close(e->entry[i].session);
    e->entry[i].session = NULL;
    return note(b, open_session(b, e, i, err), &e->entry[i].failed, err);
}

static qdq_status open_sessions(bench *b, bench_engine *e, qdq_error *err)
{
    for (size_t i = 0; i < b->n_models; i++) {
        const bool can_leave_open = has_data_shapes(b, e);
        qdq_status st = open_session(b, e, i, err);

        if (is_refusal(st) && can_leave_open)
            st = open_without_data_shapes(b, e, i, err);
        QDQ_TRY(note(b, st, &e->entry[i].failed, err));
        for (size_t k = 0; k < i && can_leave_open && e->left_open; k++)
            QDQ_TRY(reopen(b, e, k, err));
    }
    return QDQ_OK;
}

static qdq_status measure_on(bench *b, bench_engine *e, qdq_error *err)
{
    QDQ_TRY(open_sessions(b, e, err));
    qdq_status st = time_open(b, e, err);
    while (is_refusal(st)) {
        QDQ_TRY(drop_failing(b, e, err));
        st = time_open(b, e, err);
    }
    QDQ_TRY(st);
    for (size_t i = 0; i < b->n_models; i++) {
        b->n_measured += e->entry[i].session != NULL;
        qdq_session_close(e->entry[i].session);
        e->entry[i].session = NULL;
    }
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status add_engines(bench *b, const char *list, qdq_error *err)
{
    char **specs;
    size_t n;
    qdq_status st = QDQ_OK;

    QDQ_TRY(qdq_engine_split(list, &specs, &n, err));
    for (size_t i = 0; i < n && st == QDQ_OK; i++) {
        bench_engine *e = &b->engines[b->n_engines];
        if (b->n_engines == BENCH_MAX_ENGINES) {
            st = qdq_fail(err, QDQ_E_USAGE, "found more than %d engines", BENCH_MAX_ENGINES);
            break;
        }
        e->spec = qdq_arena_strdup(&b->c->arena, specs[i]);
        e->entry = qdq_arena_array(&b->c->arena, b->n_models, sizeof *e->entry);
        if (e->spec == NULL || e->entry == NULL)
            st = qdq_nomem(err);
        b->n_engines++;
    }
    qdq_free(specs);
    return st;
}

static qdq_status check_providers(const bench *b, qdq_error *err)
{
    for (size_t i = 0; i < b->n_engines; i++)
        if (b->a->engine.providers.n == 0 || cli_engine_takes_provider(b->engines[i].spec))
            return QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE, "found --provider and no engine ort among those of --engine");
}

/* Beside a trtexec, other engines take the shapes in them. */
static qdq_status check_trtexec_args(bench *b, qdq_error *err)
{
    for (size_t i = 0; i < b->n_engines && b->range.other != NULL; i++)
        if (cli_engine_takes_trtexec_args(b->engines[i].spec))
            b->range.other = NULL;
    return b->range.other == NULL
               ? QDQ_OK
               : qdq_fail(
                     err, QDQ_E_USAGE,
                     "found %s in --trtexec-args and no engine trtexec among those of --engine",
                     b->range.other);
}

static qdq_status open_engine(bench *b, bench_engine *e, qdq_error *err)
{
    cli_engine_args args = b->a->engine;

    args.engine = e->spec;
    e->shapes = b->requested;
    QDQ_TRY(cli_range_apply(b->c, &b->range, &args, &e->shapes, err));
    if (b->n_engines > 1 && !cli_engine_takes_provider(e->spec))
        args.providers = (cli_names){NULL, 0, 0}; /* beside an ort, for which they are */
    return note(b, cli_engine_open(b->c, &args, &e->engine, err), &e->failed, err);
}

/* A batch of 1 is what most expect; a height, width or length of 1 is not. */
static void warn_of_ones(const bench *b)
{
    qdq_io io;

    for (size_t i = 0; i < b->n_models; i++)
        for (size_t k = 0; qdq_model_input(b->models[i], k, &io); k++)
            for (int r = 1; r < io.rank && cli_is_assumed(&io, &b->shapes); r++)
                if (io.dim[r] < 0) {
                    cli_warn(&b->c->ui,
                             "%s: input '%s': open dimensions are timed as 1; --shape or --data "
                             "sets them",
                             b->c->operand[i], io.name);
                    break;
                }
}

/* Times that differ this much are the machine's doing: on an idle one p90 is within a tenth or two
 * of p10. Few rounds have no tenths. */
#define NOISY      1.5
#define FEW_ROUNDS 20

static void warn_of_noise(const bench *b)
{
    if (b->a->rounds > 0 && b->a->rounds < FEW_ROUNDS)
        return;
    for (size_t i = 0; i < b->n_engines; i++)
        for (size_t k = 0; b->engines[i].engine != NULL && k < b->n_models; k++) {
            const qdq_bench_model *t = &b->engines[i].entry[k].time;

            if (t->p90_ms > NOISY * t->p10_ms)
                cli_warn(&b->c->ui,
                         "%s: times vary, p90 is %.1f times p10: other programs use the processor; "
                         "the interval shows what is certain all the same",
                         b->c->operand[k], t->p90_ms / t->p10_ms);
        }
}

/* Inputs that --shape leaves open get the shape of the first sample. */
static qdq_status take_data_shapes(bench *b, qdq_error *err)
{
    static const cli_data_args args = {.image_size = {0, 0}};
    const cli_data_request request = {b->a->data, &args, &b->requested, NULL, 1, NULL, NULL};
    const qdq_named_array *in = NULL;
    size_t n = 0;
    cli_shapes all = {NULL, 0, 0};
    qdq_io io;

    if (b->a->data == NULL || cmd_bench_has_steps(b))
        return QDQ_OK;
    QDQ_TRY(cli_data_open(b->c, &request, b->models[0], &b->data, err));
    QDQ_TRY(qdq_data_get(b->data, 0, &in, &n, err));
    for (size_t i = 0; i < b->requested.n; i++)
        if (!QDQ_PUSH(&b->c->arena, &all, b->requested.at[i]))
            return qdq_nomem(err);
    for (size_t i = 0; qdq_model_input(b->models[0], i, &io); i++)
        for (size_t k = 0; k < n && cli_is_assumed(&io, &b->requested); k++) {
            qdq_input_shape shape = {.name = io.name, .rank = in[k].array.rank};

            memcpy(shape.dim, in[k].array.dim, sizeof shape.dim);
            if (strcmp(in[k].name, io.name) == 0 && !QDQ_PUSH(&b->c->arena, &all, shape))
                return qdq_nomem(err);
        }
    b->requested = all;
    return QDQ_OK;
}

/* --data, or random steps. */
static qdq_status open_sequence(bench *b, qdq_error *err)
{
    static const cli_data_args args = {.image_size = {0, 0}};
    const char *spec = b->a->data;
    cli_data_request request = {NULL, &args, &b->shapes, NULL, 1, &b->a->state, NULL};

    if (cmd_bench_has_steps(b) && spec == NULL && b->a->state.steps == 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --state without --data and --steps: expected one of them");
    if (spec == NULL)
        spec = qdq_arena_printf(&b->c->arena, "random:%lld", (long long)b->a->seed);
    QDQ_NEED(spec != NULL, err);
    request.spec = spec;
    return cmd_bench_has_steps(b) ? cli_data_open(b->c, &request, b->models[0], &b->data, err)
                                  : cli_states_check(&b->a->state, err);
}

/* All engines are opened first, so that an error in the last one's name costs no waiting for the
 * others. */
static qdq_status measure(bench *b, qdq_error *err)
{
    for (size_t i = 0; i < b->n_models; i++)
        QDQ_TRY(cli_model_load(b->c, b->c->operand[i], &b->models[i], err));
    b->requested = b->a->shape.shapes;
    QDQ_TRY(take_data_shapes(b, err));
    QDQ_TRY(cli_range_read(b->c, &b->a->range, &b->a->engine, &b->requested, &b->range, err));
    QDQ_TRY(cli_range_merge(b->c, &b->range, &b->requested, &b->shapes, err));
    QDQ_TRY(cli_shapes_check(&b->shapes, b->models, b->n_models, err));
    QDQ_TRY(open_sequence(b, err));
    if (!cmd_bench_has_steps(b))
        warn_of_ones(b);
    for (size_t i = 0; i < b->a->engines.n; i++)
        QDQ_TRY(add_engines(b, b->a->engines.at[i], err));
    if (b->n_engines == 0)
        QDQ_TRY(add_engines(b, "ort", err));
    QDQ_TRY(check_providers(b, err));
    QDQ_TRY(check_trtexec_args(b, err));
    for (size_t i = 0; i < b->n_engines; i++)
        QDQ_TRY(open_engine(b, &b->engines[i], err));
    for (size_t i = 0; i < b->n_engines; i++)
        if (b->engines[i].engine != NULL)
            QDQ_TRY(measure_on(b, &b->engines[i], err));
    cli_ui_clear(&b->c->ui);
    if (b->n_measured > 0 || b->n_failed > 1) /* a single failure is the error and no more */
        QDQ_TRY(cmd_bench_print(b, err));
    warn_of_noise(b);
    if (b->n_failed > 0)
        *err = b->first;
    return b->first.code;
}

static qdq_status run_bench(cli *c, const void *args, qdq_error *err)
{
    bench b = {.c = c,
               .a = args,
               .n_models = c->n_operands,
               .models = qdq_arena_array(&c->arena, c->n_operands, sizeof *b.models),
               .engines = qdq_arena_array(&c->arena, BENCH_MAX_ENGINES, sizeof *b.engines)};

    if (b.models == NULL || b.engines == NULL)
        return qdq_nomem(err);
    qdq_status st = cli_host_threads(c, &b.a->engine, b.a->threads, &b.threads, err);
    if (st == QDQ_OK)
        st = measure(&b, err);
    for (size_t i = 0; i < b.n_engines; i++) {
        for (size_t k = 0; k < b.n_models && b.engines[i].entry != NULL; k++)
            qdq_session_close(b.engines[i].entry[k].session);
        qdq_engine_close(b.engines[i].engine);
    }
    qdq_data_close(b.data);
    for (size_t i = 0; i < b.n_models; i++)
        qdq_model_free(b.models[i]);
    return st;
}

const cli_command cmd_bench = {
    .name = "bench",
    .synopsis = "MODEL [MODEL...] [options]",
    .operands = "1 to 64 MODELs",
    .min_operands = 1,
    .max_operands = BENCH_MAX_MODELS,
    .summary = "measure the latency of models side by side",
    .about =
        "Measures models in interleaved rounds, so that drift of the machine affects all equally.\n"
        "The speed-up of a model is the time of the first divided by its own: the median of\n"
        "paired rounds, with a 95 % interval. Input is random. Dimensions that --shape or --data\n"
        "fixes are fixed for the engine, too, which may then fuse more. All others are open for\n"
        "the engine and 1 in the input: the times are those of an application that fixes none.\n"
        "The output reports 'shapes open' or 'shapes fixed'.\n"
        "\n"
        "Where the engine rejects a model with the shapes of --data, they stay open for all\n"
        "models, and inputs have those of the first sample; a warning reports it. A model that\n"
        "the engine runs only without its optimizations is measured that way, with the reason.\n"
        "Where the times of a model vary by half, a warning reports it.\n"
        "\n"
        "With several engines (--engine ort,openvino) each measures all models, one engine after\n"
        "the other, and ratios are to the first model on the same engine. A comma separates\n"
        "engines only before the name of an engine that 'qdq engines' lists, with ':', ',' or\n"
        "nothing after the name. Elsewhere it belongs to the argument (sim:a,b.json), like after\n"
        "a backslash (sim:a\\,ort). An engine in a shared library comes first, or gets an "
        "--engine\n"
        "of its own.\n"
        "\n"
        "--state OUT=IN times a sequence: output OUT of a step is input IN of the next one, of "
        "each\n"
        "model its own. The sequence is the first one of --data, or --steps random inputs. 'step "
        "ms'\n"
        "is the mean over its steps, and 'sequence ms' the sum. Copies of states between steps "
        "are\n"
        "not timed. Open dimensions stay open. --rounds and --warmup count sequences.\n"
        "\n"
        "An unavailable engine and a rejected model are reported with the reason, and the others\n"
        "are measured. The exit code is that of the first failure: 5, 3 if the engine does not\n"
        "support the model, 4 if a file of the engine cannot be read.",
    .json =
        "{ \"engine\", \"engine_version\", \"device\", \"spec\", \"failed\", \"threads\",\n"
        "  \"models\": [{\"model\", \"median_ms\", \"p10_ms\", \"p90_ms\", \"runs\", "
        "\"shapes\",\n"
        "    \"unoptimized\", \"failed\"}],\n"
        "  \"ratios\": [{\"model\", \"speedup\", \"ci_low\", \"ci_high\"}],\n"
        "  \"run_as\": [{\"model\", \"input\", \"shape\"}] }\n"
        "With several engines: { \"engines\": [...], \"run_as\" }, with such an object for "
        "each in the "
        "list.\n"
        "With --state also \"steps\" next to \"run_as\", and \"sequence_ms\" of each model; other\n"
        "times are those of a step.\n"
        "shapes: \"open\" where an input has a dimension that nothing fixes, else \"fixed\".\n"
        "unoptimized: why the engine's optimizations are off for this model; null: they are "
        "on. failed: why\n"
        "it was not measured, or why there is no such engine; null: it was. Ratios are null "
        "where the first\n"
        "model was not measured.",
    .example = "qdq bench model.onnx model.qdq.onnx --threads 1\n"
               "qdq bench model.onnx model.qdq.onnx --engine ort,openvino",
    .common = "data rounds threads shape engine json help",
    .groups = groups,
    .args_size = sizeof(struct bench_args),
    .run = run_bench,
};
