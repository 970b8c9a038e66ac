/* cli_docs.h - manual and completion from the option tables. */
#ifndef QDQ_CLI_DOCS_H
#define QDQ_CLI_DOCS_H

#include "base/buf.h"

void cli_docs_markdown(qdq_buf *out);
void cli_docs_man(qdq_buf *out);
void cli_docs_bash(qdq_buf *out);
void cli_docs_zsh(qdq_buf *out);
void cli_docs_fish(qdq_buf *out);
void cli_docs_passes(qdq_buf *out); /* docs/passes.md */

/* What manual and man page say besides the tables: { heading, text }, the heading NULL past the
 * end. */
typedef struct cli_docs_part {
    const char *heading, *text;
} cli_docs_part;

extern const cli_docs_part cli_docs_parts[];

#endif /* QDQ_CLI_DOCS_H */
