/* cmd_check.c - the verifier's findings. Errors make the answer no, warnings never do. */
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_model.h"

static const cli_group groups[] = {{"options", cli_common_opts, 0}, {NULL, NULL, 0}};

static size_t count_errors(const qdq_finding *f, size_t n)
{
    size_t errors = 0;

    for (size_t i = 0; i < n; i++)
        errors += f[i].is_error;
    return errors;
}

static qdq_status print_json(const char *path, const qdq_finding *f, size_t n, qdq_error *err)
{
    cli_json j = {false};
    json_t *root = json_object();
    json_t *list = json_array();

    cli_json_set(&j, root, "model", cli_json_text(path));
    cli_json_set(&j, root, "errors", json_integer((json_int_t)count_errors(f, n)));
    cli_json_set(&j, root, "warnings", json_integer((json_int_t)(n - count_errors(f, n))));
    for (size_t i = 0; i < n; i++) {
        json_t *entry = json_object();
        cli_json_set(&j, entry, "level", json_string(f[i].is_error ? "error" : "warning"));
        cli_json_set(&j, entry, "text", cli_json_text(f[i].text));
        cli_json_add(&j, list, entry);
    }
    cli_json_set(&j, root, "findings", list);
    return cli_json_print(&j, root, err);
}

static void print_text(const char *path, const qdq_finding *f, size_t n)
{
    size_t errors = count_errors(f, n), warnings = n - errors;

    for (size_t i = 0; i < n; i++)
        printf("%s: %s\n", f[i].is_error ? "error" : "warning", f[i].text);
    printf("%s: %zu error%s, %zu warning%s\n", path, errors, errors == 1 ? "" : "s", warnings,
           warnings == 1 ? "" : "s");
}

static qdq_status run(cli *c, const void *args, qdq_error *err)
{
    const char *path = cli_is_stdout(c->operand[0]) ? "<stdin>" : c->operand[0];
    qdq_model *m = NULL;
    qdq_finding *findings = NULL;
    size_t n = 0;

    (void)args;
    QDQ_TRY(cli_model_load(c, c->operand[0], &m, err));
    qdq_status st = qdq_model_check(m, &findings, &n, err);
    if (st == QDQ_OK) {
        c->negative = count_errors(findings, n) > 0;
        if (c->json)
            st = print_json(path, findings, n, err);
        else
            print_text(path, findings, n);
    }
    qdq_free(findings);
    qdq_model_free(m);
    return st;
}

const cli_command cmd_check = {
    .name = "check",
    .synopsis = "MODEL [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "verify a model",
    .about = "Verifies a model and prints what is wrong and where. The exit code is 1 if there is an error;\n"
             "warnings never change it. A file that cannot be read as a model at all is exit code 3.",
    .json = "{ \"model\", \"errors\", \"warnings\", \"findings\": [{\"level\": \"error\", \"text\"}] }",
    .example = "qdq check model.onnx && echo sound",
    .groups = groups,
    .args_size = sizeof(cli_common),
    .run = run,
};
