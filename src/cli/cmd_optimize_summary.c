/* cmd_optimize_summary.c - what optimize did, for people and for scripts. */
#include <inttypes.h>

#include "base/fail.h"
#include "cli/cli_files.h"
#include "cli/cli_outputs.h"
#include "cli/cmd_optimize.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static void pair_json(qdq_json_out o, uint64_t before, uint64_t after)
{
    qdq_json_put_int(o, "before", (int64_t)before);
    qdq_json_put_int(o, "after", (int64_t)after);
}

static void refused_json(qdq_json_out list, const qdq_pass_report *r)
{
    for (size_t i = 0; i < r->n_refusals; i++) {
        const qdq_refusal *f = &r->refusals[i];

        qdq_json_out o = qdq_json_put_object(list, NULL);
        qdq_json_put_text(o, "reason", f->reason);
        qdq_json_put_int(o, "candidates", (int64_t)f->n);
        qdq_json_put_texts(o, "examples", f->examples, f->n_examples);
    }
}

static void passes_json(qdq_json_out list, const qdq_optimize_report *r)
{
    for (size_t i = 0; i < r->n_passes; i++) {
        const qdq_pass_report *pass = &r->passes[i];

        qdq_json_out o = qdq_json_put_object(list, NULL);
        qdq_json_put_text(o, "pass", pass->pass);
        qdq_json_put_int(o, "changes", (int64_t)pass->changes);
        qdq_json_put_int(o, "nodes", pass->nodes);
        qdq_json_put_int(o, "bytes", pass->bytes);
        qdq_json_put_short(o, "seconds", pass->seconds);
        refused_json(qdq_json_put_list(o, "refused"), pass);
    }
}

static void check_json(qdq_json_out to, const optimize *p)
{
    const qdq_same_result *v = p->verdict;
    const qdq_compare_result *r = v->compared;

    qdq_json_put_bool(to, "same", v->same);
    qdq_json_put_bool(to, "proven", v->same && v->proven);
    qdq_json_put_text(to, "why", v->same ? NULL : v->why);
    qdq_json_put_int(to, "samples", r != NULL ? (int64_t)r->samples : 0);
    cli_outputs_json(qdq_json_put_list(to, "outputs"), r != NULL ? r->outputs : NULL,
                     r != NULL ? r->n_outputs : 0);
    cli_data_json_shapes(&p->run_as, qdq_json_put_list(to, "run_as"));
}

static void report_json(qdq_json_doc *d, const optimize *p)
{
    const qdq_optimize_report *r = p->report;
    qdq_json_out root = qdq_json_object(d);

    qdq_json_put_text(root, "model", p->path);
    qdq_json_put_text(root, "output", p->a->out.output);
    qdq_json_put_text(root, "target", p->a->target);
    if (p->a->set_shape.n > 0)
        cli_shapes_set_json(qdq_json_put_list(root, "set_shape"), &p->a->set_shape);
    qdq_json_put_text(root, "passes", p->pipeline);
    qdq_json_put_int(root, "rounds", r->rounds);
    qdq_json_put_bool(root, "settled", r->settled);
    qdq_json_put_int(root, "changes", (int64_t)r->changes);
    qdq_json_put_short(root, "seconds", r->seconds);
    pair_json(qdq_json_put_object(root, "nodes"), r->nodes_before, r->nodes_after);
    pair_json(qdq_json_put_object(root, "constant_bytes"), r->bytes_before, r->bytes_after);
    pair_json(qdq_json_put_object(root, "quantize"), r->q_before, r->q_after);
    pair_json(qdq_json_put_object(root, "dequantize"), r->dq_before, r->dq_after);
    passes_json(qdq_json_put_list(root, "by_pass"), r);
    if (p->samples != NULL)
        check_json(qdq_json_put_object(root, "check"), p);
    else
        qdq_json_put_null(root, "check");
    qdq_json_out files = qdq_json_put_list(root, "files");
    if (!p->c->negative)
        cli_files_json(files, p->c, p->a->report);
}

qdq_status cmd_optimize_json(const optimize *p, const char *path, qdq_error *err)
{
    qdq_json_doc d = {0};

    report_json(&d, p);
    return cli_json_write(&d, path, p->a->out.force, err);
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
    const char *text = p->verdict->same ? "the same" : "not the same";

    if (p->verdict->same && !p->verdict->proven)
        return unproven;
    if (unproven[0] != '\0')
        text = qdq_arena_printf(&p->c->arena, "%s, %s", text, unproven);
    return text != NULL ? text : "";
}

static qdq_status print_check(const optimize *p, FILE *to, qdq_error *err)
{
    const qdq_compare_result *r = p->verdict != NULL ? p->verdict->compared : NULL;

    if (r == NULL)
        return QDQ_OK;
    fprintf(to, "\nagainst the original on %zu sample%s: %s\n", r->samples, cli_plural(r->samples),
            verdict_text(p, r));
    cli_data_print_shapes(&p->run_as, to);
    return cli_outputs_print(p->c, "output", r->outputs, r->n_outputs, to, err);
}

qdq_status cmd_optimize_print_text(const optimize *p, FILE *to, qdq_error *err)
{
    print_totals(p, to);
    cli_shapes_set_print(&p->a->set_shape, to);
    QDQ_TRY(print_changes(p, to, err));
    QDQ_TRY(print_refusals(p, to, err));
    QDQ_TRY(print_check(p, to, err));
    if (p->c->negative)
        return QDQ_OK;
    fputc('\n', to);
    return cli_files_print(p->c, NULL, 0, to, err);
}
