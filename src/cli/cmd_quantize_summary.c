/* cmd_quantize_summary.c - what quantize did, for people and for scripts. */
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "cli/cli_installed.h"
#include "cli/cli_outputs.h"
#include "cli/cli_tune.h"
#include "cli/cli_why.h"
#include "cli/cmd_quantize.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *counts_json(cli_json *j, const qdq_plan_summary *s)
{
    json_t *o = json_object();

    cli_json_set(j, o, "tensors", json_integer((json_int_t)s->n_tensors));
    cli_json_set(j, o, "weights", json_integer((json_int_t)s->n_weights));
    cli_json_set(j, o, "biases", json_integer((json_int_t)s->n_biases));
    return o;
}

static json_t *equalized_json(cli_json *j, const qdq_plan_summary *s)
{
    json_t *o = json_object();

    cli_json_set(j, o, "pairs", json_integer((json_int_t)s->n_equalized));
    cli_json_set(j, o, "left", json_integer((json_int_t)s->n_not_equalized));
    return o;
}

static json_t *samples_json(cli_json *j, const quantize *q)
{
    json_t *o = json_object();
    bool compared = q->compared != NULL;

    cli_json_set(j, o, "calibration", json_integer((json_int_t)q->samples.split.calibrate));
    cli_json_set(j, o, "sqnr", json_integer(compared ? (json_int_t)q->compared->samples : 0));
    cli_json_set(j, o, "shapes", compared ? json_string(cmd_quantize_shapes(q)) : json_null());
    if (compared && q->samples.split.folds > 0)
        cli_json_set(j, o, "cross_validated", json_true());
    /* of a plan that was given, nobody knows what it was calibrated on */
    cli_json_set(j, o, "held_back",
                 compared && q->a->plan == NULL ? json_boolean(q->samples.split.held_back)
                                                : json_null());
    return o;
}

static json_t *operators_json(cli_json *j, const qdq_plan_count *counts, size_t n)
{
    json_t *o = json_object();

    for (size_t i = 0; i < n; i++)
        cli_json_set(j, o, counts[i].what, json_integer((json_int_t)counts[i].n));
    return o;
}

static json_t *left_json(cli_json *j, const qdq_plan_summary *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->n_left; i++) {
        json_t *o = json_object();
        cli_json_set(j, o, "reason", cli_json_text(s->left_float[i].what));
        cli_json_set(j, o, "nodes", json_integer((json_int_t)s->left_float[i].n));
        cli_json_add(j, list, o);
    }
    return list;
}

static qdq_status weights_json(cli_json *j, const quantize *q, json_t *to, qdq_error *err)
{
    int64_t before = 0, after = 0;

    QDQ_TRY(cli_weight_bytes(q->model, &before, err));
    QDQ_TRY(cli_weight_bytes(q->quantized, &after, err));
    cli_json_set(j, to, "before", json_integer(before));
    cli_json_set(j, to, "after", json_integer(after));
    return QDQ_OK;
}

