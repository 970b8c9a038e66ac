/* cli_tune_report.c - report.json of a run, for people. What a run that has not ended cannot say is
 * left out. */
#include "cli/cli_tune.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli_installed.h"
#include "cli/cli_outputs.h"

#define REPORT_MAX (16 << 20)

qdq_status cli_tune_report_text(const char *dir, char **out, qdq_error *err)
{
    char path[4096];
    size_t size = 0;
    int n = snprintf(path, sizeof path, "%s/report.json", dir);

    if (n < 0 || (size_t)n >= sizeof path)
        return qdq_fail(err, QDQ_E_IO, "%s: the name is too long", dir);
    return qdq_read_file(path, REPORT_MAX, out, &size, err);
}

qdq_status cli_tune_report_load(const char *dir, json_t **out, qdq_error *err)
{
    char *text = NULL;

    QDQ_TRY(cli_tune_report_text(dir, &text, err));
    qdq_status st = qdq_json_parse(text, strlen(text), "report.json", out, err);
    qdq_free(text);
    return st == QDQ_OK ? QDQ_OK : qdq_within(err, st, "%s", dir);
}

/* NAN: not there, or null. */
static double number(json_t *report, const char *key)
{
    json_t *v = json_object_get(report, key);

    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* A dash where there is none. */
static void add_number(cli_table *t, double x, int decimals)
{
    if (isfinite(x))
        cli_cell(t, "%.*f", decimals, x);
    else
        cli_cell(t, "-");
}

static void add_time(cli_table *t, const char *what, double ms, double speedup)
{
    if (!isfinite(ms))
        return;
    cli_cell(t, "%s", what);
    cli_cell(t, "%.4g", ms);
    cli_cell(t, "%.3f", speedup);
}

static qdq_status print_times(cli *c, json_t *report, FILE *to, qdq_error *err)
{
    cli_table t = {.arena = &c->arena, .columns = "lrr"};
    double base = number(report, "baseline_ms"), rules = number(report, "rules_ms");

    if (!isfinite(base))
        return QDQ_OK;
    CLI_CELLS(&t, "model", "ms", "speed-up");
    add_time(&t, "input", base, 1);
    if (isfinite(rules))
        add_time(&t, "rules' plan", rules, base / rules);
    /* of pairs, not of means */
    add_time(&t, "final", number(report, "final_ms"), number(report, "speedup"));
    return cli_table_print(&t, to, err);
}

/* How the table's times were taken, and what the result takes when it is run in the other way. */
static void print_shapes(json_t *report, FILE *to)
{
    const char *shapes = json_string_value(json_object_get(report, "shapes"));
    json_t *other = json_object_get(report, "other_shapes");
    const char *why = json_string_value(json_object_get(other, "not_measured"));
    const char *name = json_string_value(json_object_get(other, "shapes"));

    if (shapes == NULL)
        return;
    fprintf(to, "shapes %s", shapes);
    if (name != NULL && why == NULL)
        fprintf(
            to,
            "; with shapes %s %.4g ms, was %.4g ms: speed-up %.3f (95 %% interval %.3f to %.3f)",
            name, number(other, "final_ms"), number(other, "baseline_ms"), number(other, "speedup"),
            number(other, "ci_low"), number(other, "ci_high"));
    else if (name != NULL)
        fprintf(to, "; not measured with shapes %s: %s", name, why);
    fputc('\n', to);
}

static void print_steps(json_t *report, FILE *to)
{
    const json_int_t steps = json_integer_value(json_object_get(report, "steps"));

    if (steps > 0)
        fprintf(to, "times of step %lld of %lld, accuracy of whole sequences\n",
                (long long)json_integer_value(json_object_get(report, "timed_step")),
                (long long)steps);
}

static qdq_status print_front(cli *c, json_t *report, FILE *to, qdq_error *err)
{
    cli_table t = {.arena = &c->arena, .columns = "lrrrl"};
    const json_t *list = json_object_get(report, "pareto");
    json_t *p;
    size_t i;

    if (json_array_size(list) == 0)
        return QDQ_OK;
    CLI_CELLS(&t, "front", "ms", "SQNR", "nodes", "");
    json_array_foreach(list, i, p)
    {
        const char *file = json_string_value(json_object_get(p, "file"));
        cli_cell(&t, "%s", file != NULL ? file : "");
        cli_cell(&t, "%.4g", number(p, "ms"));
        if (isnan(number(p, "sqnr_db")))
            CLI_CELLS(&t, "-");
        else
            cli_cell(&t, "%.2f", number(p, "sqnr_db"));
        cli_cell(&t, "%.0f", number(p, "nodes"));
        cli_cell(&t, "%s", json_is_true(json_object_get(p, "dominated")) ? "dominated" : "");
    }
    return cli_table_print(&t, to, err);
}

/* Models with Q/DQ that were given: what became of each, and what of it our placements cannot
 * say. */
static qdq_status print_baselines(cli *c, json_t *report, FILE *to, qdq_error *err)
{
    cli_table t = {.arena = &c->arena, .columns = "lrrrl"};
    const json_t *list = json_object_get(report, "qdq_baselines");
    json_t *b;
    size_t i;

    if (json_array_size(list) == 0)
        return QDQ_OK;
    CLI_CELLS(&t, "Q/DQ baseline", "ms", "speed-up", "SQNR", "result");
    json_array_foreach(list, i, b)
    {
        const char *why = json_string_value(json_object_get(b, "why"));
        cli_cell(&t, "%s", json_string_value(json_object_get(b, "file")));
        add_number(&t, number(b, "ms"), 4);
        add_number(&t, number(b, "speedup"), 3);
        add_number(&t, number(b, "sqnr_db"), 2);
        cli_cell(&t, "%s%s%s", json_string_value(json_object_get(b, "result")),
                 why != NULL ? ": " : "", why != NULL ? why : "");
    }
    return cli_table_print(&t, to, err);
}

static void print_unsaid(json_t *report, FILE *to)
{
    static const char *const kinds[] = {"edges", "types", "scales", "weights", "gone", "other"};
    static const char *const words[] = {"edges",
                                        "types",
                                        "shared scales",
                                        "scales of weights",
                                        "edges of nodes that cleaning removes",
                                        "other Q/DQ"};
    json_t *b;
    size_t i;

    json_array_foreach(json_object_get(report, "qdq_baselines"), i, b)
    {
        json_t *not_expressed = json_object_get(b, "not_expressed");
        const char *between = ": ";
        for (size_t k = 0; k < QDQ_COUNT(kinds); k++) {
            if (!(number(not_expressed, kinds[k]) > 0))
                continue;
            if (*between == ':')
                fprintf(to, "%s, not expressed by placements of this target",
                        json_string_value(json_object_get(b, "file")));
            fprintf(to, "%s%.0f %s", between, number(not_expressed, kinds[k]), words[k]);
            between = ", ";
        }
        if (*between == ',')
            fputc('\n', to);
    }
}

static void print_counts(json_t *report, FILE *to)
{
    double seconds = number(report, "seconds");
    const char *state = json_string_value(json_object_get(report, "state"));
    const char *error = json_string_value(json_object_get(report, "error"));
    const char *engine = json_string_value(json_object_get(report, "engine"));
    static const struct {
        const char *key, *name;
    } counts[] = {{"regions", "regions"},   {"patterns", "patterns"},   {"groups", "groups"},
                  {"keys", "keys"},         {"trials", "trials"},       {"kept", "kept"},
                  {"rejected", "rejected"}, {"undecided", "undecided"}, {"builds", "builds"},
                  {"timings", "pairs"}};
    const char *between = "";

    if (state != NULL)
        fprintf(to, "state: %s\n", state);
    if (error != NULL)
        fprintf(to, "%s\n", error);
    if (engine != NULL)
        fprintf(to, "engine %s\n", engine);
    for (size_t i = 0; i < QDQ_COUNT(counts); i++)
        if (isfinite(number(report, counts[i].key))) {
            fprintf(to, "%s%s %.0f", between, counts[i].name, number(report, counts[i].key));
            between = ", ";
        }
    if (isfinite(seconds))
        fprintf(to, "%s%.1f s", between, seconds);
    if (*between != '\0' || isfinite(seconds))
        fputc('\n', to);
}

/* Does the engine compute what was written as the graph says? */
static void print_computed(const json_t *computed, FILE *to)
{
    const char *verdict = json_string_value(json_object_get(computed, "result"));
    const char *why = json_string_value(json_object_get(computed, "why"));
    const char *refused = json_string_value(json_object_get(computed, "refused_why"));
    const json_int_t n = json_integer_value(json_object_get(computed, "refused"));

    if (verdict != NULL && strcmp(verdict, "unknown") == 0 && why != NULL)
        fprintf(to, "unknown whether the engine computes the model correctly: %s\n", why);
    if (verdict != NULL && strcmp(verdict, "wrong") == 0 && why != NULL)
        fprintf(to, "the model without Q/DQ: %s\n", why);
    if (n > 0 && refused != NULL)
        fprintf(to, "rejected, since the engine computes %s wrongly: %lld placement%s: %s\n",
                n == 1 ? "it" : "them", (long long)n, n == 1 ? "" : "s", refused);
}

/* Of what was written, where a goal was asked of it. */
static void print_accuracy(json_t *report, FILE *to)
{
    const char *worst = json_string_value(json_object_get(report, "worst"));
    const double bound = number(report, "bound_db"), top1 = number(report, "top1"),
                 half = number(report, "half_agreement");

    if (worst == NULL)
        return;
    fprintf(to, "worst slice: %s", worst);
    if (isfinite(bound))
        fprintf(to, "; lower bound %.2f dB", bound);
    if (isfinite(top1))
        fprintf(to, "; top-1 agreement %.4f", top1);
    if (isfinite(half))
        fprintf(to, "; agreement at 0.5 %.4f", half);
    fputc('\n', to);
    if (isfinite(bound))
        cli_tell_unseen((size_t)json_integer_value(json_object_get(report, "judged_on")), to);
}

static void print_metric(json_t *metric, FILE *to)
{
    const char *name = json_string_value(json_object_get(metric, "name"));

    if (name != NULL && isfinite(number(metric, "written")))
        fprintf(to, "metric '%s': %g, of the input %g\n", name, number(metric, "written"),
                number(metric, "input"));
}

static void print_overruled(json_t *report, FILE *to)
{
    const char *between = "overruled by measurement: ";
    json_t *o;
    size_t i;

    json_array_foreach(json_object_get(report, "overruled"), i, o)
    {
        const double nodes = number(o, "nodes");
        fprintf(to, "%s%s (%s: %.0f node%s in %s)", between,
                json_string_value(json_object_get(o, "rule")),
                json_string_value(json_object_get(o, "op")), nodes, nodes == 1 ? "" : "s",
                json_string_value(json_object_get(o, "now")));
        between = ", ";
    }
    if (*between == ',')
        fputc('\n', to);
}

static void print_types(json_t *report, FILE *to)
{
    json_t *o;
    size_t i;

    json_array_foreach(json_object_get(report, "types"), i, o)
    {
        const size_t n = json_array_size(json_object_get(o, "tensors"));
        fprintf(to, "%s instead of %s: %zu tensor%s, by trial %.0f\n",
                json_string_value(json_object_get(o, "type")),
                json_string_value(json_object_get(o, "instead_of")), n, n == 1 ? "" : "s",
                number(o, "trial"));
    }
}

static void print_weights(json_t *report, FILE *to)
{
    const size_t n = json_array_size(json_object_get(report, "weights_alone"));

    if (n > 0)
        fprintf(to, "weights alone in 8 bits: %zu operator%s\n", n, n == 1 ? "" : "s");
}

static void print_forms(json_t *report, FILE *to)
{
    const size_t n = json_array_size(json_object_get(report, "at_run_time"));

    if (n > 0)
        fprintf(to, "at run time: the data of %zu operator%s\n", n, n == 1 ? "" : "s");
}

/* A line for each format. */
static void print_other_weights(json_t *report, FILE *to)
{
    const json_t *list = json_object_get(report, "other_weights");
    json_t *counts = json_object(), *o, *count;
    const char *format;
    size_t i;

    json_array_foreach(list, i, o)
    {
        format = json_string_value(json_object_get(o, "format"));
        json_object_set_new(counts, format,
                            json_integer(json_integer_value(json_object_get(counts, format)) + 1));
    }
    json_object_foreach(counts, format, count)
    {
        const json_int_t n = json_integer_value(count);
        fprintf(to, "%s: %lld operator%s\n", format, (long long)n, n == 1 ? "" : "s");
    }
    json_decref(counts);
}

static void print_failed(const json_t *failed, FILE *to)
{
    size_t i, machine = 0;
    json_t *o;

    json_array_foreach(failed, i, o)
    {
        machine += strcmp(json_string_value(json_object_get(o, "fault")), "machine") == 0;
    }
    if (i > 0)
        fprintf(to, "failed trials: %zu, %zu of them by the machine's fault\n", i, machine);
}

static void print_remarks(json_t *report, FILE *to)
{
    const char *phase = json_string_value(json_object_get(report, "phase"));
    const char *rules_why = json_string_value(json_object_get(report, "rules_why"));
    double mde = number(report, "min_detectable_gain"), sqnr = number(report, "sqnr_db"),
           saved = number(report, "saved");

    if (phase != NULL)
        fprintf(to, "phase: %s\n", phase);
    if (isfinite(saved))
        fprintf(to, "saved so far: %.1f %%\n", saved * 100);
    if (isfinite(sqnr))
        fprintf(to, "SQNR of the outputs: %.2f dB\n", sqnr);
    print_accuracy(report, to);
    print_metric(json_object_get(report, "metric"), to);
    if (rules_why != NULL)
        fprintf(to, "the rules' plan was not timed: %s\n", rules_why);
    print_overruled(report, to);
    print_types(report, to);
    print_weights(report, to);
    print_forms(report, to);
    print_other_weights(report, to);
    print_computed(json_object_get(report, "engine_check"), to);
    if (isfinite(mde))
        fprintf(to, "minimum detectable gain: %.2f %%\n", mde * 100);
    if (number(report, "crashed") > 0)
        fprintf(to, "the engine crashed, hung or ran out of memory in %.0f of %.0f candidates\n",
                number(report, "crashed"), number(report, "tried"));
    print_failed(json_object_get(report, "failed"), to);
    if (json_is_true(json_object_get(report, "resumed")))
        fputs("resumed an earlier run\n", to);
    if (json_is_true(json_object_get(report, "budget_used_up")))
        fputs("search incomplete: the budget was used up\n", to);
}

bool cli_tune_report_times(json_t *report, qdq_bench_model times[2])
{
    const double base = number(report, "baseline_ms"), final = number(report, "final_ms");

    if (!isfinite(base) || !isfinite(final))
        return false;
    times[0] = (qdq_bench_model){.median_ms = base, .p10_ms = base, .p90_ms = base};
    times[1] = (qdq_bench_model){.median_ms = final,
                                 .speedup = number(report, "speedup"),
                                 .ci_low = number(report, "ci_low"),
                                 .ci_high = number(report, "ci_high")};
    times[1].p10_ms = base / times[1].ci_high;
    times[1].p90_ms = base / times[1].ci_low;
    return true;
}

static const char *verdict_subject(const char *verdict)
{
    return strcmp(verdict, "float") == 0      ? "the float model is"
           : strcmp(verdict, "rules") == 0    ? "the rules' plan is"
           : strcmp(verdict, "baseline") == 0 ? "a Q/DQ baseline is"
                                              : "the tuned plan is";
}

void cli_tune_report_verdict(json_t *report, FILE *to)
{
    const char *verdict = json_string_value(json_object_get(report, "verdict"));
    const char *reason = json_string_value(json_object_get(report, "reason"));
    const char *why = json_string_value(json_object_get(report, "why"));

    if (verdict == NULL)
        return;
    if (reason != NULL)
        fprintf(to, "not kept: %s\n", reason);
    fprintf(to, "result: %s fastest, %.3fx (95 %%: %.3f to %.3f)", verdict_subject(verdict),
            number(report, "speedup"), number(report, "ci_low"), number(report, "ci_high"));
    if (strcmp(verdict, "float") == 0)
        fprintf(to, "; %s",
                why != NULL      ? why
                : reason != NULL ? "nothing that keeps the goal was faster"
                                 : "nothing was faster");
    else if (strcmp(verdict, "baseline") != 0 &&
             json_is_true(json_object_get(report, "placement_only")))
        fputs("; placement only: scales come from random data, --calib DATA gives real ones", to);
    fputc('\n', to);
}

qdq_status cli_tune_report_print(cli *c, json_t *report, FILE *to, qdq_error *err)
{
    cli_installed_print(c, to);
    print_counts(report, to);
    QDQ_TRY(print_times(c, report, to, err));
    print_shapes(report, to);
    print_steps(report, to);
    QDQ_TRY(print_baselines(c, report, to, err));
    print_unsaid(report, to);
    QDQ_TRY(print_front(c, report, to, err));
    print_remarks(report, to);
    return QDQ_OK;
}
