/* cli_docs.c - docs/cli.md and the man page. Completion is in cli_complete.c. */
#include "cli/cli_docs.h"

#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

const cli_docs_part cli_docs_parts[] = {
    {"Conventions",
     "Options may stand before, between and after the arguments; '--' ends them. '--opt=value'\n"
     "and '--opt value' are equal, letters may be joined ('-fv', '-oFILE'), every flag has a\n"
     "'--no-' form. The last of several values counts; repeatable options add.\n"
     "\n"
     "A MODEL is a file, '-' for stdin, or a name that ends in .onnxtxt: ONNX's textual\n"
     "syntax. qdq writes to a temporary name, syncs and renames: an interrupted run leaves no\n"
     "partial file. An existing file is an error without -f. With -f the output may be MODEL\n"
     "itself; quantize warns that its float weights are lost then.\n"
     "\n"
     "External data goes to MODEL.HASH.data next to the model; HASH is 16 hexadecimal digits\n"
     "of the SHA-256 of its content. It is in place before the model that names it, so an\n"
     "interrupted run leaves the old model with its old data, or the new one with its new\n"
     "data. A file of that name with other content is an error, also with -f. With -f, the\n"
     "data that the replaced MODEL named is removed if its name has this form for MODEL and no\n"
     "other *.onnx in the folder names it. Other files stay; -v names them. External data of\n"
     "the input is never overwritten.\n"
     "\n"
     "stdout is for results, as text or --json; stderr is for everything else. An error is one\n"
     "line: location, problem, expectation; with --json also {\"error\": {\"exit_code\", "
     "\"text\"}}\n"
     "on stdout. Progress is shown on a terminal only, at most five times a second, or with\n"
     "--progress=always; elsewhere one line a minute, of a tuning run one for each pattern.\n"
     "\n"
     "Ctrl-C ends a command at the next safe point, without partial results; a second one ends\n"
     "it at once.\n"
     "\n"
     "The name of a node is its name if it has a unique one, else Op@output."},
    {"Configuration files",
     "'--config FILE' reads options of any command from YAML: keys are the long names, values\n"
     "those of the options. Flags are true or false, '-v' and '-q' whole numbers. Repeatable\n"
     "options take a list, whose items may contain commas; NAME=VALUE options take a map, too.\n"
     "The command line wins, and replaces lists instead of adding to them. File names are\n"
     "relative to the current directory.\n"
     "\n"
     "    target: ort-cpu\n"
     "    calib: photos\n"
     "    mean: [127, 127, 127]\n"
     "    exclude: [\"^head\", \"=model.0.conv\"]\n"
     "    shape: {images: 1x3x240x320}\n"
     "    set: {activation.symmetric: true}\n"
     "\n"
     "Unknown and repeated keys, anchors, aliases and tags are errors, shown as\n"
     "FILE:LINE:COLUMN with the key and the expected value."},
    {"Environment",
     "QDQ_ORT_LIBRARY: the ONNX Runtime library without --ort-library. Without both qdq\n"
     "searches the folder ort next to the executable, lib/qdq of the installation, and the\n"
     "loader's path.\n"
     "\n"
     "QDQ_OPENVINO_LIBRARY: OpenVINO's libopenvino_c.so without --openvino-library. Without\n"
     "both qdq searches the folder openvino next to the executable, lib/qdq/openvino of the\n"
     "installation, and the loader's path.\n"
     "\n"
     "ONEDNN_MAX_CPU_ISA: qdq sets it, and reports that, before it loads OpenVINO on a machine\n"
     "that announces AMX and kills programs that use it.\n"
     "\n"
     "ORT_DISABLE_TELEMETRY: qdq sets it to 1 unless it is set, so that ONNX Runtime neither\n"
     "reports to its makers nor leaves files; 0 leaves the choice to ONNX Runtime.\n"
     "\n"
     "TMPDIR: where engines get private folders; default /tmp.\n"
     "\n"
     "NO_COLOR: no colours, if set and not empty."},
    {NULL, NULL},
};

/* --- lines ------------------------------------------------------------------------------------ */

enum { COLUMNS = 100 };

/* Text in lines of at most COLUMNS. Lines of a paragraph are joined; not with `verbatim`, nor lines
 * that begin with four blanks: of those only what is too long goes on in a line of its own. In roff
 * a line must not begin with a dot or quote. */
typedef struct filler {
    qdq_buf *out;
    bool verbatim, is_roff;
    size_t column;
} filler;

static void end_line(filler *f)
{
    if (f->column > 0)
        qdq_buf_putc(f->out, '\n');
    f->column = 0;
}

static void put_word(filler *f, const char *word, size_t n, size_t indent, size_t blanks)
{
    if (f->column > 0 && f->column + blanks + n > COLUMNS)
        end_line(f);
    const size_t before = f->column > 0 ? blanks : indent;
    qdq_buf_printf(f->out, "%*s", (int)before, "");
    f->column += before + n;
    if (f->is_roff && f->column == n && (word[0] == '.' || word[0] == '\'')) {
        qdq_buf_puts(f->out, "\\&");
        f->column += 2;
    }
    qdq_buf_append(f->out, word, n);
}

