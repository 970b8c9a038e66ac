/* sim_fail.c - crashes, hangs and exhausts memory on request. A crash here is one of the process
 * itself, and not a pretended one: what is tested with it is that somebody else survives. It
 * happens to no one who does not write it into a cost model. */
#include "engine/sim/sim_fail.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"

/* --- read ------------------------------------------------------------------------------------- */

static const char *const signal_names[] = {"SIGABRT", "SIGBUS",  "SIGFPE", "SIGILL",
                                           "SIGKILL", "SIGSEGV", NULL};
static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGSEGV};
_Static_assert(QDQ_COUNT(signals) + 1 == QDQ_COUNT(signal_names), "each has its name");

static void read_fault(const qdq_json_place *p, qdq_sim_failure *f)
{
    static const char *const faults[] = {"crash", "hang", "memory", "outputs", "slow"};
    static const char *const outputs[] = {"nan", "inf", "zero", "wrong", NULL};
    int n = 0;

    for (int i = 0; i < (int)QDQ_COUNT(faults); i++) {
        if (!qdq_json_has(p, faults[i]))
            continue;
        f->fault = (qdq_sim_fault)(QDQ_SIM_CRASH + i);
        n++;
    }
    if (n > 1)
        qdq_json_fail(p, "more than one of 'crash', 'hang', 'memory', 'outputs' and 'slow'");
    f->signal = signals[qdq_json_word(p, "crash", signal_names, 0)];
    f->seconds = qdq_json_number(p, "hang", 0, 1e6, 0);
    f->bytes = (uint64_t)qdq_json_int(p, "memory", 1, 1 << 24, 1) << 20;
    f->spoil = (qdq_sim_spoil)(QDQ_SIM_NAN + qdq_json_word(p, "outputs", outputs, 0));
    f->slow = qdq_json_number(p, "slow", 0, 1e6, 1);
    if (f->fault == QDQ_SIM_OUTPUTS && strcmp(f->at, "run") != 0)
        qdq_json_fail(p, "'outputs' are spoilt at \"run\" only");
    if (f->fault == QDQ_SIM_SLOW && strcmp(f->at, "time") != 0)
        qdq_json_fail(p, "'slow' is felt at \"time\" only");
}

void qdq_sim_failure_read(const qdq_json_place *p, qdq_sim_failure *f)
{
    static const char *const times[] = {"open", "run", "time", NULL};

    QDQ_JSON_KNOWN(p, "at", "nth", "node", "message", "crash", "hang", "memory", "outputs", "slow");
    f->at = times[qdq_json_word(p, "at", times, 1)];
    f->nth = (uint64_t)qdq_json_int(p, "nth", 0, INT64_MAX, 0);
    if (qdq_json_has(p, "node"))
        f->node = qdq_json_text(p, "node", NULL);
    f->message = qdq_json_text(p, "message", "a failure that was asked for");
    read_fault(p, f);
}

/* --- happen ----------------------------------------------------------------------------------- */

bool qdq_sim_failure_is_due(qdq_sim_failure *f)
{
    uint64_t seen = atomic_fetch_add(&f->seen, 1) + 1;

    return f->nth == 0 || f->nth == seen || (f->fault == QDQ_SIM_SLOW && f->nth < seen);
}

/* Last words as engines have them: on the standard error, past all buffers. */
static void crash(const qdq_sim_failure *f)
{
    bool told = write(STDERR_FILENO, f->message, strlen(f->message)) > 0 &&
                write(STDERR_FILENO, "\n", 1) > 0;

    (void)told; /* who cannot be told dies all the same */
    kill(getpid(), f->signal);
}

static void hang(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

qdq_status qdq_sim_failure_happen(const qdq_sim_failure *f, qdq_arena *arena,
                                  qdq_sim_effect *effect, qdq_error *err)
{
    switch (f->fault) {
    case QDQ_SIM_ERROR:
        break;
    case QDQ_SIM_CRASH:
        crash(f);
        break;
    case QDQ_SIM_HANG:
        hang(f->seconds);
        return QDQ_OK;
    case QDQ_SIM_MEMORY:
        return qdq_arena_alloc(arena, f->bytes) != NULL ? QDQ_OK : qdq_nomem(err);
    case QDQ_SIM_OUTPUTS:
        effect->spoil = f->spoil;
        return QDQ_OK;
    case QDQ_SIM_SLOW:
        effect->slow *= f->slow;
        return QDQ_OK;
    }
    return qdq_fail(err, QDQ_E_ENGINE, "%s", f->message);
}

void qdq_sim_spoil_floats(qdq_sim_spoil spoil, float *x, int64_t n)
{
    if (spoil == QDQ_SIM_SOUND || spoil == QDQ_SIM_WRONG)
        return;
    for (int64_t i = 0; i < n; i++)
        x[i] = spoil == QDQ_SIM_NAN ? NAN : spoil == QDQ_SIM_INF ? INFINITY : 0;
}