qdq_status cmd_quantize_print_json(const quantize *q, qdq_error *err)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(q->plan);
    const qdq_engine_info *info = q->engine != NULL ? qdq_engine_get_info(q->engine) : NULL;
    cli_json j = {false};
    json_t *root = json_object();
    json_t *shapes = json_array();
    json_t *files = json_array();
    json_t *weights = json_object();
    qdq_status st = weights_json(&j, q, weights, err);

    cli_json_set(&j, root, "model", cli_json_text(q->path));
    cli_json_set(&j, root, "output", cli_json_text(q->a->out.output));
    if (q->a->quant.set_shape.n > 0)
        cli_json_set(&j, root, "set_shape", cli_shapes_set_json(&q->a->quant.set_shape, &j));
    cli_json_set(&j, root, "target", cli_json_text(s->target));
    if (q->c->installed != NULL)
        cli_json_set(&j, root, "installed_target", cli_json_text(q->c->installed));
    cli_json_set(&j, root, "cpu", s->cpu[0] != '\0' ? cli_json_text(s->cpu) : json_null());
    cli_json_set(&j, root, "engine", info != NULL ? cli_json_text(info->name) : json_null());
    cli_json_set(&j, root, "engine_version",
                 info != NULL ? cli_json_text(info->version) : json_null());
    cli_json_set(&j, root, "placement_only", json_boolean(s->placement_only));
    cli_json_set(&j, root, "samples", samples_json(&j, q));
    cli_json_set(&j, root, "quantized", operators_json(&j, s->quantized, s->n_quantized));
    cli_json_set(&j, root, "kept", operators_json(&j, s->kept, s->n_kept));
    cli_json_set(&j, root, "left_float", left_json(&j, s));
    cli_json_set(&j, root, "plan", counts_json(&j, s));
    if (q->a->quant.equalize)
        cli_json_set(&j, root, "equalized", equalized_json(&j, s));
    if (s->n_layernorms > 0)
        cli_json_set(&j, root, "fused_layernorms", json_integer((json_int_t)s->n_layernorms));
    cli_json_set(&j, root, "outputs",
                 q->compared != NULL
                     ? cli_outputs_json(&j, q->compared->outputs, q->compared->n_outputs)
                     : json_null());
    cli_json_set(&j, root, "weight_bytes", weights);
    cmd_quantize_goal_json(q, &j, root);
    cmd_quantize_speed_json(q, &j, root);
    if (q->is_verified)
        cli_json_set(
            &j, root, "engine_check",
            cli_verify_json(&j, &q->computed, qdq_engine_get_info(q->engine),
                            q->a->quant.eval != NULL ? q->a->quant.eval : q->a->quant.calib));
    if (st == QDQ_OK && q->samples.data != NULL)
        st = cli_data_json_shapes(q->samples.data, q->model, &q->a->quant.shape.shapes, &j, shapes,
                                  err);
    cli_json_set(&j, root, "run_as", shapes);
    if (q->why != NULL)
        cli_json_set(&j, root, "why", cli_why_json(&j, q->why));
    if (q->tuned != NULL)
        cli_json_set(&j, root, "autotune", json_incref(q->tuned));
    cli_json_add_files(&j, files, q->a->out.output);
    cli_json_add_files(&j, files, q->a->plan_out);
    cli_json_add_files(&j, files, q->a->report);
    cli_json_add_files(&j, files, q->a->overlay);
    cli_json_add_files(&j, files, q->a->quant.cache_out);
    cli_json_set(&j, root, "files", files);
    if (st != QDQ_OK) {
        json_decref(root);
        return st;
    }
    return cli_json_print(&j, root, err);
}

/* --- text ------------------------------------------------------------------------------------- */

static qdq_status print_counts(const quantize *q, const qdq_plan_count *counts, size_t n, FILE *to,
                               qdq_error *err)
{
    cli_table t = {.arena = &q->c->arena, .columns = "rl"};

    for (size_t i = 0; i < n; i++) {
        cli_cell(&t, "%6zu", counts[i].n);
        cli_cell(&t, "%s", counts[i].what);
    }
    return cli_table_print(&t, to, err);
}

static size_t count_kept(const qdq_plan_summary *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_kept; i++)
        n += s->kept[i].n;
    return n;
}

static qdq_status print_placement(const quantize *q, const qdq_plan_summary *s, FILE *to,
                                  qdq_error *err)
{
    if (q->a->quant.equalize)
        fprintf(to, "\nequalized: %zu pair%s of Conv; %zu left, where it would not help\n",
                s->n_equalized, cli_plural(s->n_equalized), s->n_not_equalized);
    if (s->n_layernorms > 0)
        fprintf(to, "\nopset raised to %d: %zu LayerNormalization in single nodes fused\n",
                s->opset, s->n_layernorms);
    fprintf(to, "\nquantized: %zu tensor%s, %zu weight%s, %zu bias%s\n", s->n_tensors,
            cli_plural(s->n_tensors), s->n_weights, cli_plural(s->n_weights), s->n_biases,
            s->n_biases == 1 ? "" : "es");
    QDQ_TRY(print_counts(q, s->quantized, s->n_quantized, to, err));
    if (s->n_kept > 0) {
        fprintf(to, "\nin 8 bits before: %zu node%s\n", count_kept(s), cli_plural(count_kept(s)));
        QDQ_TRY(print_counts(q, s->kept, s->n_kept, to, err));
    }
    if (s->n_left == 0)
        return QDQ_OK;
    fprintf(to, "\nleft float: %zu node%s\n", s->n_left_float, cli_plural(s->n_left_float));
    return print_counts(q, s->left_float, s->n_left, to, err);
}