static void put_line(filler *f, const char *line, const char *end)
{
    const size_t indent = strspn(line, " ");
    const bool alone = f->verbatim || indent >= 4;

    if (alone || line == end)
        end_line(f);
    if (line == end)
        qdq_buf_putc(f->out, '\n');
    for (const char *p = line + indent; p < end;) {
        const char *word = p + strspn(p, " ");
        const size_t n = strcspn(word, " \n");
        const size_t blanks = p == line + indent ? 1 : (size_t)(word - p);
        put_word(f, word, n, alone ? indent : 0, alone ? blanks : 1);
        p = word + n;
    }
    if (alone)
        end_line(f);
}

static void put_lines(qdq_buf *out, const char *text, bool verbatim, bool is_roff)
{
    filler f = {out, verbatim, is_roff, 0};

    while (*text != '\0') {
        const char *end = text + strcspn(text, "\n");
        put_line(&f, text, end);
        text = end + (*end != '\0');
    }
    end_line(&f);
}

/* --- Markdown --------------------------------------------------------------------------------- */

/* In a table cell a bar would end the cell. */
static void put_cell(qdq_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            qdq_buf_putc(out, '\\');
        qdq_buf_putc(out, *text);
    }
}

static void put_markdown_group(const cli_group *g, qdq_buf *out)
{
    if (*g->title != '\0')
        qdq_buf_printf(out, "\n| %s | |\n|---|---|\n", g->title);
    for (const cli_opt *o = g->opts; o->name != NULL; o++) {
        qdq_buf label = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
        cli_opt_label(o, &label);
        qdq_buf_puts(out, "| `");
        put_cell(out, label.failed ? o->name : label.data);
        qdq_buf_free(&label);
        qdq_buf_puts(out, "` | ");
        put_cell(out, o->help);
        cli_opt_default(o, out);
        qdq_buf_puts(out, " |\n");
    }
}

/* The common options are printed once, not fourteen times. */
static bool is_common(const cli_group *g)
{
    return g->opts == cli_common_opts;
}

static void put_markdown_command(const cli_command *cmd, qdq_buf *out)
{
    qdq_buf_printf(out, "\n## qdq %s\n\n```\nqdq %s %s\n```\n\n", cmd->name, cmd->name,
                   cmd->synopsis);
    put_lines(out, cmd->about, false, false);
    for (const cli_group *g = cmd->groups; g->title != NULL; g++)
        if (!is_common(g))
            put_markdown_group(g, out);
    if (cmd->json != NULL) {
        qdq_buf_puts(out, "\nWith `--json`:\n\n```\n");
        put_lines(out, cmd->json, true, false);
        qdq_buf_puts(out, "```\n");
    }
    qdq_buf_printf(out, "\nExample:\n\n```\n%s\n```\n", cmd->example);
}

static void put_markdown_list(qdq_buf *out)
{
    qdq_buf_puts(out, "\n| command | |\n|---|---|\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (!cli_commands[i]->hidden)
            qdq_buf_printf(out, "| [`%s`](#qdq-%s) | %s |\n", cli_commands[i]->name,
                           cli_commands[i]->name, cli_commands[i]->summary);
    qdq_buf_puts(out,
                 "| `help COMMAND` | explain a command |\n| `--version` | print the version |\n");
}

void cli_docs_markdown(qdq_buf *out)
{
    const cli_group common = {"every command", cli_common_opts, 0};
    const char *what = NULL;

    qdq_buf_puts(
        out, "# The command line\n\nMade from the option tables by `qdq __docs md`; do not edit "
             "(`tests/tools/docs.sh` compares).\n");
    put_markdown_list(out);
    put_markdown_group(&common, out);
    for (const cli_docs_part *p = cli_docs_parts; p->heading != NULL; p++) {
        qdq_buf_printf(out, "\n## %s\n\n", p->heading);
        put_lines(out, p->text, false, false);
    }
    qdq_buf_puts(out, "\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (size_t i = 0;; i++) {
        int code = cli_exit_meaning(i, &what);
        if (what == NULL)
            break;
        qdq_buf_printf(out, "| %d | %s |\n", code, what);
    }
    qdq_buf_puts(out, "\n`qdq __bug` fails on purpose, for tests of 70.\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (!cli_commands[i]->hidden)
            put_markdown_command(cli_commands[i], out);
}

/* --- man page --------------------------------------------------------------------------------- */

/* A dash is a minus, a backslash is itself. */
static void put_roff(qdq_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '-')
            qdq_buf_puts(out, "\\-");
        else if (*text == '\\')
            qdq_buf_puts(out, "\\e");
        else
            qdq_buf_putc(out, *text);
    }
}

