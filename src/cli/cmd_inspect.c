/* cmd_inspect.c - what a model holds, and what a target would do with it. The library writes all
 * views. */
#include "cli/cmd_inspect.h"

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_files.h"
#include "cli/cli_quant.h"
#include "cli/cli_model.h"
#include "cli/cli_regions.h"
#include "cli/cli_why.h"
#include "cli/cli_text.h"
#include "cli/cli_values.h"
#include "qdq/parts.h"

struct inspect_args {
    cli_common common;
    cli_region_args region;
    /* of --why and --regions, but for set_shape */
    cli_quant_args quant;
    cmd_inspect_groups_args groups;
#include "cli/cli_members.def"
#include "cli/cmd_inspect.def"
};

/* --why and --regions. */
#define ARGS inspect_args
#include "cli/cli_tables.def"
#include "cli/cmd_inspect.def"

static const cli_group groups[] = {
    {"inspect", options, 0},
    {"how the model is cleaned", clean_options, 0},
    {"", cli_quant_clean_opts, CLI_AT(inspect_args, quant)},
    {"", cli_fold_opts, CLI_AT(inspect_args, quant.fold)},
    {"", cli_fold_growth_opts, CLI_AT(inspect_args, quant.fold)},
    {"regions", region_options, 0},
    {"", cli_region_opts, CLI_AT(inspect_args, region)},
    {"what an engine executes", cmd_inspect_group_opts, CLI_AT(inspect_args, groups)},
    {"shapes", cli_shape_opts,
     CLI_AT(inspect_args, groups) + offsetof(cmd_inspect_groups_args, shape)},
    {"", cli_range_opts, CLI_AT(inspect_args, groups) + offsetof(cmd_inspect_groups_args, range)},
    {"engine", cli_engine_opts + 1,
     CLI_AT(inspect_args, groups) +
         offsetof(cmd_inspect_groups_args, engine)}, /* --engine is among those above */
    {"", cli_trtexec_opts,
     CLI_AT(inspect_args, groups) + offsetof(cmd_inspect_groups_args, engine)},
    {"formats of the target", cli_format_opts, CLI_AT(inspect_args, quant.format)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

static qdq_status print_why(cli *c, const qdq_why *w, qdq_error *err)
{
    return c->json ? cli_why_print_json(w, err) : cli_why_print(c, w, stdout, err);
}

/* The target and the options that clean the model, as autotune has them where an engine is
 * named. */
static qdq_status open_target(cli *c, const struct inspect_args *a, qdq_target **target,
                              qdq_quantize_opts *o, qdq_error *err)
{
    const cli_engine_args *engine = &a->groups.engine;
    const char *name =
        a->quant.target != NULL ? a->quant.target : qdq_target_of_engine(engine->engine);

    o->job = &c->job;
    QDQ_TRY(cli_quant_fill_clean(c, &a->quant, o, err));
    return cli_target_open(c, name, &a->quant.format, engine->engine != NULL ? engine : NULL,
                           target, err);
}

static qdq_status explain(cli *c, const struct inspect_args *a, const qdq_model *m, qdq_error *err)
{
    qdq_quantize_opts o = QDQ_QUANTIZE_OPTS_INIT;
    qdq_target *target = NULL;
    qdq_why *why = qdq_why_new(a->why);
    qdq_status st = why != NULL ? open_target(c, a, &target, &o, err) : qdq_nomem(err);

    o.why = why;
    if (st == QDQ_OK)
        st = cli_at_file(c->operand[0], qdq_explain(m, target, &o, err), err);
    if (st == QDQ_OK)
        st = print_why(c, why, err);
    qdq_target_free(target);
    qdq_why_free(why);
    return st;
}

static qdq_status view_regions(cli *c, const struct inspect_args *a, const qdq_model *m,
                               char **text, qdq_error *err)
{
    qdq_regions_form form = a->dot    ? QDQ_REGIONS_DOT
                            : c->json ? QDQ_REGIONS_JSON
                                      : QDQ_REGIONS_TEXT;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_region_opts o = QDQ_REGION_OPTS_INIT;
    qdq_target *target = NULL;

    QDQ_TRY(open_target(c, a, &target, &quantize, err));
    cli_regions_fill(&a->region, &o);
    qdq_status st = qdq_regions_print(m, target, &quantize, &o, form, a->all_regions,
                                      a->common.verbose > 0, text, err);
    qdq_target_free(target);
    return cli_at_file(c->operand[0], st, err);
}

static qdq_status check_views(const cli *c, const struct inspect_args *a, qdq_error *err)
{
    if (a->groups.groups && (a->regions || a->why != NULL))
        return qdq_fail(err, QDQ_E_USAGE, "found --groups and %s, expected one of them",
                        a->regions ? "--regions" : "--why");
    if (a->dot && c->json)
        return qdq_fail(err, QDQ_E_USAGE, "found --dot and --json, expected one of them");
    if (a->dot && a->why != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --dot and --why, expected one of them");
    if (a->regions && a->why != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --regions and --why, expected one of them");
    return QDQ_OK;
}

static qdq_status check_options(const cli *c, const struct inspect_args *a, qdq_error *err)
{
    const char *cleaning = cli_quant_choice(&a->quant),
               *of_groups = cmd_inspect_groups_given(&a->groups),
               *regions =
                   a->all_regions ? "--all-regions" : cli_first_given(cli_region_opts, &a->region);
    const bool cleans = a->regions || a->why != NULL;

    QDQ_TRY(check_views(c, a, err));
    if (!cleans && !a->groups.groups && a->groups.engine.engine != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --engine without --groups, --regions or --why");
    if (!a->groups.groups && of_groups != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --groups", of_groups);
    if (!cleans && cleaning != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --regions or --why", cleaning);
    if (!a->regions && regions != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --regions", regions);
    return cli_quant_check_clean(&a->quant, err);
}

static qdq_status show_model(cli *c, const struct inspect_args *a, qdq_view view, qdq_model *m,
                             char **text, qdq_error *err)
{
    QDQ_TRY(cli_shapes_set(&a->quant.set_shape, m, err));
    if (a->why != NULL)
        return explain(c, a, m, err);
    if (a->groups.groups)
        return cmd_inspect_groups(c, &a->groups, m, a->dot, a->common.verbose > 0, err);
    return a->regions ? view_regions(c, a, m, text, err) : qdq_model_inspect(m, view, text, err);
}

static bool reads_tensors(const struct inspect_args *a)
{
    return a->why != NULL || a->groups.groups || a->regions || a->quant.set_shape.n > 0;
}

static qdq_status show(cli *c, const struct inspect_args *a, char **text, qdq_error *err)
{
    const qdq_view view = a->dot ? QDQ_VIEW_DOT : c->json ? QDQ_VIEW_JSON : QDQ_VIEW_TEXT;
    const char *path = c->operand[0];
    qdq_model *m = NULL;

    if (a->dot && !c->json)
        cli_text_set_mode(CLI_TEXT_PLAIN); /* a document, with -q too */
    if (!reads_tensors(a) && !cli_is_stdout(path) && !cli_has_suffix(path, CLI_TEXT_SUFFIX))
        return qdq_model_inspect_file(path, view, &c->job, text, err);
    QDQ_TRY(cli_model_load(c, path, &m, err));
    const qdq_status st = show_model(c, a, view, m, text, err);
    qdq_model_free(m);
    return st;
}

static qdq_status run_inspect(cli *c, const void *args, qdq_error *err)
{
    const struct inspect_args *a = args;
    char *text = NULL;

    QDQ_TRY(check_options(c, a, err));
    const qdq_status st = show(c, a, &text, err);
    if (st == QDQ_OK && text != NULL)
        fputs(text, stdout);
    qdq_free(text);
    return st;
}

const cli_command cmd_inspect = {
    .name = "inspect",
    .synopsis = "MODEL [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "show what a model holds",
    .about =
        "Shows versions, operators, inputs, outputs, weights and quantization of a model. It\n"
        "reads no tensor, so it takes milliseconds for any size, and a missing file of external "
        "data is\n"
        "a warning.\n"
        "\n"
        "--why NAME prints each rule of a target for a node (by its name, or as Op@output) or for\n"
        "a tensor (its producer and its consumers): in order, with node, rule, whether it holds,\n"
        "and the verdict; 'plan' is the outcome. The model is cleaned first, like by 'qdq\n"
        "quantize'. Nothing is calibrated.\n"
        "\n"
        "--regions shows the regions that autotune decides about: disjoint regions that together\n"
        "hold every node but constants and shape arithmetic, and patterns: equivalent regions,\n"
        "which are tuned once for all. The model is cleaned first; no engine is needed. With the\n"
        "options of 'qdq autotune' that choose target, cleaning, shapes and regions, these are\n"
        "the regions of that run: --engine chooses the target unless --target does. Options that\n"
        "choose nodes or types (--include, --exclude, --op-types, --exclude-op-types,\n"
        "--node-filter, --type) change what is tried in a region and no region. With --dot "
        "regions\n"
        "are frames, and equal colours are equal patterns.\n"
        "\n"
        "--groups runs the model on an engine, on random input, and prints the executed layers:\n"
        "kernel, types that it consumes and produces, time, and nodes ('exact': named by the\n"
        "engine; 'slice': the nodes between the tensors of the layer). A layer that consumes 8\n"
        "bits and produces float is marked, with the QuantizeLinear that is missing after it.\n"
        "\n"
        "Fusion groups follow: every node that is neither constant nor shape arithmetic is in\n"
        "exactly one. Layers that share nodes are one group, one with too many operators is cut\n"
        "where a single tensor passes, and without a known layer structure decides\n"
        "('structural'). Groups of one class compute the same function. 'qdq extract --group N'\n"
        "writes one. With --dot groups are frames: green from 8 bits to 8 bits, yellow from 8\n"
        "bits to float, grey without anything to quantize. --layer-info reads layers from a file,\n"
        "which must be of this model.",
    .json = "{ \"ir_version\", \"opsets\": {\"\": 17}, \"nodes\", \"ops\": {\"Conv\": 53, "
            "\"com.microsoft::Gelu\": 1},\n"
            "  \"initializers\", \"weight_bytes\", \"inputs\": [{\"name\", \"type\", \"shape\"}], "
            "\"outputs\": [...],\n"
            "  \"qdq\": {\"quantize\", \"dequantize\"} }\n"
            "Counts are of the main graph; bodies of subgraphs and functions are counted apart.\n"
            "With --why: [{ \"node\", \"rule\", \"holds\", \"verdict\" }]\n"
            "With --regions: { \"builder\", \"named_share\", \"nodes\", \"covered_nodes\", "
            "\"hidden_regions\",\n"
            "  \"regions\": [...], \"patterns\": [...], \"leaf_sizes\": [...] }: docs/json.md\n"
            "With --groups: { \"us\", \"conversions_us\", \"attributed\": share of the rest of the "
            "time, \"engine\",\n"
            "  \"engine_version\", \"device\", \"threads\", \"layers\": [{\"layer\", \"kernel\", "
            "\"in\", \"out\", \"us\",\n"
            "  \"conversion\", \"by\", \"nodes\": [...], \"tensor\": that it converts, where this "
            "is known}],\n"
            "  \"findings\": [{\"layer\", \"node\", \"tensor\", \"why\"}],\n"
            "  \"kinds\", \"matched\": share of the layers, \"covered\": share of the operators "
            "that can be quantized,\n"
            "  \"groups\": [{\"us\", \"conversions_us\", \"by\", \"cut\", \"kind\", \"key\", "
            "\"linear\", \"layers\",\n"
            "  \"layer\", \"nodes\"}] }",
    .example = "qdq inspect model.onnx --json",
    .common = "dot why regions groups target engine layer-info json help",
    .groups = groups,
    .args_size = sizeof(struct inspect_args),
    .run = run_inspect,
};
