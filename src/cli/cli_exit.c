/* cli_exit.c - exit codes: a contract with scripts. Numbers are never given a new meaning. */
#include "cli/cli.h"

#include "base/fail.h"

#define EXIT_NEGATIVE 1

static const struct {
    int code;
    const char *what;
} meanings[] = {
    {0, "success"},
    {EXIT_NEGATIVE,
     "the answer is no: `check` found an error, `compare` missed --min-sqnr, `optimize "
     "--check` a difference"},
    {2, "the command line is wrong"},
    {3, "an input is malformed, or sound but not supported, or --metric-command fails on it"},
    {4, "a file or the system failed: missing, existing without -f, full disk, out of memory"},
    {5, "the inference engine failed, computes the model wrongly, or is unavailable"},
    {6, "an accuracy goal was missed: `quantize` writes files only with --best-effort, `autotune` "
        "leaves the model without Q/DQ in DIR"},
    {70, "a defect in qdq: please report it"},
    {130, "interrupted (Ctrl-C, SIGTERM, SIGHUP)"},
};

int cli_exit_meaning(size_t i, const char **what)
{
    *what = i < QDQ_COUNT(meanings) ? meanings[i].what : NULL;
    return i < QDQ_COUNT(meanings) ? meanings[i].code : 0;
}

int cli_exit_code(qdq_status st)
{
    switch (st) {
    case QDQ_OK:
        return 0;
    case QDQ_E_USAGE:
        return 2;
    case QDQ_E_FORMAT:
    case QDQ_E_UNSUPPORTED:
        return 3;
    case QDQ_E_IO:
    case QDQ_E_NOMEM:
        return 4;
    case QDQ_E_ENGINE:
        return 5;
    case QDQ_E_GOAL:
        return 6;
    case QDQ_E_INTERRUPTED:
        return 130;
    case QDQ_E_BUG:
        break;
    }
    return 70;
}
