/* cli_verify.c - runs the engine check with ONNX Runtime as reference, prints its verdict. */
#include "cli/cli_verify.h"

#include <math.h>
#include <string.h>

qdq_engine *cli_verify_reference(cli *c, const cli_engine_args *a, const qdq_engine *e)
{
    const cli_engine_args ort = {.engine = "ort", .ort_library = a->ort_library};
    qdq_engine *out = NULL;

    if ((qdq_engine_get_info(e)->capabilities & QDQ_RUNS_AS_WRITTEN) != 0)
        return NULL;
    return cli_engine_open(c, &ort, &out, NULL) == QDQ_OK ? out : NULL;
}

qdq_status cli_verify(cli *c, const cli_engine_args *a, qdq_engine *e, const qdq_model *m,
                      qdq_data *d, const qdq_verify_opts *o, qdq_verify_result **out,
                      qdq_error *err)
{
    qdq_verify_opts own = *o;
    qdq_engine *reference = cli_verify_reference(c, a, e);

    own.reference = reference;
    qdq_status st = qdq_verify_engine(m, e, d, &own, out, err);
    qdq_engine_close(reference);
    return st;
}

void cli_verify_print(const qdq_verify_result *r, const qdq_engine_info *info, const char *data,
                      FILE *to)
{
    static const char *const level[] = {"warning: ", "", "error: "};
    char engine[120], text[2500];

    snprintf(engine, sizeof engine, "%.40s %.60s", info->name, info->version);
    fprintf(to, "%s%s\n", level[r->verdict], qdq_verify_text(r, engine, data, text, sizeof text));
}

void cli_verify_json(qdq_json_out root, const qdq_verify_result *r, const qdq_engine_info *info,
                     const char *data)
{
    qdq_json_put_text(root, "engine", info->name);
    qdq_json_put_text(root, "version", info->version);
    qdq_json_put_text(root, "result", qdq_verify_verdict_name(r->verdict));
    qdq_json_put_text(root, "reference", r->reference);
    qdq_json_put_text(root, "data", data);
    qdq_json_put_int(root, "n_samples", (int64_t)r->samples);
    qdq_json_put_bool(root, "open_dims", r->open);
    qdq_json_put_text(root, "output", r->output);
    qdq_json_put_known(root, "axis", r->axis >= 0, r->axis);
    qdq_json_put_known(root, "index", r->axis >= 0, r->index);
    qdq_json_put_short(root, "agreement_db", r->sqnr_db);
    qdq_json_put_bool(root, "equal", isinf(r->sqnr_db) && r->sqnr_db > 0);
    qdq_json_put_short(root, "engine_db", r->engine_db);
    qdq_json_put_short(root, "reference_db", r->reference_db);
    qdq_json_put_text(root, "op", r->op);
    qdq_json_put_text(root, "node", r->node);
    qdq_json_put_text(root, "form", r->form);
    qdq_json_put_bool(root, "saturates", r->saturates);
    qdq_json_put_some(root, "not_compared", r->not_compared);
    qdq_json_put_text(root, "why", r->why);
}