/* Rules of speed and times are those of processors with VNNI. */
static void print_cpu(const qdq_plan_summary *s, FILE *to)
{
    if (s->cpu[0] != '\0' && strcmp(s->cpu, qdq_cpu_name(QDQ_CPU_VNNI)) != 0)
        fprintf(to, "made for processor %s: the target's rules of speed were not measured there\n",
                s->cpu);
}

const char *cmd_quantize_shapes(const quantize *q)
{
    return cli_shapes_leave_open(&q->a->quant.shape.shapes, q->model) ? "open" : "fixed";
}

const char *cmd_quantize_judged(const quantize *q)
{
    const qdq_compare_result *r = q->compared;

    return r == NULL ? NULL
                     : qdq_arena_printf(&q->c->arena, "%zu sample%s%s, shapes %s", r->samples,
                                        cli_plural(r->samples),
                                        q->samples.eval != NULL      ? " of --eval"
                                        : q->samples.split.folds > 0 ? ", cross-validated"
                                        : q->samples.split.held_back ? " held back from calibration"
                                        : q->a->plan == NULL ? ", not held back from calibration"
                                                             : "",
                                        cmd_quantize_shapes(q));
}

static qdq_status print_accuracy(const quantize *q, FILE *to, qdq_error *err)
{
    const qdq_compare_result *r = q->compared;

    if (r == NULL)
        return QDQ_OK;
    const char *judged = cmd_quantize_judged(q);
    if (judged == NULL)
        return qdq_nomem(err);
    fprintf(to, "\naccuracy against the model as it came on %s\n", judged);
    QDQ_TRY(cli_outputs_print(q->c, "output", r->outputs, r->n_outputs, to, err));
    return cmd_quantize_goal_print(q, to, err);
}

static qdq_status print_sizes(const quantize *q, FILE *to, qdq_error *err)
{
    const char *const paths[] = {q->a->out.output, q->a->plan_out, q->a->quant.cache_out,
                                 q->a->report, q->a->overlay};
    int64_t before = 0, after = 0;

    QDQ_TRY(cli_weight_bytes(q->model, &before, err));
    QDQ_TRY(cli_weight_bytes(q->quantized, &after, err));
    fprintf(to, "\nweights: %" PRId64 " bytes, were %" PRId64, after, before);
    if (before > 0)
        fprintf(to, ", %.2f of that", (double)after / (double)before);
    fputc('\n', to);
    return cli_print_files(q->c, paths, QDQ_COUNT(paths), to, err);
}

qdq_status cmd_quantize_print_text(const quantize *q, FILE *to, qdq_error *err)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(q->plan);
    const qdq_engine_info *info = q->engine != NULL ? qdq_engine_get_info(q->engine) : NULL;

    fprintf(to, "%s: target %s", q->path, s->target);
    if (info != NULL)
        fprintf(to, ", engine %s %s", info->name, info->version);
    if (q->samples.split.calibrate > 0 && s->n_tensors > 0)
        fprintf(to, ", calibrated on %zu sample%s", q->samples.split.calibrate,
                cli_plural(q->samples.split.calibrate));
    fputc('\n', to);
    cli_installed_print(q->c, to);
    print_cpu(s, to);
    cli_shapes_set_print(&q->a->quant.set_shape, to);
    if (q->samples.data != NULL)
        QDQ_TRY(
            cli_data_print_shapes(q->samples.data, q->model, &q->a->quant.shape.shapes, to, err));
    QDQ_TRY(print_placement(q, s, to, err));
    QDQ_TRY(print_accuracy(q, to, err));
    cmd_quantize_speed_print(q, to);
    if (q->why != NULL) {
        fprintf(to, "\nwhy '%s':\n", q->a->why);
        QDQ_TRY(cli_why_print(q->c, q->why, to, err));
    }
    QDQ_TRY(cmd_quantize_tune_print(q, to, err));
    QDQ_TRY(print_sizes(q, to, err));
    if (q->tuned != NULL)
        cli_tune_report_verdict(q->tuned, to);
    return QDQ_OK;
}
