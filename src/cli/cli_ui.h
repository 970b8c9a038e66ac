/* cli_ui.h - what people see: log lines and progress on stderr, tables on stdout. */
#ifndef QDQ_CLI_UI_H
#define QDQ_CLI_UI_H

#include <stdio.h>

#include "base/arena.h"
#include "base/vec.h"
#include "cli/cli_args.h"
#include "qdq/status.h"

/* Warnings that differ in names and numbers alone are of one kind. Few are shown one by one, many
 * as one line. */
enum { CLI_WARNINGS = 16, CLI_OF_A_KIND = 3, CLI_TOLD = 256 };

typedef struct cli_warnings {
    /* the first ones */
    char *text[CLI_OF_A_KIND];
    size_t n;
} cli_warnings;

typedef struct cli_ui {
    /* of the qdq_log_level that are shown; -1: not even errors */
    int level;
    /* as cli_command has it */
    const char *makes;
    /* of stderr */
    bool color;
    /* a progress line that is written over */
    bool live;
    /* no live line: plain lines */
    bool minutely;
    /* columns of the live line on the screen */
    size_t shown;
    double stage_start, last;
    char stage[64];
    /* of warnings that are not shown yet */
    cli_warnings kind[CLI_WARNINGS];
    size_t n_kinds;
    double held_since;
    /* hashes of the warnings so far: an equal one says nothing new */
    uint64_t told[CLI_TOLD];
    size_t n_told;
} cli_ui;

void cli_ui_init(cli_ui *ui); /* before the command line is known: warnings, no progress */
void cli_ui_set(cli_ui *ui, const cli_common *common);

/* A comparison counts its models: copies its message, with the name of what the command makes for
 * "second model" in front. */
void cli_ui_name_models(const cli_ui *ui, const char *text, char *out, size_t size);

/* For qdq_job: ctx is the cli_ui. */
void cli_ui_log(void *ctx, qdq_log_level level, const char *text);
void cli_ui_progress(void *ctx, const char *stage, uint64_t done, uint64_t total);

void cli_warn(cli_ui *ui, const char *fmt, ...) QDQ_PRINTF(2, 3);
void cli_note(cli_ui *ui, const char *fmt, ...) QDQ_PRINTF(2, 3);

/* A line of progress that is no count: `ended` is one that must not be left out. Written over on a
 * terminal, and only as often as one can read; elsewhere what has ended alone is said. */
void cli_ui_show(cli_ui *ui, const char *text, bool ended);

/* Takes the live line off the screen, and shows the warnings that were held back for others of
 * their kind. */
void cli_ui_clear(cli_ui *ui);

/* --- tables ----------------------------------------------------------------------------------- */

/* Cells from left to right, top to bottom. `columns` has a letter for each column: 'l' or 'r'. */
typedef struct cli_table {
    qdq_arena *arena;
    const char *columns;
    QDQ_VEC(const char *) cells;
    /* out of memory */
    bool failed;
} cli_table;

void cli_cell(cli_table *t, const char *fmt, ...) QDQ_PRINTF(2, 3);
/* Texts, each a cell: no two may share a buffer. */
void cli_cells(cli_table *t, const char *const *text, size_t n);
#define CLI_CELLS(t, ...)                                                                          \
    cli_cells((t), (const char *const[]){__VA_ARGS__},                                             \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
qdq_status cli_table_print(const cli_table *t, FILE *to, qdq_error *err);

#endif /* QDQ_CLI_UI_H */
