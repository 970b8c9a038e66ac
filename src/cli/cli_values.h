/* cli_values.h - the text of one option's value into its member. */
#ifndef QDQ_CLI_VALUES_H
#define QDQ_CLI_VALUES_H

#include "cli/cli_opt.h"

/* `to` has the type that cli_kind says. QDQ_E_USAGE: found, expected. */
qdq_status cli_value_read(const cli_opt *o, const char *text, qdq_arena *arena, void *to,
                          qdq_error *err);

/* Flags and counts; `negated`: --no-name. */
void cli_value_count(const cli_opt *o, bool negated, void *to);

/* The first option of a table whose member is not at its default, as it is written: "--exclude",
 * "--no-optimize"; NULL: none. `args` is the struct of the table. One that repeats its default
 * counts as not given. */
const char *cli_first_given(const cli_opt *opts, const void *args);

/* Appends what such options are given, each after a space: " --format int8 --pow2". For flags that
 * are off by default, choices, texts and lists. */
void cli_put_given(const cli_opt *opts, const void *args, qdq_buf *out);

/* The value of --min-agreement, if it was given, is a fraction above 0. */
qdq_status cli_agreement_check(const cli_maybe *a, qdq_error *err);

#endif /* QDQ_CLI_VALUES_H */
