/* cli_opt.h - what an option is, and the tables of a command's options. A new option is one entry
 * in the .def of its command, and the use of the member that the entry declares. Knows nothing of
 * models. */
#ifndef QDQ_CLI_OPT_H
#define QDQ_CLI_OPT_H

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "qdq/tensor.h"

/* What an option takes, and the type of the member that receives it. */
typedef enum cli_kind {
    /* bool; --name, --no-name */
    CLI_FLAG,
    /* int: how often it was given */
    CLI_COUNT,
    /* const char * */
    CLI_TEXT,
    /* const char *: options for another program in one text, which may begin with dashes */
    CLI_WORDS,
    /* const char *; shells complete file names */
    CLI_FILE,
    /* int: index into choices */
    CLI_CHOICE,
    /* int64_t from min to max */
    CLI_WHOLE,
    /* double, finite */
    CLI_REAL,
    /* cli_maybe: a finite number, and whether it was given */
    CLI_MAYBE,
    /* double, seconds: 90, 90s, 10m, 1.5h */
    CLI_TIME,
    /* uint64_t bytes: 4096, 256M, 1GiB */
    CLI_SIZE,
    /* cli_names: one element each time it is given */
    CLI_LIST,
    /* cli_names: A,B,C; given again it adds */
    CLI_NAMES,
    /* cli_shapes: NAME=1x3x224x224; given again it adds */
    CLI_SHAPES,
    /* cli_reals: 1,2.5,3 */
    CLI_REALS,
    /* cli_extent: HxW, or N for a square */
    CLI_EXTENT
} cli_kind;

/* at[n] is NULL once an element is there; at is NULL before */
typedef QDQ_VEC(const char *) cli_names;
typedef QDQ_VEC(qdq_input_shape) cli_shapes;

/* For options whose default is no number that users could give. */
typedef struct cli_maybe {
    /* 0: not given */
    double value;
    bool is_set;
} cli_maybe;

#define CLI_MAX_REALS 4

typedef struct cli_reals {
    double at[CLI_MAX_REALS];
    int n;
} cli_reals;

typedef struct cli_extent {
    /* 0: not given */
    int height, width;
} cli_extent;

/* What becomes of the file that an option names (cli_files.h). */
typedef enum cli_use {
    /* CLI_READS of a CLI_FILE; others name no file */
    CLI_USE_OF_KIND,
    CLI_READS,
    /* may be the file of CLI_WRITES_MODEL: a model is changed in place */
    CLI_READS_MODEL,
    /* what is there already is added to */
    CLI_UPDATES,
    CLI_WRITES,
    CLI_WRITES_MODEL
} cli_use;

typedef struct cli_opt {
    /* 0: none */
    char letter;
    const char *name;
    cli_kind kind;
    /* of the member that receives it, in the struct of its group */
    size_t offset;
    /* "FILE"; NULL for flags */
    const char *what;
    /* one line */
    const char *help;
    /* parsed before the command line and shown as the default; NULL: zero */
    const char *init;
    /* CLI_WHOLE */
    int64_t min, max;
    const char *const *choices;
    /* the value where '=' brings none: the next word is never one; NULL: there must be one */
    const char *bare;
    cli_use use;
    /* "--name", as messages have it */
    const char *spelling;
    /* "--no-name" */
    const char *off;
} cli_opt;

/* A .def lists options, from which cli_members.def makes members of a struct and cli_tables.def
 * tables:
 *
 *     TABLE(name) ... END   a table of its file; SHARED(name): of others too
 *     OPT(KIND, letter, "name", member, "WHAT", "help", .init = ...)
 *                           a cli_opt, and the member; what follows the help may be left out
 *     OPT_AT(...)           the same for a member that another struct declares: engine.worker
 *     FLAG(letter, "name", member, "help", ...)  an OPT of CLI_FLAG, which takes nothing
 *
 * CLI_ENTRY is one entry where there is no .def. */
