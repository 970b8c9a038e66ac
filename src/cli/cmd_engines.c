/* cmd_engines.c - which engines there are, and which can be had here. */
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_host.h"
#include "cli/cli_json.h"

struct engines_args {
    cli_common common;
    cli_engine_args engine;
#include "cli/cli_members.def"
#include "cli/cmd_engines.def"
};

#define ARGS engines_args
#include "cli/cli_tables.def"
#include "cli/cmd_engines.def"

static const cli_group groups[] = {
    {"engines", options, 0},
    {"engine", cli_engine_opts + 1,
     CLI_AT(engines_args, engine)}, /* without --engine: the operand says which */
    {"", cli_trtexec_opts, CLI_AT(engines_args, engine)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

static const struct {
    unsigned flag;
    const char *name;
} capabilities[] = {
    {QDQ_CAN_RUN, "run"},
    {QDQ_CAN_TIME, "time"},
    {QDQ_CAN_PROFILE, "profile"},
    {QDQ_CAN_EXPOSE, "expose"},
    {QDQ_CAN_MAP_WEIGHTS, "map-weights"},
    {QDQ_CAN_LIST_LAYERS, "groups"},
};

static void engine_json(qdq_json_out entry, const qdq_engine *e)
{
    const qdq_engine_info *info = qdq_engine_get_info(e);

    qdq_json_put_text(entry, "name", info->name);
    qdq_json_put_bool(entry, "available", true);
    qdq_json_put_text(entry, "version", info->version);
    qdq_json_put_text(entry, "library", info->library);
    qdq_json_put_text(entry, "device", info->device);
    qdq_json_put_text(entry, "processor", qdq_engine_processor(e));
    qdq_json_put_text(entry, "fingerprint", info->fingerprint);
    qdq_json_out can = qdq_json_put_list(entry, "capabilities");
    for (size_t i = 0; i < QDQ_COUNT(capabilities); i++)
        if (info->capabilities & capabilities[i].flag)
            qdq_json_put_text(can, NULL, capabilities[i].name);
    qdq_json_put_known(entry, "max_opset", info->max_opset != 0, info->max_opset);
    qdq_json_put_known(entry, "max_ir", info->max_ir != 0, info->max_ir);
}

static void engine_rows(cli_table *t, const qdq_engine_info *info)
{
    char can[200] = "";

    for (size_t i = 0; i < QDQ_COUNT(capabilities); i++)
        if (info->capabilities & capabilities[i].flag)
            qdq_text_add(can, sizeof can, " %s", capabilities[i].name);
    cli_cell(t, "%s", info->name);
    cli_cell(t, "%s%s%s", info->version, *info->version != '\0' ? ", " : "", info->device);
    cli_cell(t, "%s", "");
    cli_cell(t, "can%s", can);
    if (info->max_opset != 0) {
        cli_cell(t, "%s", "");
        cli_cell(t, "opset up to %d, IR version up to %d", info->max_opset, info->max_ir);
    }
    if (*info->library != '\0')
        CLI_CELLS(t, "", info->library);
}

/* One that was asked for must be there. */
static qdq_status show_one(cli *c, const struct engines_args *a, qdq_error *err)
{
    cli_engine_args args = a->engine;
    cli_table table = {.arena = &c->arena, .columns = "ll"};
    qdq_json_doc d = {0};
    qdq_engine *e = NULL;
    qdq_status st;

    args.engine = c->operand[0];
    QDQ_TRY(cli_engine_open(c, &args, &e, err));
    if (c->json) {
        engine_json(qdq_json_object(&d), e);
        st = cli_json_print(&d, err);
    } else {
        engine_rows(&table, qdq_engine_get_info(e));
        st = cli_table_print(&table, stdout, err);
    }
    qdq_engine_close(e);
    return st;
}

static void add_missing(qdq_json_out root, cli_table *t, const char *name, const char *help,
                        const qdq_error *why)
{
    qdq_json_out entry = qdq_json_put_object(root, NULL);
    qdq_json_put_text(entry, "name", name);
    qdq_json_put_bool(entry, "available", false);
    qdq_json_put_text(entry, "help", help);
    qdq_json_put_text(entry, "reason", why->text);
    CLI_CELLS(t, name, help, "");
    cli_cell(t, "%s: %s", why->code == QDQ_E_USAGE ? "needs an argument" : "not available",
             why->text);
}

static qdq_status show_all(cli *c, const struct engines_args *a, qdq_error *err)
{
    cli_engine_args args = a->engine;
    cli_table table = {.arena = &c->arena, .columns = "ll"};
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_list(&d);
    const char *help = NULL;

    for (size_t i = 0; (args.engine = qdq_engine_name(i, &help)) != NULL; i++) {
        args.providers =
            cli_engine_takes_provider(args.engine) ? a->engine.providers : (cli_names){NULL, 0, 0};
        args.trtexec_args =
            cli_engine_takes_trtexec_args(args.engine) ? a->engine.trtexec_args : NULL;
        qdq_error why = QDQ_ERROR_INIT;
        qdq_engine *e = NULL;
        if (cli_engine_open(c, &args, &e, &why) != QDQ_OK) {
            add_missing(root, &table, args.engine, help, &why);
            continue;
        }
        engine_json(qdq_json_put_object(root, NULL), e);
        engine_rows(&table, qdq_engine_get_info(e));
        qdq_engine_close(e);
    }
    if (c->json)
        return cli_json_print(&d, err);
    qdq_json_drop(&d);
    return cli_table_print(&table, stdout, err);
}

/* --- self-test -------------------------------------------------------------------------------- */

/* A weight, an epilogue, a residual, and Q/DQ around one of the two products: a little of what
 * layers are made of. */
static const char small_model[] =
    "graph (float[1,16] x) => (float[1,16] y) <float[16,16] w = {1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0, "
    "0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0, 0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0, "
    "0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0, 0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0, "
    "0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0, 0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0, "
    "0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0, 0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0, "
    "0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0, 0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0, "
    "0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0, 0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0, "
    "0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0, 0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0, "
    "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1}, float s = {0.05}, int8 z = {0}> { [\"/float/MatMul\"] a = "
    "MatMul(x, w) [\"/float/Relu\"] b = Relu(a) [\"/quantized/Q\"] bq = QuantizeLinear(b, s, z) "
    "[\"/quantized/DQ\"] bd = DequantizeLinear(bq, s, z) [\"/weight/Q\"] wq = QuantizeLinear(w, s, "
    "z) [\"/weight/DQ\"] wd = DequantizeLinear(wq, s, z) [\"/quantized/MatMul\"] c = MatMul(bd, "
    "wd) [\"/residual/Add\"] y = Add(c, a) }";

typedef struct self_test {
    qdq_engine *engine;
    qdq_model *model;
    qdq_session *session;
    qdq_named_array *in;
    size_t n_in;
    /* what came of the step, in words */
    char found[200];
} self_test;

static qdq_status try_build(self_test *t, qdq_error *err)
{
    const unsigned can = qdq_engine_get_info(t->engine)->capabilities;
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;

    o.profile = (can & QDQ_CAN_PROFILE) != 0;
    qdq_session_close(t->session);
    t->session = NULL;
    return qdq_session_open(t->engine, t->model, &o, &t->session, err);
}

static qdq_status ignore(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    (void)ctx, (void)name, (void)a, (void)err;
    return QDQ_OK;
}

static qdq_status try_run(self_test *t, qdq_error *err)
{
    return qdq_session_run(t->session, t->in, t->n_in, ignore, NULL, err);
}

static qdq_status try_time(self_test *t, qdq_error *err)
{
    qdq_bench_opts o = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model times;

    o.rounds = 3;
    o.warmup = 1;
    QDQ_TRY(qdq_bench(&t->session, 1, &o, &times, err));
    snprintf(t->found, sizeof t->found, "median %.4g ms", times.median_ms);
    return QDQ_OK;
}

static qdq_status try_profile(self_test *t, qdq_error *err)
{
    qdq_layer *l = NULL;
    size_t n;
    double us = 0;

    QDQ_TRY(qdq_session_profile(t->session, t->in, t->n_in, 50, &l, &n, err));
    for (size_t i = 0; i < n; i++)
        us += l[i].median_us;
    qdq_free(l);
    snprintf(t->found, sizeof t->found, "%zu layers, %.4g us in all", n, us);
    return QDQ_OK;
}

static qdq_status try_groups(self_test *t, qdq_error *err)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    qdq_layer *g = NULL;
    size_t n, named = 0;

    o.layers = true;
    qdq_session_close(t->session);
    t->session = NULL;
    QDQ_TRY(qdq_session_open(t->engine, t->model, &o, &t->session, err));
    QDQ_TRY(qdq_session_layers(t->session, t->in, t->n_in, 50, &g, &n, err));
    for (size_t i = 0; i < n; i++)
        named += g[i].n_nodes > 0;
    qdq_free(g);
    snprintf(t->found, sizeof t->found, "%zu layers, %zu of them with their nodes", n, named);
    return QDQ_OK;
}

/* Each step is tried, whatever became of the ones before: the more a report says, the better. */
static qdq_status try_all(self_test *t, qdq_error *err)
{
    static const struct {
        unsigned needs;
        const char *name;
        qdq_status (*step)(self_test *, qdq_error *);
    } steps[] = {{0, "build", try_build},
                 {QDQ_CAN_RUN, "run", try_run},
                 {QDQ_CAN_TIME, "time", try_time},
                 {QDQ_CAN_PROFILE, "profile", try_profile},
                 {QDQ_CAN_LIST_LAYERS, "groups", try_groups}};
    const unsigned can = qdq_engine_get_info(t->engine)->capabilities;
    unsigned failed = 0;

    for (size_t i = 0; i < QDQ_COUNT(steps); i++) {
        qdq_error why = QDQ_ERROR_INIT;

        if ((can & steps[i].needs) != steps[i].needs)
            continue;
        t->found[0] = '\0';
        qdq_status st = i > 0 && t->session == NULL && steps[i].needs != QDQ_CAN_LIST_LAYERS
                            ? qdq_fail(&why, QDQ_E_ENGINE, "there is no session")
                            : steps[i].step(t, &why);
        if (st == QDQ_OK && i == 0)
            st = qdq_random_inputs(t->session, 0, &t->in, &t->n_in, &why);
        failed += st != QDQ_OK;
        printf("%-8s %s%s%s\n", steps[i].name, st == QDQ_OK ? "ok" : "FAILED",
               st != QDQ_OK || t->found[0] != '\0' ? ": " : "", st == QDQ_OK ? t->found : why.text);
    }
    return failed == 0 ? QDQ_OK : qdq_fail(err, QDQ_E_ENGINE, "%u of the steps failed", failed);
}

/* What is reported must stay, so it goes into a folder that the user sees. */
static qdq_status self_test_one(cli *c, const struct engines_args *a, qdq_error *err)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    const bool records = strncmp(c->operand[0], "trtexec", 7) == 0;
    cli_engine_args args = a->engine;
    self_test t = {0};

    args.engine = c->operand[0];
    QDQ_TRY(cli_engine_opts_fill(c, &args, &opts, err));
    opts.record = !records ? NULL : a->output != NULL ? a->output : "qdq-self-test";
    QDQ_TRY(qdq_engine_open(c->operand[0], &opts, &t.engine, err));
    const qdq_engine_info *info = qdq_engine_get_info(t.engine);
    printf("%s %s, %s\n", info->name, info->version, info->device);
    qdq_status st = qdq_model_from_text(small_model, "self-test", &t.model, err);
    if (st == QDQ_OK)
        st = try_all(&t, err);
    if (records)
        printf("%s has what it said: attach that folder where you report a failure\n", opts.record);
    qdq_free(t.in);
    qdq_session_close(t.session);
    qdq_model_free(t.model);
    qdq_engine_close(t.engine);
    return st;
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* Files of this machine, which go there; otherwise a library is one of the host. */
static qdq_status install(cli *c, struct engines_args *a, qdq_error *err)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    char *where;

    opts.host = a->engine.host;
    opts.host_timeout_s = a->engine.host_timeout_s;
    opts.worker = a->engine.worker;
    opts.ort_library = a->engine.ort_library;
    opts.job = &c->job;
    QDQ_TRY(qdq_host_install(&opts, &where, err));
    cli_note(&c->ui, "installed %s", where);
    if (strncmp(a->engine.host, "exec:", 5) == 0) /* whose PATH may not have it */
        a->engine.host = qdq_arena_printf(&c->arena, "%s %s --serve", a->engine.host, where);
    qdq_free(where);
    a->engine.ort_library = NULL;
    return qdq_allocated(a->engine.host != NULL, err);
}