static void put_roff_lines(qdq_buf *out, const char *text, bool verbatim)
{
    qdq_buf roff = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    put_roff(&roff, text);
    if (roff.data != NULL)
        put_lines(out, roff.data, verbatim, true);
    out->failed = out->failed || roff.failed;
    qdq_buf_free(&roff);
}

static void put_roff_paragraphs(qdq_buf *out, const char *text)
{
    const char *end;

    for (; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        qdq_buf part = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
        qdq_buf_append(&part, text, (size_t)(end - text));
        put_roff_lines(out, part.failed ? "" : part.data, false);
        out->failed = out->failed || part.failed;
        qdq_buf_free(&part);
        qdq_buf_puts(out, ".PP\n");
    }
    put_roff_lines(out, text, false);
}

static void put_roff_verbatim(qdq_buf *out, const char *text)
{
    qdq_buf_puts(out, ".PP\n.nf\n");
    put_roff_lines(out, text, true);
    qdq_buf_puts(out, ".fi\n");
}

static void put_roff_options(const cli_group *g, qdq_buf *out)
{
    for (const cli_opt *o = g->opts; o->name != NULL; o++) {
        qdq_buf label = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
        cli_opt_label(o, &label);
        qdq_buf_puts(out, ".TP\n.B ");
        put_roff(out, label.failed ? o->name : label.data);
        qdq_buf_putc(out, '\n');
        qdq_buf_free(&label);
        qdq_buf tail = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
        qdq_buf_puts(&tail, o->help);
        cli_opt_default(o, &tail);
        put_roff_lines(out, tail.failed ? o->help : tail.data, false);
        qdq_buf_free(&tail);
    }
}

static void put_roff_command(const cli_command *cmd, qdq_buf *out)
{
    qdq_buf_printf(out, ".SS \"qdq %s ", cmd->name);
    put_roff(out, cmd->synopsis);
    qdq_buf_puts(out, "\"\n");
    put_roff_paragraphs(out, cmd->about);
    for (const cli_group *g = cmd->groups; g->title != NULL; g++)
        if (!is_common(g))
            put_roff_options(g, out);
    if (cmd->json != NULL) {
        qdq_buf_puts(out, ".PP\nWith \\-\\-json:\n");
        put_roff_verbatim(out, cmd->json);
    }
    qdq_buf_puts(out, ".PP\nExample:\n");
    put_roff_verbatim(out, cmd->example);
}

static void put_roff_exit_codes(qdq_buf *out)
{
    const char *what = NULL;

    qdq_buf_puts(out, ".SH EXIT STATUS\n");
    for (size_t i = 0;; i++) {
        int code = cli_exit_meaning(i, &what);
        if (what == NULL)
            break;
        qdq_buf_printf(out, ".TP\n.B %d\n", code);
        put_roff_lines(out, what, false);
    }
}

static void put_roff_list(qdq_buf *out)
{
    qdq_buf_puts(out, ".SH COMMANDS\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_commands[i]->hidden)
            continue;
        qdq_buf_printf(out, ".TP\n.B %s\n", cli_commands[i]->name);
        put_roff_lines(out, cli_commands[i]->summary, false);
    }
    qdq_buf_puts(out, ".TP\n.B help COMMAND\nexplain a command\n.TP\n.B \\-\\-version\ntell the "
                      "version\n");
}

static void put_roff_parts(qdq_buf *out)
{
    for (const cli_docs_part *p = cli_docs_parts; p->heading != NULL; p++) {
        qdq_buf_puts(out, ".SH ");
        for (const char *h = p->heading; *h != '\0'; h++)
            qdq_buf_putc(out, (char)toupper((unsigned char)*h));
        qdq_buf_putc(out, '\n');
        put_roff_paragraphs(out, p->text);
    }
}

/* What is looked up most comes first: the options of all commands are a thousand lines. */
void cli_docs_man(qdq_buf *out)
{
    const cli_group common = {"every command", cli_common_opts, 0};

    qdq_buf_printf(
        out,
        ".\\\" Made from the option tables by qdq __docs man; do not edit.\n"
        ".TH QDQ 1 \"\" \"qdq %s\" \"User Commands\"\n.SH NAME\nqdq \\- quantize ONNX models and "
        "measure the result\n.SH SYNOPSIS\n.B qdq\n.I COMMAND\n[options] ...\n.SH DESCRIPTION\n"
        "Puts QuantizeLinear and DequantizeLinear nodes into ONNX models, calibrated on data, and\n"
        "measures latency and accuracy of the result.\n",
        qdq_version());
    put_roff_list(out);
    put_roff_exit_codes(out);
    qdq_buf_puts(out, ".SH OPTIONS OF EVERY COMMAND\n");
    put_roff_options(&common, out);
    put_roff_parts(out);
    qdq_buf_puts(out, ".SH COMMANDS IN DETAIL\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (!cli_commands[i]->hidden)
            put_roff_command(cli_commands[i], out);
}
