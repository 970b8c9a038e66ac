/* cli_model.c - loading and saving by name. */
#include "cli/cli_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"
#include "cli/cli_files.h"
#include "cli/cli_text.h"

/* Protocol buffers end at 2 GiB: what is longer is no model. */
#define MAX_STDIN ((size_t)1 << 31)
#define MAX_TEXT  ((size_t)1 << 30)

bool cli_has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);

    return n > m && strcmp(path + n - m, suffix) == 0;
}

qdq_status cli_at_file(const char *path, qdq_status st, qdq_error *err)
{
    if (st == QDQ_OK || st == QDQ_E_USAGE || st == QDQ_E_INTERRUPTED || st == QDQ_E_NOMEM)
        return st;
    /* an engine that crashed in it: the message has the place */
    if (strstr(err->text, path) != NULL)
        return st;
    return qdq_within(err, st, "%s", cli_is_stdout(path) ? "<stdin>" : path);
}

/* A comparison counts its models; of one file the first is that file, which stands in front. */
static void name_models(const cli *c, qdq_error *err)
{
    static const char first[] = "first model";
    const qdq_error found = *err;
    const char *text = found.text;

    if (strncmp(text, first, sizeof first - 1) == 0) {
        text += sizeof first - 1;
        text += strspn(text, ":, ");
    }
    cli_ui_name_models(&c->ui, text, err->text, sizeof err->text);
}

qdq_status cli_at_only_file(const cli *c, const char *path, qdq_status st, qdq_error *err)
{
    if (st != QDQ_OK)
        name_models(c, err);
    return cli_at_file(path, st, err);
}

/* --- load ------------------------------------------------------------------------------------- */

static qdq_status load_stdin(cli *c, qdq_model **out, qdq_error *err)
{
    char *data = NULL;
    size_t size = 0;

    if (c->stdin_taken)
        return qdq_fail(err, QDQ_E_USAGE, "found '-' twice, expected one model from stdin");
    c->stdin_taken = true;
    QDQ_TRY(qdq_read_file("-", MAX_STDIN, &data, &size, err));
    qdq_status st = qdq_model_load_bytes(data, size, "<stdin>", NULL, out, err);
    qdq_free(data);
    return st;
}

static qdq_status load_text(const char *path, qdq_model **out, qdq_error *err)
{
    char *text = NULL;
    size_t size = 0;

    QDQ_TRY(qdq_read_file(path, MAX_TEXT, &text, &size, err));
    qdq_status st = strlen(text) == size
                        ? qdq_model_from_text(text, path, out, err)
                        : qdq_fail(err, QDQ_E_FORMAT, "%s: found a zero byte at %zu, expected text",
                                   path, strlen(text));
    qdq_free(text);
    return st;
}

qdq_status cli_model_load(cli *c, const char *path, qdq_model **out, qdq_error *err)
{
    if (cli_is_stdout(path))
        return load_stdin(c, out, err);
    if (cli_has_suffix(path, CLI_TEXT_SUFFIX))
        return load_text(path, out, err);
    return qdq_model_load(path, NULL, out, err);
}

/* --- save ------------------------------------------------------------------------------------- */

const char *const cli_external_choices[] = {[QDQ_EXTERNAL_AUTO] = "auto",
                                            [QDQ_EXTERNAL_ALWAYS] = "always",
                                            [QDQ_EXTERNAL_NEVER] = "never",
                                            NULL};

#define ARGS cli_output_args
#include "cli/cli_tables.def"
#include "cli/cli_model.def"

qdq_status cli_output_check(cli *c, const cli_output_args *a, qdq_error *err)
{
    if (a->output == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--output: missing; expected -o FILE");
    if (!cli_is_stdout(a->output)) {
        if (cli_has_suffix(a->output, CLI_TEXT_SUFFIX) && a->external == QDQ_EXTERNAL_ALWAYS)
            return qdq_fail(err, QDQ_E_USAGE, "%s: the text form has no external data", a->output);
        return cli_path_check(a->output, a->force, err);
    }
    if (c->json)
        return qdq_fail(err, QDQ_E_USAGE, "found --json and --output -: both would go to stdout");
    if (a->external == QDQ_EXTERNAL_ALWAYS)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --external-data always and --output -: there is no folder "
                        "for the side file");
    if (isatty(STDOUT_FILENO))
        return qdq_fail(err, QDQ_E_USAGE,
                        "--output -: found a terminal as stdout, expected a file or pipe");
    return QDQ_OK;
}

static qdq_status save_stdout(const qdq_model *m, qdq_error *err)
{
    void *data = NULL;
    size_t size = 0;

    QDQ_TRY(qdq_model_to_bytes(m, NULL, &data, &size, err));
    bool written = cli_text_write_raw(data, size);
    qdq_free(data);
    return written ? QDQ_OK : qdq_fail_errno(err, QDQ_E_IO, errno, "<stdout>");
}

static qdq_status save_text(const qdq_model *m, const cli_output_args *a, qdq_error *err)
{
    char *text = NULL;

    QDQ_TRY(qdq_model_to_text(m, &text, err));
    qdq_status st = qdq_write_file(a->output, a->force, text, strlen(text), err);
    qdq_free(text);
    return st;
}

qdq_status cli_model_save(cli *c, const qdq_model *m, const cli_output_args *a, qdq_error *err)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;

    QDQ_TRY(qdq_job_poll(&c->job, err));
    if (cli_is_stdout(a->output))
        return save_stdout(m, err);
    if (cli_has_suffix(a->output, CLI_TEXT_SUFFIX))
        return save_text(m, a, err);
    opts.external = (qdq_external)a->external;
    opts.allow_overwrite = a->force;
    opts.job = &c->job;
    return qdq_model_save(m, a->output, &opts, err);
}

FILE *cli_result_stream(const cli_output_args *a)
{
    return cli_is_stdout(a->output) ? cli_text_stderr() : stdout;
}

/* --- sizes ------------------------------------------------------------------------------------ */

void cli_json_written(qdq_json_out root, const cli *c, const char *output, const qdq_model *m)
{
    qdq_json_put_text(root, "model", c->operand[0]);
    qdq_json_put_text(root, "output", output);
    qdq_json_put_int(root, "opset", qdq_model_opset(m));
    qdq_json_out files = qdq_json_put_list(root, "files");
    cli_files_json(files, c, NULL);
}

qdq_status cli_model_save_copy(cli *c, const qdq_model *m, const cli_output_args *a, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_status st = cli_model_save(c, m, a, err);

    if (st == QDQ_E_FORMAT) /* the model itself is not sound */
        st = cli_at_file(c->operand[0], st, err);
    if (st != QDQ_OK || !c->json)
        return st;
    cli_json_written(qdq_json_object(&d), c, a->output, m);
    return cli_json_print(&d, err);
}