#define CLI_ENTRY(type, kind_, letter_, name_, member, what_, ...)                                 \
    {                                                                                              \
        .letter = letter_, .name = name_, .spelling = "--" name_, .off = "--no-" name_,            \
        .kind = CLI_##kind_, .offset = CLI_AT(type, member), .what = what_, .help = __VA_ARGS__    \
    }
#define CLI_OF(...)                                                                                \
    ((const char *const[]){__VA_ARGS__, NULL}) /* .choices that only parsing needs */

#define CLI_TYPE_FLAG   bool
#define CLI_TYPE_COUNT  int
#define CLI_TYPE_TEXT   const char *
#define CLI_TYPE_WORDS  const char *
#define CLI_TYPE_FILE   const char *
#define CLI_TYPE_CHOICE int
#define CLI_TYPE_WHOLE  int64_t
#define CLI_TYPE_REAL   double
#define CLI_TYPE_MAYBE  cli_maybe
#define CLI_TYPE_TIME   double
#define CLI_TYPE_SIZE   uint64_t
#define CLI_TYPE_LIST   cli_names
#define CLI_TYPE_NAMES  cli_names
#define CLI_TYPE_SHAPES cli_shapes
#define CLI_TYPE_REALS  cli_reals
#define CLI_TYPE_EXTENT cli_extent

/* The offset of a member, for groups. */
#define CLI_AT(type, member) offsetof(struct type, member)
#define CLI_END                                                                                    \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* Options that several commands share are one table; each command says where its struct for them
 * lies. */
typedef struct cli_group {
    /* "options", "engine"; "": more of the group before; NULL ends the list */
    const char *title;
    const cli_opt *opts;
    size_t offset;
} cli_group;

typedef struct cli cli;

typedef struct cli_command {
    const char *name;
    /* behind the name: "MODEL -o OUT [options]" */
    const char *synopsis;
    /* "MODEL", for messages */
    const char *operands;
    size_t min_operands, max_operands;
    /* half a line, lower case */
    const char *summary;
    /* what it makes of its model, where messages of a comparison would count models: "the
     * quantized model"; NULL: nothing, or there are several models */
    const char *makes;
    /* paragraphs, lines of at most 100 columns; four spaces in front: verbatim */
    const char *about;
    /* what --json prints, laid out like `about`; NULL: there is no --json */
    const char *json;
    /* command lines */
    const char *example;
    /* names of the options that --help lists, "output calib"; NULL: all */
    const char *common;
    const cli_group *groups;
    /* of the struct that `groups` offsets point into; it begins with a cli_common */
    size_t args_size;
    qdq_status (*run)(cli *c, const void *args, qdq_error *err);
    bool hidden;
} cli_command;

/* What every command has; the first member of its args. */
typedef struct cli_common {
#include "cli/cli_members.def"
#include "cli/cli_common.def"
} cli_common;

typedef enum cli_progress {
    CLI_PROGRESS_AUTO,
    CLI_PROGRESS_ALWAYS,
    CLI_PROGRESS_NEVER
} cli_progress;

extern const cli_opt cli_common_opts[];

/* For each option of a command: `o`, and `g`, the group that it stands in. */
#define CLI_FOR_OPTS(o, g, cmd)                                                                    \
    for (const cli_group *g = (cmd)->groups; g->title != NULL; g++)                                \
        for (const cli_opt *o = g->opts; o->name != NULL; o++)

/* The option of this name and its place in the args of the command; NULL: there is none. */
const cli_opt *cli_find_option(const cli_command *cmd, const char *name, size_t size,
                               size_t *offset);

/* The option whose name is nearest to a mistyped one, in *near; NULL: none is near. */
qdq_status cli_suggest_option(const cli_command *cmd, const char *name, qdq_arena *arena,
                              const char **near, qdq_error *err);

bool cli_takes_value(const cli_opt *o); /* false: a flag or a count */

#endif /* QDQ_CLI_OPT_H */
