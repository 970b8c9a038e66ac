/* cli_verify.c - see the header. */
#include "cli/cli_verify.h"

#include <math.h>
#include <string.h>

#include "cli/cli_ui.h"

/* Where there is none, the verdict says so. */
static qdq_engine *open_reference(cli *c, const cli_engine_args *a, const qdq_engine *e)
{
    const char *name = qdq_engine_get_info(e)->name;
    const cli_engine_args ort = {.engine = "ort", .ort_library = a->ort_library};
    qdq_engine *out = NULL;

    if (strcmp(name, "ort") == 0 || strcmp(name, "sim") == 0)
        return NULL;
    return cli_engine_open(c, &ort, &out, NULL) == QDQ_OK ? out : NULL;
}

qdq_status cli_verify(cli *c, const cli_engine_args *a, qdq_engine *e, const qdq_model *m,
                      qdq_data *d, const qdq_verify_opts *o, qdq_verify_result *out, qdq_error *err)
{
    qdq_verify_opts own = *o;
    qdq_engine *reference = open_reference(c, a, e);

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

json_t *cli_verify_json(cli_json *j, const qdq_verify_result *r, const qdq_engine_info *info,
                        const char *data)
{
    json_t *root = json_object();

    cli_json_set(j, root, "engine", cli_json_text(info->name));
    cli_json_set(j, root, "version", cli_json_text(info->version));
    cli_json_set(j, root, "result", json_string(qdq_verify_verdict_name(r->verdict)));
    cli_json_set(j, root, "reference", cli_json_text(r->reference));
    cli_json_set(j, root, "data", cli_json_text(data));
    cli_json_set(j, root, "n_samples", json_integer((json_int_t)r->samples));
    cli_json_set(j, root, "open_dims", json_boolean(r->open));
    cli_json_set(j, root, "output", cli_json_text(r->output));
    cli_json_set(j, root, "axis", r->axis >= 0 ? json_integer(r->axis) : json_null());
    cli_json_set(j, root, "index", r->axis >= 0 ? json_integer((json_int_t)r->index) : json_null());
    cli_json_set(j, root, "agreement_db", cli_json_real(r->sqnr_db));
    cli_json_set(j, root, "equal", json_boolean(isinf(r->sqnr_db) && r->sqnr_db > 0));
    cli_json_set(j, root, "engine_db", cli_json_real(r->engine_db));
    cli_json_set(j, root, "reference_db", cli_json_real(r->reference_db));
    cli_json_set(j, root, "op", cli_json_text(r->op));
    cli_json_set(j, root, "node", cli_json_text(r->node));
    cli_json_set(j, root, "form", cli_json_text(r->form));
    cli_json_set(j, root, "saturates", json_boolean(r->saturates));
    cli_json_set(j, root, "not_compared",
                 r->not_compared[0] != '\0' ? cli_json_text(r->not_compared) : json_null());
    cli_json_set(j, root, "why", cli_json_text(r->why));
    return root;
}
