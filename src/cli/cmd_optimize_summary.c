/* cmd_optimize_summary.c - what optimize did, for people and for scripts. */
#include <inttypes.h>

#include "base/fail.h"
#include "cli/cli_outputs.h"
#include "cli/cmd_optimize.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *pair_json(cli_json *j, uint64_t before, uint64_t after)
{
    json_t *o = json_object();

    cli_json_set(j, o, "before", json_integer((json_int_t)before));
    cli_json_set(j, o, "after", json_integer((json_int_t)after));
    return o;
}

static json_t *refused_json(cli_json *j, const qdq_pass_report *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_refusals; i++) {
        const qdq_refusal *f = &r->refusals[i];
        json_t *o = json_object();
        json_t *examples = json_array();

        for (size_t k = 0; k < f->n_examples; k++)
            cli_json_add(j, examples, cli_json_text(f->examples[k]));
        cli_json_set(j, o, "reason", cli_json_text(f->reason));
        cli_json_set(j, o, "candidates", json_integer((json_int_t)f->n));
        cli_json_set(j, o, "examples", examples);
        cli_json_add(j, list, o);
    }
    return list;
}

static json_t *passes_json(cli_json *j, const qdq_optimize_report *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_passes; i++) {
        const qdq_pass_report *pass = &r->passes[i];
        json_t *o = json_object();

        cli_json_set(j, o, "pass", json_string(pass->pass));
        cli_json_set(j, o, "changes", json_integer((json_int_t)pass->changes));
        cli_json_set(j, o, "nodes", json_integer(pass->nodes));
        cli_json_set(j, o, "bytes", json_integer(pass->bytes));
        cli_json_set(j, o, "seconds", cli_json_real(pass->seconds));
        cli_json_set(j, o, "refused", refused_json(j, pass));
        cli_json_add(j, list, o);
    }
    return list;
}

static qdq_status check_json(cli_json *j, const optimize *p, json_t *to, qdq_error *err)
{
    const qdq_same_result *v = &p->verdict;
    const qdq_compare_result *r = v->compared;
    json_t *shapes = json_array();

    cli_json_set(j, to, "same", json_boolean(v->same));
    cli_json_set(j, to, "proven", json_boolean(v->same && v->proven));
    cli_json_set(j, to, "why", v->same ? json_null() : cli_json_text(v->why));
    cli_json_set(j, to, "samples", json_integer(r != NULL ? (json_int_t)r->samples : 0));
    cli_json_set(j, to, "outputs",
                 r != NULL ? cli_outputs_json(j, r->outputs, r->n_outputs) : json_array());
    qdq_status st = cli_data_json_shapes(p->samples, p->model, &p->a->shape.shapes, j, shapes, err);
    cli_json_set(j, to, "run_as", shapes);
    return st;
}

static qdq_status report_json(cli_json *j, const optimize *p, json_t **out, qdq_error *err)
{
    const qdq_optimize_report *r = p->report;
    json_t *root = json_object();
    json_t *files = json_array();
    json_t *check = p->samples != NULL ? json_object() : json_null();
    qdq_status st = p->samples != NULL ? check_json(j, p, check, err) : QDQ_OK;

    cli_json_set(j, root, "model", cli_json_text(p->path));
    cli_json_set(j, root, "output", cli_json_text(p->a->out.output));
    cli_json_set(j, root, "target",
                 p->a->target != NULL ? cli_json_text(p->a->target) : json_null());
    if (p->a->set_shape.n > 0)
        cli_json_set(j, root, "set_shape", cli_shapes_set_json(&p->a->set_shape, j));
    cli_json_set(j, root, "passes", cli_json_text(p->pipeline));
    cli_json_set(j, root, "rounds", json_integer(r->rounds));
    cli_json_set(j, root, "settled", json_boolean(r->settled));
    cli_json_set(j, root, "changes", json_integer((json_int_t)r->changes));
    cli_json_set(j, root, "seconds", cli_json_real(r->seconds));
    cli_json_set(j, root, "nodes", pair_json(j, r->nodes_before, r->nodes_after));
    cli_json_set(j, root, "constant_bytes", pair_json(j, r->bytes_before, r->bytes_after));
    cli_json_set(j, root, "quantize", pair_json(j, r->q_before, r->q_after));
    cli_json_set(j, root, "dequantize", pair_json(j, r->dq_before, r->dq_after));
    cli_json_set(j, root, "by_pass", passes_json(j, r));
    cli_json_set(j, root, "check", check);
    if (!p->c->negative)
        cli_json_add_files(j, files, p->a->out.output);
    cli_json_set(j, root, "files", files);
    if (st != QDQ_OK)
        json_decref(root);
    else
        *out = root;
    return st;
}

