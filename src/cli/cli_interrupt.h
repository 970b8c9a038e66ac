/* cli_interrupt.h - Ctrl-C asks the running command to stop; a second one ends the tool at once. */
#ifndef QDQ_CLI_INTERRUPT_H
#define QDQ_CLI_INTERRUPT_H

#include "qdq/status.h"

/* Sends SIGINT, SIGTERM and SIGHUP to the flag, and turns SIGPIPE and SIGXFSZ into failed
 * writes. */
qdq_status cli_interrupt_install(qdq_cancel *cancel, qdq_error *err);

/* Before the flag is freed. */
void cli_interrupt_remove(void);

#endif /* QDQ_CLI_INTERRUPT_H */
