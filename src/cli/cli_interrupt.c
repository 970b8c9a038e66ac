/* cli_interrupt.c - signals. A handler has no argument to find its flag by: hence the only variable
 * of the tool that is not on a stack. */
#include "cli/cli_interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/fail.h"

#define EXIT_INTERRUPTED 130

static _Atomic(qdq_cancel *) to_cancel;
static atomic_bool asked;

static void on_signal(int signal_number)
{
    (void)signal_number;
    qdq_cancel *cancel = atomic_load(&to_cancel);

    if (cancel == NULL || atomic_exchange(&asked, true))
        _exit(EXIT_INTERRUPTED);
    qdq_cancel_set(cancel);
}

qdq_status cli_interrupt_install(qdq_cancel *cancel, qdq_error *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    static const int of_writes[] = {SIGPIPE, SIGXFSZ};
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;

    atomic_store(&to_cancel, cancel);
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < QDQ_COUNT(numbers); i++) {
        /* what the caller ignores stays ignored: nohup, jobs in the background of a script */
        if (sigaction(numbers[i], NULL, &before) != 0 ||
            (before.sa_handler != SIG_IGN && sigaction(numbers[i], &act, NULL) != 0))
            return qdq_fail_errno(err, QDQ_E_IO, errno, "signal %d", numbers[i]);
    }
    sigemptyset(&ignore.sa_mask);
    for (size_t i = 0; i < QDQ_COUNT(of_writes); i++)
        if (sigaction(of_writes[i], &ignore, NULL) != 0)
            return qdq_fail_errno(err, QDQ_E_IO, errno, "signal %d", of_writes[i]);
    return QDQ_OK;
}

void cli_interrupt_remove(void)
{
    atomic_store(&to_cancel, (qdq_cancel *)NULL);
}
