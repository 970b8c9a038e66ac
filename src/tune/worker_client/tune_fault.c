/* tune_fault.c - what the words of a failed trial tell: how the engine's process ended, and whether
 * the model or the machine was at fault. Words, since a trial that an earlier process measured has
 * nothing else in the store. */
#include "tune/worker_client/tune_fault.h"

#include <string.h>

#include "base/fail.h"
#include "engine/remote/remote_process.h"
#include "engine/trt/trt_log.h"

static const char earlier[] = "before: ";

/* Are these the words of a failure of this kind? */
static bool begins_with(const char *why, const char *kind)
{
    const size_t n = strlen(kind);

    return strncmp(why, kind, n) == 0 && why[n] == ':';
}

static const char *without_earlier(const char *why)
{
    while (strncmp(why, earlier, sizeof earlier - 1) == 0)
        why += sizeof earlier - 1;
    return why;
}

bool qdq_tune_is_death(const char *why)
{
    static const qdq_remote_end ends[] = {QDQ_REMOTE_CRASHED, QDQ_REMOTE_HUNG, QDQ_REMOTE_MEMORY};

    why = without_earlier(why);
    for (size_t i = 0; i < QDQ_COUNT(ends); i++)
        if (begins_with(why, qdq_remote_end_name(ends[i])))
            return true;
    return false;
}

const char *qdq_tune_fault_name(const char *why)
{
    why = without_earlier(why);
    if (begins_with(why, qdq_remote_end_name(QDQ_REMOTE_HUNG)) ||
        begins_with(why, qdq_remote_end_name(QDQ_REMOTE_MEMORY)) ||
        begins_with(why, QDQ_TUNE_SYSTEM))
        return "machine";
    if (begins_with(why, qdq_remote_end_name(QDQ_REMOTE_CRASHED)))
        return strstr(why, "SIGKILL") != NULL ? "machine"
                                              /* who has no memory is killed from outside */
                                              : "model";
    return qdq_trt_is_machine_failure(why) ? "machine" : "model";
}
