/* cmd_quantize_summary.c - what quantize did, for people and for scripts. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "cli/cli_files.h"
#include "cli/cli_installed.h"
#include "cli/cli_next.h"
#include "cli/cli_outputs.h"
#include "cli/cli_tune.h"
#include "cli/cli_verify.h"
#include "cli/cli_why.h"
#include "cli/cmd_quantize.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static void counts_json(qdq_json_out o, const qdq_plan_summary *s)
{
    qdq_json_put_int(o, "tensors", (int64_t)s->n_tensors);
    qdq_json_put_int(o, "weights", (int64_t)s->n_weights);
    qdq_json_put_int(o, "biases", (int64_t)s->n_biases);
    qdq_json_put_int(o, "dynamic", (int64_t)s->n_dynamic);
}

static void equalized_json(qdq_json_out o, const qdq_plan_summary *s)
{
    qdq_json_put_int(o, "pairs", (int64_t)s->n_equalized);
    qdq_json_put_int(o, "left", (int64_t)s->n_not_equalized);
}

static void samples_json(qdq_json_out o, const quantize *q)
{
    bool compared = q->r->compared != NULL;

    qdq_json_put_int(o, "calibration", (int64_t)q->samples.split.calibrate);
    if (q->has_statistics)
        qdq_json_put_text(o, "statistics", q->a->quant.cache);
    qdq_json_put_int(o, "sqnr", compared ? (int64_t)q->r->compared->samples : 0);
    qdq_json_put_short(o, "unseen_fraction",
                       compared && !isnan(q->r->compared->bound_db)
                           ? cli_unseen_fraction(q->r->compared->samples)
                           : (double)NAN);
    qdq_json_put_text(o, "shapes", compared ? cmd_quantize_shapes(q) : NULL);
    if (compared && q->samples.split.folds > 0)
        qdq_json_put_bool(o, "cross_validated", true);
    if (compared && q->a->plan == NULL && !q->has_statistics)
        qdq_json_put_bool(o, "held_back", q->samples.split.held_out);
    else /* neither a plan nor statistics record what they were calibrated on */
        qdq_json_put_null(o, "held_back");
}

static void operators_json(qdq_json_out o, const qdq_plan_count *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        qdq_json_put_int(o, counts[i].what, (int64_t)counts[i].n);
}

static void left_json(qdq_json_out list, const qdq_plan_summary *s)
{
    for (size_t i = 0; i < s->n_left; i++) {
        qdq_json_out o = qdq_json_put_object(list, NULL);
        qdq_json_put_text(o, "reason", s->left_float[i].what);
        qdq_json_put_int(o, "nodes", (int64_t)s->left_float[i].n);
    }
}

static void weights_json(qdq_json_out to, const quantize *q)
{
    qdq_json_put_int(to, "before", (int64_t)qdq_model_weight_bytes(q->model));
    qdq_json_put_int(to, "after", (int64_t)qdq_model_weight_bytes(q->quantized));
}

static void rounded_json(qdq_json_out to, const qdq_plan_summary *s)
{
    for (size_t i = 0; i < s->n_rounded; i++) {
        const qdq_plan_rounding *r = &s->rounded[i];
        const qdq_json_out o = qdq_json_put_object(to, NULL);

        qdq_json_put_text(o, "weight", r->weight);
        qdq_json_put_bool(o, "accepted", r->accepted);
        qdq_json_put_real(o, "gain_db", r->gain_db);
        qdq_json_put_some(o, "reason", r->reason);
    }
}

