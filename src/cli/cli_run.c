/* cli_run.c - the command table, and the only place that prints an error. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/cli_files.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_json.h"
#include "cli/cli_text.h"

const cli_command *const cli_commands[] = {
    &cmd_quantize, &cmd_autotune, &cmd_calibrate, &cmd_optimize, &cmd_bench,
    &cmd_compare,  &cmd_inspect,  &cmd_check,     &cmd_copy,     &cmd_extract,
    &cmd_import,   &cmd_strip,    &cmd_targets,   &cmd_engines,  &cmd_passes,
    &cmd_stores,   &cmd_docs,     &cmd_bug,       NULL,
};

/* --- overview --------------------------------------------------------------------------------- */

static void put_overview(qdq_buf *out)
{
    qdq_buf_puts(out,
                 "usage: qdq COMMAND [options] ...\n\nQuantizes ONNX models by QuantizeLinear and "
                 "DequantizeLinear nodes, and measures the result.\n\ncommands:\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (!cli_commands[i]->hidden)
            qdq_buf_printf(out, "  %-10s  %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    qdq_buf_puts(
        out,
        "\n'qdq COMMAND --help' lists common options, 'qdq help COMMAND' all of them.\n\nexample:\n"
        "  qdq quantize model.onnx --calib samples.npz -o model.qdq.onnx\n");
}

static qdq_status print_buf(qdq_buf *text, qdq_error *err)
{
    qdq_status st = text->failed ? qdq_nomem(err) : QDQ_OK;

    if (st == QDQ_OK && text->size > 0)
        fwrite(text->data, 1, text->size, stdout); /* errors: flush_stdout() */
    qdq_buf_free(text);
    return st;
}

static qdq_status print_overview(qdq_error *err)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    put_overview(&text);
    return print_buf(&text, err);
}

/* `how`: "all" or "common". */
static qdq_status print_help(const cli_command *cmd, const char *how, qdq_error *err)
{
    const bool all = strcmp(how, "all") == 0;
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    if (!all && strcmp(how, "common") != 0)
        return qdq_fail(err, QDQ_E_USAGE, "%s: --help: found '%s'; expected --help or --help=all",
                        cmd->name, how);
    cli_help(cmd, all, &text);
    return print_buf(&text, err);
}

/* --- dispatch --------------------------------------------------------------------------------- */

static qdq_status find_command(const char *name, const cli_command **out, qdq_error *err)
{
    const char *names[QDQ_COUNT(cli_commands) + 1];
    size_t n = 0;

    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (strcmp(cli_commands[i]->name, name) == 0) {
            *out = cli_commands[i];
            return QDQ_OK;
        }
        if (!cli_commands[i]->hidden)
            names[n++] = cli_commands[i]->name;
    }
    names[n++] = "help";
    const char *near = qdq_suggest(name, names, n);
    if (near != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "unknown command '%s', did you mean '%s'?", name, near);
    return qdq_fail(err, QDQ_E_USAGE, "unknown command '%s': 'qdq help' lists what there is", name);
}

static qdq_status run_help(int argc, char *const *argv, qdq_error *err)
{
    const cli_command *cmd = NULL;

    if (argc == 0)
        return print_overview(err);
    if (argc > 1)
        return qdq_fail(err, QDQ_E_USAGE, "help: unexpected argument '%s': expected one COMMAND",
                        argv[1]);
    QDQ_TRY(find_command(argv[0], &cmd, err));
    return print_help(cmd, "all", err);
}

static qdq_status run_command(cli *c, const cli_command *cmd, int argc, char *const *argv,
                              qdq_error *err)
{
    cli_parsed parsed;

    QDQ_TRY(cli_parse(cmd, argc, argv, &c->arena, &parsed, err));
    const cli_common *common = parsed.args;
    cli_ui_set(&c->ui, common);
    c->ui.makes = cmd->makes;
    if (common->help != NULL)
        return print_help(cmd, common->help, err);
    if (common->json && cmd->json == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "%s: there is no --json", cmd->name);
    c->operand = parsed.operand;
    c->n_operands = parsed.n_operands;
    c->json = common->json;
    QDQ_TRY(cli_files_collect(c, cmd, parsed.args, err));
    cli_text_set_mode(c->json ? CLI_TEXT_JSON : common->quiet > 0 ? CLI_TEXT_NONE : CLI_TEXT_PLAIN);
    qdq_status st = cmd->run(c, parsed.args, err);
    size_t size = strlen(cmd->name);
    if (st != QDQ_E_USAGE || (strncmp(err->text, cmd->name, size) == 0 && err->text[size] == ':'))
        return st;
    return qdq_within(err, st, "%s", cmd->name); /* the place of an error on the command line */
}

