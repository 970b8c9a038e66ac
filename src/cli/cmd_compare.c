/* cmd_compare.c - outputs of two models on the same data. */
#include <math.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_data.h"
#include "cli/cli_engine.h"
#include "cli/cli_host.h"
#include "cli/cli_layers.h"
#include "cli/cli_model.h"
#include "cli/cli_outputs.h"
#include "cli/cli_values.h"
#include "qdq/compare.h"

struct compare_args {
    cli_common common;
    cli_engine_args engine;
    cli_shape_args shape;
    cli_data_args data;
    cli_state_args state;
#include "cli/cli_members.def"
#include "cli/cmd_compare.def"
};

#define ARGS compare_args
#include "cli/cli_tables.def"
#include "cli/cmd_compare.def"

static const cli_group groups[] = {
    {"compare", options, 0},
    {"data", cli_data_opts, CLI_AT(compare_args, data)},
    {"", cli_state_opts, CLI_AT(compare_args, state)},
    {"shapes", cli_shape_opts, CLI_AT(compare_args, shape)},
    {"engine", cli_engine_opts, CLI_AT(compare_args, engine)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

typedef struct comparison {
    cli *c;
    const struct compare_args *a;
    qdq_model *model_a, *model_b;
    qdq_engine *engine;
    qdq_data *data;
    cli_run_shapes run_as;
    qdq_compare_result *result;
    /* NULL: not asked for */
    qdq_compare_layers_result *layers;
} comparison;

static qdq_status print_json(const comparison *p, qdq_error *err)
{
    const qdq_compare_result *r = p->result;
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    cli_outputs_json(qdq_json_put_list(root, "outputs"), r->outputs, r->n_outputs);
    qdq_json_put_short(root, "top1_agreement", r->top1_agreement);
    qdq_json_out accuracy = qdq_json_put_object(root, "accuracy");
    qdq_json_put_short(accuracy, "a", r->accuracy_a);
    qdq_json_put_short(accuracy, "b", r->accuracy_b);
    if (p->layers != NULL)
        cli_layers_json(root, p->layers);
    qdq_json_put_int(root, "samples", (int64_t)r->samples);
    if (p->a->state.states.n > 0)
        qdq_json_put_int(root, "steps", (int64_t)qdq_data_steps(p->data));
    cli_data_json_shapes(&p->run_as, qdq_json_put_list(root, "run_as"));
    return cli_json_print(&d, err);
}

static qdq_status print_text(const comparison *p, qdq_error *err)
{
    const qdq_compare_result *r = p->result;

    printf("%s against %s, %zu sample%s", p->c->operand[1], p->c->operand[0], r->samples,
           cli_plural(r->samples));
    if (p->a->state.states.n > 0)
        printf(" of %zu steps", qdq_data_steps(p->data));
    putchar('\n');
    cli_data_print_shapes(&p->run_as, stdout);
    QDQ_TRY(cli_outputs_print(p->c, "output", r->outputs, r->n_outputs, stdout, err));
    const char *unproven = cli_outputs_unproven(p->c, r->outputs, r->n_outputs);
    if (unproven[0] != '\0')
        printf("%s\n", unproven);
    if (!isnan(r->accuracy_a) && !isnan(r->accuracy_b))
        printf("accuracy %.4f (first), %.4f (second)\n", r->accuracy_a, r->accuracy_b);
    return p->layers != NULL ? cli_layers_print(p->c, p->layers, (size_t)p->a->top, stdout, err)
                             : QDQ_OK;
}

/* The answer is no: the exit code says so, and a line on stderr why. */
static void check_goal(cli *c, const qdq_compare_result *r, double min_sqnr)
{
    const qdq_compare_tensor *low = cli_outputs_below(r->outputs, r->n_outputs, min_sqnr);
    char text[60], place[80], line[700];

    c->negative |= low != NULL;
    if (low == NULL)
        return;
    snprintf(line, sizeof line, "output '%s'%s: %s, expected at least %g", low->name,
             qdq_compare_place(low, place, sizeof place), cli_worst_text(low, text, sizeof text),
             min_sqnr);
    cli_ui_log(&c->ui, QDQ_LOG_ERROR, line);
}

/* The same of the first output, and of others whose rows are scores. */
static void check_agreement(cli *c, const qdq_compare_result *r, double least)
{
    char line[700];

    for (size_t i = 0; i < r->n_outputs; i++) {
        const double rows = r->outputs[i].top1;

        if (i == 0 ? rows >= least : !(rows < least))
            continue;
        if (isnan(rows))
            snprintf(line, sizeof line, "output '%s' has no rows of scores, expected some",
                     r->outputs[i].name);
        else
            snprintf(line, sizeof line,
                     "output '%s': %.4f of the rows keep their argmax, expected at least %g",
                     r->outputs[i].name, rows, least);
        c->negative = true;
        cli_ui_log(&c->ui, QDQ_LOG_ERROR, line);
        return;
    }
}

static qdq_status compare(comparison *p, qdq_error *err)
{
    const struct compare_args *a = p->a;
    cli *c = p->c;
    const cli_data_request request = {
        a->spec, &a->data, &a->shape.shapes, a->labels, (size_t)a->samples, &a->state, NULL};
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    cli_shapes mine;

    QDQ_TRY(cli_agreement_check(&a->min_agreement, err));
    QDQ_TRY(cli_model_load(c, c->operand[0], &p->model_a, err));
    QDQ_TRY(cli_model_load(c, c->operand[1], &p->model_b, err));
    QDQ_TRY(cli_shapes_check(&a->shape.shapes, &p->model_a, 1, err));
    QDQ_TRY(cli_shapes_pick(c, &a->shape.shapes, p->model_a, &mine, err));
    QDQ_TRY(cli_data_open(c, &request, p->model_a, &p->data, err));
    QDQ_TRY(cli_data_find_shapes(c, p->data, p->model_a, &a->shape.shapes, &p->run_as, err));
    QDQ_TRY(cli_engine_open(c, &a->engine, &p->engine, err));
    QDQ_TRY(cli_host_threads(c, &a->engine, a->threads, &opts.threads, err));
    opts.shapes = mine.at;
    opts.n_shapes = mine.n;
    opts.job = &c->job;
    opts.scores = a->min_agreement.is_set;
    QDQ_TRY(cli_at_file(
        c->operand[1],
        qdq_compare(p->engine, p->model_a, p->model_b, p->data, &opts, &p->result, err), err));
    if (a->per_tensor)
        QDQ_TRY(cli_at_file(
            c->operand[1],
            qdq_compare_layers(p->engine, p->model_a, p->model_b, p->data, &opts, &p->layers, err),
            err));
    cli_ui_clear(&c->ui);
    QDQ_TRY(c->json ? print_json(p, err) : print_text(p, err));
    if (a->min_sqnr != 0)
        check_goal(c, p->result, a->min_sqnr);
    if (a->min_agreement.is_set)
        check_agreement(c, p->result, a->min_agreement.value);
    return QDQ_OK;
}

static qdq_status run_compare(cli *c, const void *args, qdq_error *err)
{
    comparison p = {.c = c, .a = args};

    if (p.a->spec == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found no --data, expected DATA, as test.npz or random:2");
    qdq_status st = compare(&p, err);
    qdq_free(p.result);
    qdq_free(p.layers);
    qdq_data_close(p.data);
    qdq_engine_close(p.engine);
    qdq_model_free(p.model_b);
    qdq_model_free(p.model_a);
    return st;
}

const cli_command cmd_compare = {
    .name = "compare",
    .synopsis = "A B --data DATA [options]",
    .operands = "two models, A B",
    .min_operands = 2,
    .max_operands = 2,
    .summary = "compare the outputs of two models on data",
    .about =
        "Runs two models on the same data and reports the distance of their outputs: SQNR in dB\n"
        "(10 log10 of sum a^2 / sum (a-b)^2), cosine, largest error, and with --labels the\n"
        "accuracy of both. 30 dB is usually fine, 20 dB is the default goal of quantize.\n"
        "\n"
        "'top-1': fraction of rows with the same largest score, where rows are scores of classes.\n"
        "--min-agreement counts the rows of the first output as such, as those of a language "
        "model.\n"
        "'at 0.5': fraction of elements on the same side of 0.5, where all of A's lie in [0, 1].\n"
        "An output that is zero or not finite everywhere has no signal: it proves nothing, and\n"
        "misses every --min-sqnr.\n"
        "\n"
        "'worst slice' is the least SQNR over slices of an output along one axis: the axis, not\n"
        "the batch, with the fewest entries above 1, at most 128. Neighbouring slices whose\n"
        "ranges differ by less than a factor of 8 form a group. The signal of a slice is its\n"
        "power, but at least its group's mean. 'bound' is a lower bound of the worst SQNR on as\n"
        "many other samples (one-sided 90 %, jackknife). For scores in [0, 1] it includes the\n"
        "error that undecided samples would show.\n"
        "\n"
        "--per-tensor matches the tensors inside both models by name, through Q and DQ. A layer\n"
        "is what lies between them, with the Q/DQ before it. Each layer of B with Q/DQ also runs\n"
        "alone, on the values that A has before it: 'own error' is the distance of its result y',\n"
        "10 log10 of sum y^2 / sum (y-y')^2, without errors of earlier layers. 'accumulated' is\n"
        "the SQNR of the tensor when all of B runs, 'after Q/DQ' that of what its consumers read.\n"
        "Low is bad; the layer with the largest own error comes first.\n"
        "\n"
        "--state OUT=IN runs sequences: output OUT of a step is input IN of the next one, of each\n"
        "model its own. A sequence is one sample, and errors that add up in it count. The first\n"
        "step reads the data's IN, or zeros. Data have a time axis, [sequences, steps, ...], or\n"
        "--steps cuts samples into sequences. --mask IN is an attention mask, which grows with "
        "the\n"
        "cache: docs/data.md.",
    .json =
        "{ \"outputs\": [{\"name\", \"sqnr_db\", \"worst_db\", \"axis\", \"index\", \"bound_db\", "
        "\"cosine\",\n"
        "  \"max_abs\", \"top1\", \"top1_close\", \"half_agreement\", \"no_signal\"}],\n"
        "  \"top1_agreement\",\n"
        "  \"accuracy\": {\"a\", \"b\"}, \"samples\", \"run_as\": [{\"input\", \"shape\"}] }, with "
        "--state\n"
        "also \"steps\" of each sample; with --per-tensor\n"
        "also \"layers\": [{\"node\", \"op\", \"quantized\", \"has_qdq\", \"error\", "
        "\"introduced_sqnr_db\", "
        "\"tensor\",\n"
        "  \"sqnr_db\", \"cosine\", \"max_abs\", \"read_sqnr_db\"}] and \"unmatched\": {\"a\", "
        "\"b\"}; error is\n"
        "sum (y-y')^2 / sum y^2. null: undefined; equal outputs have sqnr_db null and \"equal\": "
        "true.",
    .example = "qdq compare model.onnx model.qdq.onnx --data test.npz --labels label",
    .common = "data per-tensor top min-sqnr min-agreement labels samples engine json help",
    .groups = groups,
    .args_size = sizeof(struct compare_args),
    .run = run_compare,
};