/* `but`: as for cli_files_json(). */
static void summary_json(const quantize *q, const char *but, qdq_json_doc *d)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(q->plan);
    const qdq_engine_info *info = q->engine != NULL ? qdq_engine_get_info(q->engine) : NULL;
    qdq_json_out root = qdq_json_object(d);

    qdq_json_put_text(root, "model", q->path);
    qdq_json_put_text(root, "output", q->a->out.output);
    if (q->a->quant.set_shape.n > 0)
        cli_shapes_set_json(qdq_json_put_list(root, "set_shape"), &q->a->quant.set_shape);
    qdq_json_put_text(root, "target", s->target);
    if (q->c->installed != NULL)
        qdq_json_put_text(root, "installed_target", q->c->installed);
    qdq_json_put_some(root, "cpu", s->cpu);
    qdq_json_put_text(root, "engine", info != NULL ? info->name : NULL);
    qdq_json_put_text(root, "engine_version", info != NULL ? info->version : NULL);
    qdq_json_put_bool(root, "placement_only", s->placement_only);
    samples_json(qdq_json_put_object(root, "samples"), q);
    operators_json(qdq_json_put_object(root, "quantized"), s->quantized, s->n_quantized);
    operators_json(qdq_json_put_object(root, "kept"), s->existing, s->n_existing);
    left_json(qdq_json_put_list(root, "left_float"), s);
    counts_json(qdq_json_put_object(root, "plan"), s);
    if (q->a->quant.equalize)
        equalized_json(qdq_json_put_object(root, "equalized"), s);
    if (s->n_layernorms > 0)
        qdq_json_put_int(root, "fused_layernorms", (int64_t)s->n_layernorms);
    if (s->n_rounded > 0)
        rounded_json(qdq_json_put_list(root, "gptq"), s);
    if (q->r->compared != NULL)
        cli_outputs_json(qdq_json_put_list(root, "outputs"), q->r->compared->outputs,
                         q->r->compared->n_outputs);
    else
        qdq_json_put_null(root, "outputs");
    weights_json(qdq_json_put_object(root, "weight_bytes"), q);
    cmd_quantize_goal_json(q, root);
    cmd_quantize_speed_json(q, root);
    if (q->r->engine_check != NULL)
        cli_verify_json(qdq_json_put_object(root, "engine_check"), q->r->engine_check,
                        qdq_engine_get_info(q->engine),
                        q->a->quant.eval != NULL ? q->a->quant.eval : q->a->quant.calib);
    cli_data_json_shapes(&q->calibrated_as, qdq_json_put_list(root, "run_as"));
    if (q->why != NULL)
        cli_why_json(qdq_json_put_list(root, "why"), q->why);
    if (q->tuned != NULL)
        qdq_json_put(root, "autotune", json_incref(q->tuned));
    cli_files_json(qdq_json_put_list(root, "files"), q->c, but);
}

qdq_status cmd_quantize_json(const quantize *q, const char *path, qdq_error *err)
{
    qdq_json_doc d = {0};

    summary_json(q, path, &d);
    return cli_json_write(&d, path, q->a->out.force, err);
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

    for (size_t i = 0; i < s->n_existing; i++)
        n += s->existing[i].n;
    return n;
}

static void print_rounded(const qdq_plan_summary *s, FILE *to)
{
    double least = 0, most = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->n_rounded; i++) {
        const double gain = s->rounded[i].gain_db;

        if (!s->rounded[i].accepted)
            continue;
        least = n == 0 || gain < least ? gain : least;
        most = n == 0 || gain > most ? gain : most;
        n++;
    }
    fprintf(to, "gptq: %zu of %zu weight%s", n, s->n_rounded, cli_plural(s->n_rounded));
    if (n == 1)
        fprintf(to, "; held-out rows lose %.1f dB less", least);
    else if (n > 1)
        fprintf(to, "; held-out rows lose %.1f to %.1f dB less", least, most);
    fprintf(to, "\n");
}

/* A regular expression may match more than is meant. */
static void print_excluded(const quantize *q, const qdq_plan_summary *s, FILE *to)
{
    static const char reason[] = ": excluded by the user";
    size_t patterns = 0, nodes = 0;

    for (size_t i = 0; i < q->a->quant.exclude.n; i++)
        patterns += q->a->quant.exclude.at[i][0] != '=';
    for (size_t i = 0; i < s->n_left; i++) {
        const char *what = s->left_float[i].what, *colon = strrchr(what, ':');

        nodes += colon != NULL && strcmp(colon, reason) == 0 ? s->left_float[i].n : 0;
    }
    if (patterns > 0)
        fprintf(to, "note: --exclude matches %zu node%s; '=NAME' excludes a single one\n", nodes,
                cli_plural(nodes));
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
    if (s->n_dynamic > 0 && q->tuned == NULL) /* its report counts operators */
        fprintf(to, "at run time: the data of %zu product%s\n", s->n_dynamic,
                cli_plural(s->n_dynamic));
    QDQ_TRY(print_counts(q, s->quantized, s->n_quantized, to, err));
    if (s->n_rounded > 0)
        print_rounded(s, to);
    if (s->n_existing > 0) {
        fprintf(to, "\nin 8 bits before: %zu node%s\n", count_kept(s), cli_plural(count_kept(s)));
        QDQ_TRY(print_counts(q, s->existing, s->n_existing, to, err));
    }
    if (s->n_left == 0)
        return QDQ_OK;
    fprintf(to, "\nleft float: %zu node%s\n", s->n_left_float, cli_plural(s->n_left_float));
    QDQ_TRY(print_counts(q, s->left_float, s->n_left, to, err));
    print_excluded(q, s, to);
    return QDQ_OK;
}