static qdq_status dispatch(cli *c, int argc, char *const *argv, qdq_error *err)
{
    const cli_command *cmd = NULL;

    if (argc < 2) {
        QDQ_TRY(print_overview(err));
        return qdq_fail(err, QDQ_E_USAGE, "COMMAND: missing; expected one of those listed");
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("qdq %s\n", qdq_version());
        return QDQ_OK;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return run_help(argc - 2, argv + 2, err);
    if (argv[1][0] == '-')
        return qdq_fail(err, QDQ_E_USAGE,
                        "found option '%s', expected a command first: 'qdq help' lists them",
                        argv[1]);
    QDQ_TRY(find_command(argv[1], &cmd, err));
    return run_command(c, cmd, argc - 2, argv + 2, err);
}

/* --- run -------------------------------------------------------------------------------------- */

/* A full disk or a closed pipe is not a success. Where several writes failed, the first one says
 * why. */
static qdq_status flush_stdout(qdq_error *err)
{
    bool failed = ferror(stdout) != 0;

    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    if (!failed)
        failed = close(STDOUT_FILENO) != 0;
    if (!failed)
        return QDQ_OK;
    const int first = cli_text_failure();
    return qdq_fail_errno(err, QDQ_E_IO, first != 0 ? first : errno != 0 ? errno : EIO, "<stdout>");
}

/* With --json a failure is a document too, unless the result has been printed. */
static void print_error_json(const cli *c, qdq_status st, const qdq_error *err)
{
    qdq_error ignored = QDQ_ERROR_INIT;
    qdq_json_doc d = {0};

    if (!c->json || cli_text_has_output())
        return;
    qdq_json_out error = qdq_json_put_object(qdq_json_object(&d), "error");
    qdq_json_put_int(error, "exit_code", cli_exit_code(st));
    qdq_json_put_text(error, "text", err->text);
    if (cli_json_print(&d, &ignored) == QDQ_OK)
        fflush(stdout); /* the exit code is that of the first failure */
}

static bool asks_for_json(int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

int cli_run(int argc, char *const *argv)
{
    qdq_error err = QDQ_ERROR_INIT;
    cli c = {.arena = QDQ_ARENA_INIT, .job = QDQ_JOB_INIT};

    const bool guarded = cli_text_guard_stdout();
    cli_ui_init(&c.ui);
    c.cancel = qdq_cancel_new();
    c.job.ctx = &c.ui;
    c.job.log = cli_ui_log;
    c.job.progress = cli_ui_progress;
    c.job.cancel = c.cancel;

    qdq_status st =
        c.cancel == NULL || !guarded ? qdq_nomem(&err) : cli_interrupt_install(c.cancel, &err);
    if (st == QDQ_OK)
        c.json = asks_for_json(argc, argv); /* known before the command line is proven sound */
    if (st == QDQ_OK)
        st = dispatch(&c, argc, argv, &err);
    cli_ui_clear(&c.ui);
    if (st == QDQ_OK)
        st = flush_stdout(&err);
    if (st == QDQ_OK && qdq_cancel_is_set(c.cancel))
        st = qdq_fail(&err, QDQ_E_INTERRUPTED, "interrupted");
    if (st != QDQ_OK) {
        print_error_json(&c, st, &err);
        cli_ui_log(&c.ui, QDQ_LOG_ERROR, err.text);
    }
    cli_interrupt_remove();
    qdq_cancel_free(c.cancel);
    qdq_arena_free(&c.arena);
    if (st == QDQ_OK && c.negative)
        return 1;
    return cli_exit_code(st);
}
