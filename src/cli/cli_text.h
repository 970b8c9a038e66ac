/* cli_text.h - text that comes from files, on its way to people: names may hold bytes that a
 * terminal obeys. */
#ifndef QDQ_CLI_TEXT_H
#define QDQ_CLI_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Replaces control characters (C0 and DEL, C1 in UTF-8) and bytes that are not UTF-8 by '?',
 * newlines too: one line. In place. */
void cli_text_clean(char *text);

/* What is printed to stdout from now on is cleaned, newlines stay; as CLI_TEXT_JSON, control
 * characters become escapes, which mean the same. False: out of memory, nothing has changed.
 * cli_text_raw() is for what is no text. */
bool cli_text_guard_stdout(void);

/* What results are: CLI_TEXT_NONE discards them, on stderr too. */
typedef enum cli_text_kind { CLI_TEXT_PLAIN, CLI_TEXT_JSON, CLI_TEXT_NONE } cli_text_kind;
void cli_text_set_mode(cli_text_kind kind);

/* Something was written to stdout. */
bool cli_text_has_output(void);

/* errno of the first write to stdout that failed; 0: none did. */
int cli_text_failure(void);

/* stderr for results that go there; like the guarded stdout. */
FILE *cli_text_stderr(void);

/* Flushes, then writes the bytes as they are. False: errno says why. */
bool cli_text_write_raw(const void *data, size_t size);

#endif /* QDQ_CLI_TEXT_H */