/* Rules of speed were measured with VNNI, and with AVX2 alone. */
static void print_cpu(const qdq_plan_summary *s, FILE *to)
{
    if (s->cpu[0] != '\0' && strcmp(s->cpu, qdq_cpu_name(QDQ_CPU_VNNI)) != 0 &&
        strcmp(s->cpu, qdq_cpu_name(QDQ_CPU_AVX2)) != 0)
        fprintf(to, "made for processor %s: the target's rules of speed were not measured there\n",
                s->cpu);
}

const char *cmd_quantize_shapes(const quantize *q)
{
    return cli_shapes_leave_open(&q->a->quant.shape.shapes, q->model) ? "open" : "fixed";
}

const char *cmd_quantize_evaluated_on(const quantize *q)
{
    const qdq_compare_result *r = q->r->compared;
    const char *steps = "";

    if (q->a->quant.state.states.n > 0)
        steps = qdq_arena_printf(&q->c->arena, " of %zu steps",
                                 qdq_data_steps(cli_samples_eval(&q->samples)));
    return r == NULL || steps == NULL
               ? NULL
               : qdq_arena_printf(&q->c->arena, "%zu %ssample%s%s%s, shapes %s", r->samples,
                                  cmd_quantize_is_real(q->a) ? "" : "random ",
                                  cli_plural(r->samples), steps,
                                  !cmd_quantize_is_real(q->a)  ? ""
                                  : q->samples.eval != NULL    ? " of --eval"
                                  : q->samples.split.folds > 0 ? ", cross-validated"
                                  : q->samples.split.held_out  ? " held out"
                                  : q->a->plan == NULL         ? ", not held out"
                                                               : "",
                                  cmd_quantize_shapes(q));
}

/* Do the figures say nothing, since the engine that gave them computes the model wrongly? */
static bool is_misjudged(const qdq_ptq_result *r)
{
    bool found = false;

    for (size_t i = 0; i < r->n_warnings; i++)
        found |= r->warnings[i].fact == QDQ_PTQ_ENGINE_WRONG;
    return found;
}

/* Where samples round weights, few of them leave even fewer for the bound of a goal. */
static void print_few(const quantize *q, FILE *to)
{
    enum { FEW = 4 };
    const qdq_split *s = &q->samples.split;
    const size_t n = q->r->compared->samples;

    if (q->r->goal != NULL && cmd_quantize_is_real(q->a) && s->held_out && s->folds == 0 && n < FEW)
        fprintf(to, "the bound rests on %zu held-out sample%s: more samples for %s raise it\n", n,
                cli_plural(n), q->samples.eval != NULL ? "--eval" : "--calib");
}

static qdq_status print_accuracy(const quantize *q, FILE *to, qdq_error *err)
{
    const qdq_compare_result *r = q->r->compared;

    if (r == NULL)
        return QDQ_OK;
    const char *evaluated_on = cmd_quantize_evaluated_on(q);
    QDQ_NEED(evaluated_on != NULL, err);
    fprintf(to, "\naccuracy against the input model on %s\n", evaluated_on);
    /* else a warning says it */
    if (!cmd_quantize_is_real(q->a) && !qdq_plan_get_summary(q->plan)->placement_only)
        fputs("random data shows the placement only: --calib DATA measures accuracy\n", to);
    QDQ_TRY(cli_outputs_print(q->c, "output", r->outputs, r->n_outputs, to, err));
    if (is_misjudged(q->r)) {
        fputs("accuracy is unknown: the engine computes the model wrongly\n", to);
        return QDQ_OK;
    }
    const cli_evidence on = {cli_samples_eval(&q->samples), !cmd_quantize_is_real(q->a)};
    QDQ_TRY(cli_outputs_evaluate(q->c, r->outputs, r->n_outputs, &on, to, err));
    if (q->r->goal != NULL)
        cli_outputs_explain_bound(r->outputs, r->n_outputs,
                                  cli_quant_names_goal(&q->a->quant) ? q->a->quant.min_sqnr.value
                                                                     : QDQ_DEFAULT_MIN_SQNR,
                                  to);
    if (isfinite(r->bound_db))
        cli_tell_unseen(r->samples, to);
    print_few(q, to);
    return cmd_quantize_goal_print(q, to, err);
}

static qdq_status print_sizes(const quantize *q, FILE *to, qdq_error *err)
{
    const uint64_t before = qdq_model_weight_bytes(q->model),
                   after = qdq_model_weight_bytes(q->quantized);

    fprintf(to, "\nweights: %" PRIu64 " bytes, were %" PRIu64, after, before);
    if (before > 0)
        fprintf(to, ", %.2f of that", (double)after / (double)before);
    fputc('\n', to);
    return cli_files_print(q->c, NULL, 0, to, err);
}

