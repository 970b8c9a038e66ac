/* cli_ui.c - log lines, the progress line, tables. The only file that asks what kind of terminal
 * there is. */
#include "cli/cli_ui.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cli/cli_text.h"

#define LIVE_INTERVAL  0.2
#define PLAIN_INTERVAL 60.0
#define HELD           1.0
#define NO_ERRORS      (-1)
#define LOG_LINE       1200

void cli_ui_init(cli_ui *ui)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    memset(ui, 0, sizeof *ui);
    ui->level = QDQ_LOG_WARNING;
    ui->color = isatty(STDERR_FILENO) && (no_color == NULL || *no_color == '\0') && term != NULL &&
                strcmp(term, "dumb") != 0;
}

void cli_ui_set(cli_ui *ui, const cli_common *common)
{
    int level = QDQ_LOG_WARNING + common->verbose - common->quiet;

    ui->level = level < NO_ERRORS ? NO_ERRORS : level > QDQ_LOG_DEBUG ? QDQ_LOG_DEBUG : level;
    bool quiet = ui->level < QDQ_LOG_WARNING || common->progress == CLI_PROGRESS_NEVER;
    ui->live = !quiet && (common->progress == CLI_PROGRESS_ALWAYS || isatty(STDERR_FILENO));
    ui->minutely = !quiet && !ui->live;
}

/* --- log lines -------------------------------------------------------------------------------- */

static void clear_line(cli_ui *ui)
{
    if (ui->shown > 0)
        fprintf(stderr, "\r%*s\r", (int)ui->shown, "");
    ui->shown = 0;
}

static const char *level_name(qdq_log_level level)
{
    switch (level) {
    case QDQ_LOG_ERROR:
        return "error";
    case QDQ_LOG_WARNING:
        return "warning";
    case QDQ_LOG_INFO:
        return "note";
    case QDQ_LOG_DEBUG:
        return "debug";
    }
    return "note";
}

static void print_line(cli_ui *ui, qdq_log_level level, const char *text)
{
    const char *color = level == QDQ_LOG_ERROR     ? "\033[1;31m"
                        : level == QDQ_LOG_WARNING ? "\033[1;33m"
                                                   : "";
    bool colored = ui->color && *color != '\0';
    char line[LOG_LINE];

    snprintf(line, sizeof line, "%s", text);
    cli_text_clean(line);
    clear_line(ui);
    fprintf(stderr, "qdq: %s%s:%s %s\n", colored ? color : "", level_name(level),
            colored ? "\033[0m" : "", line);
}

/* --- warnings of one kind --------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next character of a text that says its kind: what is quoted and numbers are left out. 0: the
 * end. */
static char next_of_kind(const char **text)
{
    const char *p = *text;
    char c = *p;

    if (c == '\'' && strchr(p + 1, c) != NULL)
        p = strchr(p + 1, c);
    else if (is_digit(c)) {
        while (is_digit(p[1]) || ((p[1] == '.' || p[1] == 'e') && is_digit(p[2])))
            p++;
        c = '0';
    }
    *text = c != '\0' ? p + 1 : p;
    return c;
}

static bool is_same_kind(const char *a, const char *b)
{
    char c;

    do {
        c = next_of_kind(&a);
        if (c != next_of_kind(&b))
            return false;
    } while (c != '\0');
    return true;
}

static void show_kind(cli_ui *ui, cli_warnings *k)
{
    char line[1100];

    if (k->n > CLI_OF_A_KIND) {
        snprintf(line, sizeof line, "%s (and %zu more of this kind, -v shows them)", k->text[0],
                 k->n - 1);
        print_line(ui, QDQ_LOG_WARNING, line);
    }
    for (size_t i = 0; i < CLI_OF_A_KIND && i < k->n; i++) {
        if (k->n <= CLI_OF_A_KIND)
            print_line(ui, QDQ_LOG_WARNING, k->text[i]);
        free(k->text[i]);
    }
}

static void show_held(cli_ui *ui)
{
    for (size_t i = 0; i < ui->n_kinds; i++)
        show_kind(ui, &ui->kind[i]);
    ui->n_kinds = 0;
}

/* No one waits long for a warning. */
static void show_held_long(cli_ui *ui)
{
    if (ui->n_kinds > 0 && qdq_clock_seconds() - ui->held_since > HELD)
        show_held(ui);
}

/* False: it has to be shown now. */
static bool hold(cli_ui *ui, const char *text)
{
    cli_warnings *k = ui->kind;

    show_held_long(ui);
    while (k < ui->kind + ui->n_kinds && !is_same_kind(k->text[0], text))
        k++;
    if (k == ui->kind + CLI_WARNINGS)
        return false;
    if (k == ui->kind + ui->n_kinds)
        k->n = 0;
    if (k->n < CLI_OF_A_KIND && (k->text[k->n] = strdup(text)) == NULL)
        return false;
    k->n++;
    if (k == ui->kind + ui->n_kinds && ui->n_kinds++ == 0)
        ui->held_since = qdq_clock_seconds();
    return true;
}

void cli_ui_clear(cli_ui *ui)
{
    show_held(ui);
    clear_line(ui);
}

/* Remembers it if not. Of very many the oldest are forgotten. */
static bool was_told(cli_ui *ui, const char *text)
{
    const uint64_t hash = XXH3_64bits(text, strlen(text));

    for (size_t i = 0; i < ui->n_told && i < CLI_TOLD; i++)
        if (ui->told[i] == hash)
            return true;
    ui->told[ui->n_told++ % CLI_TOLD] = hash;
    return false;
}

void cli_ui_name_models(const cli_ui *ui, const char *text, char *out, size_t size)
{
    static const char second[] = "second model";

    if (ui->makes != NULL && strncmp(text, second, sizeof second - 1) == 0)
        snprintf(out, size, "%s%s", ui->makes, text + sizeof second - 1);
    else
        snprintf(out, size, "%s", text);
}