static qdq_status show_host(cli *c, const struct engines_args *a, qdq_error *err)
{
    QDQ_TRY(cli_host_need(c, &a->engine, err));
    if (!c->json)
        printf("host %s\nqdq-worker %s on %s, %s, kernels %s, %d thread%s\n\n", a->engine.host,
               c->host->version, c->host->machine, c->host->processor, c->host->kernels,
               c->host->threads, cli_plural((size_t)c->host->threads));
    return QDQ_OK;
}

static qdq_status run_engines(cli *c, const void *args, qdq_error *err)
{
    struct engines_args own = *(const struct engines_args *)args, *a = &own;

    if ((a->install || a->engine.worker != NULL) && a->engine.host == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --host",
                        a->install ? "--install" : "--worker");
    if (a->engine.worker != NULL && !a->install)
        return qdq_fail(err, QDQ_E_USAGE, "found --worker without --install");
    if (a->install)
        QDQ_TRY(install(c, a, err));
    a->engine.worker = NULL;
    if (a->engine.host != NULL)
        QDQ_TRY(show_host(c, a, err));
    if (a->self_test && c->n_operands == 0)
        return qdq_fail(err, QDQ_E_USAGE, "--self-test without an engine: expected its NAME");
    if (a->output != NULL && !a->self_test)
        return qdq_fail(err, QDQ_E_USAGE, "--output is for --self-test");
    if (a->self_test)
        return self_test_one(c, a, err);
    return c->n_operands == 1 ? show_one(c, a, err) : show_all(c, a, err);
}

const cli_command cmd_engines = {
    .name = "engines",
    .synopsis = "[NAME[:ARG]] [options]",
    .operands = "at most one NAME[:ARG]",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "list engines, versions and what they can do",
    .about =
        "Lists the engines with version, library and capabilities, or the reason why one is\n"
        "unavailable. With a name, the exit code is 5 if that engine is unavailable. --self-test\n"
        "tries it on a small model, step by step; the exit code is 5 if a step fails. With --host\n"
        "the engines are those of another machine, which --install prepares.",
    .json =
        "[{ \"name\", \"available\": true, \"version\", \"library\", \"device\", \"processor\",\n"
        "   \"fingerprint\", \"capabilities\": [...], \"max_opset\", \"max_ir\" },\n"
        " { \"name\", \"available\": false, \"help\", \"reason\" }]; with a name: one of these "
        "objects",
    .example =
        "qdq engines\nqdq engines trtexec --self-test -o report\nqdq engines ort --ort-library "
        "/opt/ort/lib/libonnxruntime.so",
    .common = "self-test output install host ort-library openvino-library trtexec json help",
    .groups = groups,
    .args_size = sizeof(struct engines_args),
    .run = run_engines,
};
