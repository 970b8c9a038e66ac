/* cli_values.h - the text of one option's value into its member. */
#ifndef QDQ_CLI_VALUES_H
#define QDQ_CLI_VALUES_H

#include "cli/cli_args.h"

/* `to` has the type that cli_kind says. QDQ_E_USAGE: found, expected. */
qdq_status cli_value_read(const cli_opt *o, const char *text, qdq_arena *arena, void *to,
                          qdq_error *err);

/* Flags and counts; `negated`: --no-name. */
void cli_value_count(const cli_opt *o, bool negated, void *to);

#endif /* QDQ_CLI_VALUES_H */