void cli_ui_log(void *ctx, qdq_log_level level, const char *text)
{
    cli_ui *ui = ctx;
    char line[LOG_LINE];

    if ((int)level > ui->level)
        return;
    cli_ui_name_models(ui, text, line, sizeof line);
    if (level == QDQ_LOG_WARNING && was_told(ui, line))
        return;
    if (level == QDQ_LOG_WARNING && ui->level == QDQ_LOG_WARNING && hold(ui, line))
        return;
    show_held(ui);
    print_line(ui, level, line);
}

static void log_line(cli_ui *ui, qdq_log_level level, const char *fmt, va_list ap) QDQ_PRINTF(3, 0);
static void log_line(cli_ui *ui, qdq_log_level level, const char *fmt, va_list ap)
{
    char line[1000];

    vsnprintf(line, sizeof line, fmt, ap);
    cli_ui_log(ui, level, line);
}

void cli_warn(cli_ui *ui, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_line(ui, QDQ_LOG_WARNING, fmt, ap);
    va_end(ap);
}

void cli_note(cli_ui *ui, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_line(ui, QDQ_LOG_INFO, fmt, ap);
    va_end(ap);
}

/* --- progress --------------------------------------------------------------------------------- */

static size_t terminal_columns(void)
{
    struct winsize w;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    return 80;
}

static void progress_text(const cli_ui *ui, uint64_t done, uint64_t total, double now, char *text,
                          size_t size)
{
    double elapsed = now - ui->stage_start;
    int n = total > 0 ? snprintf(text, size, "%s: %" PRIu64 " of %" PRIu64, ui->stage, done, total)
                      : snprintf(text, size, "%s: %" PRIu64, ui->stage, done);

    if (n < 0 || (size_t)n >= size || done == 0 || done >= total || elapsed <= 0)
        return;
    double left = elapsed / (double)done * (double)(total - done);
    if (left < 360000)
        snprintf(text + n, size - (size_t)n, ", %d:%02d left", (int)left / 60, (int)left % 60);
}

static void redraw(cli_ui *ui, char *text)
{
    size_t columns = terminal_columns() - 1;

    cli_text_clean(text);
    if (strlen(text) > columns)
        text[columns] = '\0';
    size_t shown = strlen(text);
    fprintf(stderr, "\r%s%*s", text, shown < ui->shown ? (int)(ui->shown - shown) : 0, "");
    fflush(stderr);
    ui->shown = shown;
}

void cli_ui_show(cli_ui *ui, const char *text, bool ended)
{
    char line[200];
    double now = qdq_clock_seconds();

    show_held_long(ui);
    snprintf(line, sizeof line, "%s", text);
    cli_text_clean(line);
    if (!ui->live && ui->minutely && ended)
        fprintf(stderr, "qdq: %s\n", line);
    if (!ui->live || (ui->last != 0 && now - ui->last < LIVE_INTERVAL))
        return;
    ui->last = now;
    redraw(ui, line);
}

void cli_ui_progress(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    cli_ui *ui = ctx;
    char text[200];

    show_held_long(ui);
    if (!ui->live && !ui->minutely)
        return;
    double now = qdq_clock_seconds();
    if (strncmp(stage, ui->stage, sizeof ui->stage - 1) != 0) {
        snprintf(ui->stage, sizeof ui->stage, "%s", stage);
        ui->stage_start = now;
        /* twice, so that rounding does not decide whether the first one is shown */
        if (ui->last == 0)
            ui->last = now - (ui->live ? 2 * LIVE_INTERVAL : 0);
    }
    if (now - ui->last < (ui->live ? LIVE_INTERVAL : PLAIN_INTERVAL))
        return;
    ui->last = now;
    progress_text(ui, done, total, now, text, sizeof text);
    if (!ui->live) {
        cli_text_clean(text);
        fprintf(stderr, "qdq: %s\n", text);
        return;
    }
    redraw(ui, text);
}

/* --- tables ----------------------------------------------------------------------------------- */

void cli_cell(cli_table *t, const char *fmt, ...)
{
    char text[1000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cli_text_clean(text);
    const char *cell = qdq_arena_strdup(t->arena, text);
    if (cell == NULL || !QDQ_PUSH(t->arena, &t->cells, cell))
        t->failed = true;
}

void cli_cells(cli_table *t, const char *const *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cli_cell(t, "%s", text[i]);
}

/* Columns on the screen: UTF-8 continuation bytes take none. */
static size_t width_of(const char *s)
{
    size_t n = 0;

    for (; *s != '\0'; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

qdq_status cli_table_print(const cli_table *t, FILE *to, qdq_error *err)
{
    size_t n = strlen(t->columns);
    size_t *width = t->failed ? NULL : qdq_arena_array(t->arena, n, sizeof *width);

    QDQ_NEED(width != NULL, err);
    for (size_t i = 0; i < t->cells.n; i++)
        if (width_of(t->cells.at[i]) > width[i % n])
            width[i % n] = width_of(t->cells.at[i]);
    size_t blanks = 0; /* owed: no line ends in blanks */
    for (size_t i = 0; i < t->cells.n; i++) {
        const char *cell = t->cells.at[i];
        size_t c = i % n, w = width_of(cell);
        if (t->columns[c] == 'r')
            blanks += width[c] - w;
        if (w > 0) {
            fprintf(to, "%*s%s", (int)blanks, "", cell);
            blanks = 0;
        }
        if (t->columns[c] == 'l')
            blanks += width[c] - w;
        blanks += 2;
        if (c == n - 1) {
            fputc('\n', to);
            blanks = 0;
        }
    }
    return QDQ_OK;
}
