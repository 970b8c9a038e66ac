/* cli_text.h - text that comes from files, on its way to people: names may hold bytes that a
 * terminal obeys. */
#ifndef QDQ_CLI_TEXT_H
#define QDQ_CLI_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Replaces control characters (C0 and DEL, C1 in UTF-8) and bytes that are not UTF-8 by '?',
 * newlines too: one line. In place. */
void cli_text_clean(char *text);

/* What is printed to stdout from now on is cleaned, newlines stay; with `json`, control characters
 * become escapes, which mean the same. False: out of memory, nothing has changed. cli_text_raw() is
 * for what is no text. */
bool cli_text_guard_stdout(void);
void cli_text_set_json(bool json);

/* stderr for results that go there; like the guarded stdout. */
FILE *cli_text_stderr(void);

/* Flushes, then writes the bytes as they are. False: errno says why. */
bool cli_text_write_raw(const void *data, size_t size);

#endif /* QDQ_CLI_TEXT_H */
