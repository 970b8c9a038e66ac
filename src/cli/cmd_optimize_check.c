/* cmd_optimize_check.c - optimize --check and --bisect: does the engine compute the same before and
 * after? */
#include <inttypes.h>

#include "base/fail.h"
#include "cli/cmd_optimize.h"
#include "cli/cli_files.h"

qdq_status cmd_optimize_open_check(optimize *p, qdq_error *err)
{
    const struct optimize_args *a = p->a;
    const cli_data_request request = {
        a->check, &a->data, &a->shape.shapes, NULL, (size_t)a->samples, NULL, NULL};

    QDQ_TRY(cli_shapes_check(&a->shape.shapes, &p->model, 1, err));
    QDQ_TRY(cli_shapes_pick(p->c, &a->shape.shapes, p->model, &p->shapes, err));
    QDQ_TRY(cli_data_open(p->c, &request, p->model, &p->samples, err));
    QDQ_TRY(cli_data_find_shapes(p->c, p->samples, p->model, &a->shape.shapes, &p->run_as, err));
    return cli_engine_open(p->c, &a->engine, &p->engine, err);
}

void cmd_optimize_close_check(optimize *p)
{
    qdq_same_result_free(p->verdict);
    qdq_data_close(p->samples);
    qdq_engine_close(p->engine);
    qdq_model_free(p->original);
}

static qdq_status compare(const optimize *p, const qdq_model *before, const qdq_model *after,
                          qdq_same_result **out, qdq_error *err)
{
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;

    o.threads = cli_threads(p->a->threads);
    o.shapes = p->shapes.at;
    o.n_shapes = p->shapes.n;
    o.job = &p->c->job;
    return cli_at_only_file(
        p->c, p->path,
        qdq_compare_same(p->engine, before, after, p->samples, &o, p->a->tolerance, out, err), err);
}

qdq_status cmd_optimize_check(optimize *p, qdq_error *err)
{
    return compare(p, p->original, p->model, &p->verdict, err);
}

/* --- bisect ----------------------------------------------------------------------------------- */

static qdq_status is_bad_change(void *ctx, const qdq_model *m, bool *bad, char *why,
                                size_t why_size, qdq_error *err)
{
    optimize *p = ctx;
    qdq_same_result *r;

    if (p->samples == NULL)
        return QDQ_OK; /* without data, what the verifier says is all there is */
    QDQ_TRY(compare(p, p->model, m, &r, err));
    *bad = !r->same;
    snprintf(why, why_size, "%s", r->why);
    qdq_same_result_free(r);
    return QDQ_OK;
}

static qdq_status print_json(const optimize *p, const qdq_bisect_result *r, qdq_error *err)
{
    bool change = r->found && r->number > 0;
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    qdq_json_put_text(root, "model", p->path);
    qdq_json_put_text(root, "passes", p->pipeline);
    qdq_json_put_int(root, "changes", (int64_t)r->changes);
    qdq_json_put_bool(root, "found", r->found);
    qdq_json_put_known(root, "number", r->found, r->number);
    qdq_json_put_text(root, "pass", change ? r->pass : NULL);
    qdq_json_put_text(root, "where", change ? r->where : NULL);
    qdq_json_put_text(root, "why", r->found ? r->why : NULL);
    return cli_json_print(&d, err);
}

static void print_text(const optimize *p, const qdq_bisect_result *r)
{
    const char *name = cli_is_stdout(p->path) ? "<stdin>" : p->path;

    if (!r->found)
        printf("%s: no difference after %" PRIu64 " change%s\n", name, r->changes,
               cli_plural(r->changes));
    else if (r->number == 0)
        printf("%s: differs from itself, before any change\n  why    %s\n", name, r->why);
    else
        printf("%s: change %" PRIu64 " of %" PRIu64 " makes a difference\n"
               "  pass   %s\n"
               "  where  %s\n"
               "  why    %s\n",
               name, r->number, r->changes, r->pass, r->where, r->why);
}

qdq_status cmd_optimize_bisect(optimize *p, const qdq_optimize_opts *opts, qdq_error *err)
{
    qdq_bisect_result *r;
    qdq_status st = QDQ_OK;

    QDQ_TRY(cli_at_file(p->path, qdq_model_bisect(p->model, opts, is_bad_change, p, &r, err), err));
    cli_ui_clear(&p->c->ui);
    p->c->negative = r->found;
    if (p->c->json)
        st = print_json(p, r, err);
    else
        print_text(p, r);
    qdq_free(r);
    return st;
}