static qdq_status print_head(const quantize *q, const qdq_plan_summary *s, FILE *to, qdq_error *err)
{
    const qdq_engine_info *info = q->engine != NULL ? qdq_engine_get_info(q->engine) : NULL;

    fprintf(to, "%s: target %s", q->path, s->target);
    if (info != NULL)
        fprintf(to, ", engine %s %s", info->name, info->version);
    if (q->has_statistics && s->n_tensors > 0)
        fprintf(to, ", ranges from the statistics in %s", q->a->quant.cache);
    if (q->samples.split.calibrate > 0 && s->n_tensors > 0)
        fprintf(to, ", calibrated on %zu sample%s", q->samples.split.calibrate,
                cli_plural(q->samples.split.calibrate));
    fputc('\n', to);
    cli_installed_print(q->c, to);
    print_cpu(s, to);
    cli_shapes_set_print(&q->a->quant.set_shape, to);
    cli_data_print_shapes(&q->calibrated_as, to);
    return print_placement(q, s, to, err);
}

qdq_status cmd_quantize_print_plan(const quantize *q, qdq_error *err)
{
    QDQ_TRY(print_head(q, qdq_plan_get_summary(q->plan), stdout, err));
    fputs("\nnothing was written (--dry-run; --json prints the plan)\n", stdout);
    return QDQ_OK;
}

/* Is an open dimension other than 1? */
static bool needs_shape(const cli_run_shape *s)
{
    bool needs = false;

    for (int d = 0; d < s->io.rank && d < s->as.rank; d++)
        needs = needs || (s->io.dim[d] < 0 && s->as.dim[d] != 1);
    return needs;
}

/* The shapes of inputs that `bench` would run with others. */
static qdq_status list_shapes(const quantize *q, cli_shapes *out, qdq_error *err)
{
    for (size_t i = 0; i < q->evaluated_as.n; i++)
        if (needs_shape(&q->evaluated_as.at[i]))
            QDQ_NEED(QDQ_PUSH(&q->c->arena, out, q->evaluated_as.at[i].as), err);
    return QDQ_OK;
}

/* What to do with the result. */
static qdq_status print_next(const quantize *q, FILE *to, qdq_error *err)
{
    const cli_quant_args *a = &q->a->quant;
    const qdq_compare_result *r = q->r->compared;
    const char *data = a->eval != NULL ? a->eval : a->calib;
    cli_shape_args sample = {{NULL, 0, 0}};
    cli_next next = {.before = q->path,
                     .after = q->a->out.output,
                     .target = q->target,
                     .engine = &q->a->engine,
                     .pixels = &a->data,
                     .state = &a->state,
                     .shape = &a->shape,
                     .sample = &sample,
                     .threads = q->a->threads};

    if (cli_is_stdout(q->a->out.output) || q->tuned != NULL)
        return QDQ_OK;
    if (r != NULL && data != NULL &&
        cli_outputs_below(r->outputs, r->n_outputs, QDQ_DEFAULT_MIN_SQNR) != NULL) {
        cli_next_compare(&next, data, to);
        return QDQ_OK;
    }
    if (a->set_shape.n > 0)
        sample.shapes = a->set_shape;
    else if (a->state.states.n == 0)
        QDQ_TRY(list_shapes(q, &sample.shapes, err));
    if (a->state.states.n > 0 || sample.shapes.n > 1) { /* shorter than many shapes */
        next.data = data;
        sample.shapes.n = 0;
    }
    cli_next_bench(&next, to);
    return QDQ_OK;
}

static bool has_quantized(const quantize *q)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(q->plan);

    return s->n_tensors + s->n_weights + s->n_biases + s->n_existing > 0;
}

qdq_status cmd_quantize_print_text(const quantize *q, FILE *to, qdq_error *err)
{
    QDQ_TRY(print_head(q, qdq_plan_get_summary(q->plan), to, err));
    QDQ_TRY(print_accuracy(q, to, err));
    if (has_quantized(q)) /* else a warning says that nothing was, and whether it is slower */
        cmd_quantize_speed_print(q, to);
    if (q->why != NULL) {
        fprintf(to, "\nwhy '%s':\n", q->a->why);
        QDQ_TRY(cli_why_print(q->c, q->why, to, err));
    }
    QDQ_TRY(cmd_quantize_tune_print(q, to, err));
    QDQ_TRY(print_sizes(q, to, err));
    if (q->tuned != NULL)
        cli_tune_report_verdict(q->tuned, to);
    return has_quantized(q) ? print_next(q, to, err) : QDQ_OK;
}