qdq_status cmd_optimize_print_json(const optimize *p, qdq_error *err)
{
    cli_json j = {false};
    json_t *root;

    QDQ_TRY(report_json(&j, p, &root, err));
    return cli_json_print(&j, root, err);
}

qdq_status cmd_optimize_write_json(const optimize *p, qdq_error *err)
{
    cli_json j = {false};
    json_t *root;

    QDQ_TRY(report_json(&j, p, &root, err));
    return cli_json_write(&j, root, p->a->report, p->a->out.force, err);
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_totals(const optimize *p, FILE *to)
{
    const qdq_optimize_report *r = p->report;

    fprintf(to, "%s: passes %s", cli_is_stdout(p->path) ? "<stdin>" : p->path, p->passes);
    if (p->a->target != NULL)
        fprintf(to, ", target %s", p->a->target);
    fprintf(to, "\n\n%" PRIu64 " change%s in %d round%s, %.3g s\n", r->changes,
            cli_plural(r->changes), r->rounds, cli_plural((size_t)r->rounds), r->seconds);
    fprintf(to, "nodes: %zu, were %zu\n", r->nodes_after, r->nodes_before);
    fprintf(to, "constants: %" PRIu64 " bytes, were %" PRIu64 "\n", r->bytes_after,
            r->bytes_before);
    if (r->q_before + r->q_after + r->dq_before + r->dq_after > 0)
        fprintf(to, "Q/DQ: %zu and %zu, were %zu and %zu\n", r->q_after, r->dq_after, r->q_before,
                r->dq_before);
}

static qdq_status print_changes(const optimize *p, FILE *to, qdq_error *err)
{
    const qdq_optimize_report *r = p->report;
    cli_table t = {.arena = &p->c->arena, .columns = "rlrrr"};

    for (size_t i = 0; i < r->n_passes; i++) {
        const qdq_pass_report *pass = &r->passes[i];

        if (pass->changes == 0)
            continue;
        cli_cell(&t, "%6" PRIu64, pass->changes);
        cli_cell(&t, "%s", pass->pass);
        cli_cell(&t, "%+" PRId64 " nodes", pass->nodes);
        cli_cell(&t, "%+" PRId64 " bytes", pass->bytes);
        cli_cell(&t, "%.3f ms", pass->seconds * 1e3);
    }
    if (t.cells.n == 0)
        return QDQ_OK;
    fputs("\nchanged\n", to);
    return cli_table_print(&t, to, err);
}

static qdq_status print_refusals(const optimize *p, FILE *to, qdq_error *err)
{
    const qdq_optimize_report *r = p->report;
    cli_table t = {.arena = &p->c->arena, .columns = "rll"};

    for (size_t i = 0; i < r->n_passes; i++)
        for (size_t k = 0; k < r->passes[i].n_refusals; k++) {
            const qdq_refusal *f = &r->passes[i].refusals[k];

            cli_cell(&t, "%6zu", f->n);
            cli_cell(&t, "%s: %s", r->passes[i].pass, f->reason);
            cli_cell(&t, "%s%s", f->n > 1 ? "as " : "", f->n_examples > 0 ? f->examples[0] : "");
        }
    if (t.cells.n == 0)
        return QDQ_OK;
    fputs("\nrefused\n", to);
    return cli_table_print(&t, to, err);
}

static const char *verdict_text(const optimize *p, const qdq_compare_result *r)
{
    const char *unproven = cli_outputs_unproven(p->c, r->outputs, r->n_outputs);
    const char *text = p->verdict.same ? "the same" : "not the same";

    if (p->verdict.same && !p->verdict.proven)
        return unproven;
    if (unproven[0] != '\0')
        text = qdq_arena_printf(&p->c->arena, "%s, %s", text, unproven);
    return text != NULL ? text : "";
}

static qdq_status print_check(const optimize *p, FILE *to, qdq_error *err)
{
    const qdq_compare_result *r = p->verdict.compared;

    if (r == NULL)
        return QDQ_OK;
    fprintf(to, "\nagainst the original on %zu sample%s: %s\n", r->samples, cli_plural(r->samples),
            verdict_text(p, r));
    QDQ_TRY(cli_data_print_shapes(p->samples, p->model, &p->a->shape.shapes, to, err));
    return cli_outputs_print(p->c, "output", r->outputs, r->n_outputs, to, err);
}

qdq_status cmd_optimize_print_text(const optimize *p, FILE *to, qdq_error *err)
{
    const char *const paths[] = {p->a->out.output, p->a->report};

    print_totals(p, to);
    cli_shapes_set_print(&p->a->set_shape, to);
    QDQ_TRY(print_changes(p, to, err));
    QDQ_TRY(print_refusals(p, to, err));
    QDQ_TRY(print_check(p, to, err));
    if (p->c->negative)
        return QDQ_OK;
    fputc('\n', to);
    return cli_print_files(p->c, paths, QDQ_COUNT(paths), to, err);
}
