/* cmd_engines.c - which engines there are, and which can be had here. */
#include <string.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_json.h"

struct engines_args {
    cli_common common;
    cli_engine_args engine;
};

/* As the shared table, without --engine: the operand says which. */
static const cli_opt options[] = {
    {.name = "ort-library",
     .kind = CLI_FILE,
     .offset = CLI_AT(cli_engine_args, ort_library),
     .what = "FILE",
     .help = "the ONNX Runtime library; else $QDQ_ORT_LIBRARY, then the usual places"},
    {.name = "openvino-library",
     .kind = CLI_FILE,
     .offset = CLI_AT(cli_engine_args, openvino_library),
     .what = "FILE",
     .help = "OpenVINO's libopenvino_c.so; else $QDQ_OPENVINO_LIBRARY, then the usual places"},
    CLI_END,
};

static const cli_group groups[] = {
    {"engine", options, CLI_AT(engines_args, engine)},
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
    {QDQ_CAN_GROUP, "groups"},
};

static json_t *engine_json(cli_json *j, const qdq_engine_info *info)
{
    json_t *entry = json_object();
    json_t *can = json_array();

    cli_json_set(j, entry, "name", json_string(info->name));
    cli_json_set(j, entry, "available", json_true());
    cli_json_set(j, entry, "version", cli_json_text(info->version));
    cli_json_set(j, entry, "library", cli_json_text(info->library));
    cli_json_set(j, entry, "device", cli_json_text(info->device));
    for (size_t i = 0; i < QDQ_COUNT(capabilities); i++)
        if (info->capabilities & capabilities[i].flag)
            cli_json_add(j, can, json_string(capabilities[i].name));
    cli_json_set(j, entry, "fingerprint", cli_json_text(info->fingerprint));
    cli_json_set(j, entry, "capabilities", can);
    cli_json_set(j, entry, "max_opset", info->max_opset == 0 ? json_null() : json_integer(info->max_opset));
    cli_json_set(j, entry, "max_ir", info->max_ir == 0 ? json_null() : json_integer(info->max_ir));
    return entry;
}

static void engine_rows(cli_table *t, const qdq_engine_info *info)
{
    char can[200] = "";
    size_t used = 0;

    for (size_t i = 0; i < QDQ_COUNT(capabilities); i++)
        if (info->capabilities & capabilities[i].flag) {
            int n = snprintf(can + used, sizeof can - used, " %s", capabilities[i].name);
            used += n > 0 && (size_t)n < sizeof can - used ? (size_t)n : 0;
        }
    cli_cell(t, "%s", info->name);
    cli_cell(t, "%s%s%s", info->version, *info->version != '\0' ? ", " : "", info->device);
    cli_cell(t, "%s", "");
    cli_cell(t, "can%s", can);
    if (info->max_opset != 0) {
        cli_cell(t, "%s", "");
        cli_cell(t, "opset up to %d, IR version up to %d", info->max_opset, info->max_ir);
    }
    if (*info->library != '\0') {
        cli_cell(t, "%s", "");
        cli_cell(t, "%s", info->library);
    }
}

/* One that was asked for must be there. */
static qdq_status show_one(cli *c, const struct engines_args *a, qdq_error *err)
{
    cli_engine_args args = a->engine;
    cli_table table = {.arena = &c->arena, .columns = "ll"};
    cli_json j = {false};
    qdq_engine *e = NULL;
    qdq_status st;

    args.engine = c->operand[0];
    QDQ_TRY(cli_engine_open(c, &args, &e, err));
    if (c->json) {
        st = cli_json_print(&j, engine_json(&j, qdq_engine_get_info(e)), err);
    } else {
        engine_rows(&table, qdq_engine_get_info(e));
        st = cli_table_print(&table, stdout, err);
    }
    qdq_engine_close(e);
    return st;
}

static void add_missing(cli_json *j, json_t *root, cli_table *t, const char *name, const char *help,
                        const qdq_error *why)
{
    json_t *entry = json_object();

    cli_json_set(j, entry, "name", json_string(name));
    cli_json_set(j, entry, "available", json_false());
    cli_json_set(j, entry, "help", json_string(help));
    cli_json_set(j, entry, "reason", cli_json_text(why->text));
    cli_json_add(j, root, entry);
    cli_cell(t, "%s", name);
    cli_cell(t, "%s", help);
    cli_cell(t, "%s", "");
    cli_cell(t, "%s: %s", why->code == QDQ_E_USAGE ? "needs an argument" : "not available", why->text);
}

static qdq_status show_all(cli *c, const struct engines_args *a, qdq_error *err)
{
    cli_engine_args args = a->engine;
    cli_table table = {.arena = &c->arena, .columns = "ll"};
    cli_json j = {false};
    json_t *root = json_array();
    const char *help = NULL;

    for (size_t i = 0; (args.engine = qdq_engine_name(i, &help)) != NULL; i++) {
        qdq_error why = QDQ_ERROR_INIT;
        qdq_engine *e = NULL;
        if (cli_engine_open(c, &args, &e, &why) != QDQ_OK) {
            add_missing(&j, root, &table, args.engine, help, &why);
            continue;
        }
        cli_json_add(&j, root, engine_json(&j, qdq_engine_get_info(e)));
        engine_rows(&table, qdq_engine_get_info(e));
        qdq_engine_close(e);
    }
    if (c->json)
        return cli_json_print(&j, root, err);
    json_decref(root);
    return cli_table_print(&table, stdout, err);
}

static qdq_status run(cli *c, const void *args, qdq_error *err)
{
    return c->n_operands == 1 ? show_one(c, args, err) : show_all(c, args, err);
}

const cli_command cmd_engines = {
    .name = "engines",
    .synopsis = "[NAME[:ARG]] [options]",
    .operands = "at most one NAME[:ARG]",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "list engines, versions and what they can do",
    .about =
        "Lists the engines with version, library and capabilities, or why one is not to be had here. With\n"
        "a name, the exit code is 5 if that engine is not to be had.",
    .json = "[{ \"name\", \"available\": true, \"version\", \"library\", \"device\", \"fingerprint\",\n"
            "   \"capabilities\": [...], \"max_opset\", \"max_ir\" },\n"
            " { \"name\", \"available\": false, \"help\", \"reason\" }]; with a name: one of these objects",
    .example = "qdq engines\nqdq engines ort --ort-library /opt/ort/lib/libonnxruntime.so",
    .groups = groups,
    .args_size = sizeof(struct engines_args),
    .run = run,
};
