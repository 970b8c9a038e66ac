/* openvino_probe.c - is it safe to load OpenVINO into this process?
 *
 * Some virtual machines announce AMX, matrix instructions, and trap where they are used: OpenVINO
 * then dies of an illegal instruction with the first 8-bit model. Its kernels leave AMX alone where
 * the environment says ONEDNN_MAX_CPU_ISA, which they read once and which is not for a library to
 * change. So the instructions are tried out in a child process, which costs two milliseconds and is
 * done where the processor announces them; who asks qdq_engine_environment() first, as the tool
 * does, gets the variable to set, and who did not gets an error instead of a dead process. */
#include "base/program_path.h"
#include "base/child.h"
#include "base/fail.h"
#include "engine/openvino/openvino_session.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static bool announces_amx(void)
{
#if defined(__x86_64__)
    enum { OSXSAVE = 1 << 27, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25, TILE_STATE = 3 << 17 };
    unsigned a, b, c, d, low, high;

    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & OSXSAVE) == 0)
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & TILE_STATE) == TILE_STATE && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
           (d & AMX_TILE) != 0 && (d & AMX_INT8) != 0;
#else
    return false;
#endif
}

/* The child sees the caller's environment, and has nothing to try where that forbids AMX
 * already. */
static bool amx_kills(const qdq_engine_opts *opts)
{
    qdq_arena arena = {0};
    const char *worker =
        opts->worker != NULL ? opts->worker : qdq_find_program(&arena, "qdq-worker");
    const char *const argv[] = {worker, "--probe-amx", NULL};
    const qdq_child_opts child = {.argv = argv, .deadline_s = 20, .max_output = 1000};
    qdq_child_result result = {0};
    qdq_error why = QDQ_ERROR_INIT;
    bool kills = false;

    if (worker != NULL && qdq_child_run(&child, &result, &why) == QDQ_OK) {
        kills = result.signal != 0;
        if (!kills && result.exit_code != 0)
            qdq_job_log(opts->job, QDQ_LOG_INFO,
                        "%s --probe-amx ended with status %d: AMX was not tried out", worker,
                        result.exit_code);
        qdq_child_result_free(&result);
    } else {
        qdq_job_log(opts->job, QDQ_LOG_INFO, "AMX was not tried out: %s", why.text);
    }
    qdq_arena_free(&arena);
    return kills;
}

const char *qdq_ov_environment(const qdq_engine_opts *opts)
{
    return announces_amx() && amx_kills(opts) ? "ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI" : NULL;
}

qdq_status qdq_ov_probe(const qdq_engine_opts *opts, qdq_error *err)
{
    const char *need = qdq_ov_environment(opts);

    if (need == NULL)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_ENGINE,
                    "this machine announces AMX and kills programs that use it, as OpenVINO would: "
                    "set %s in the environment before the engine is opened",
                    need);
}
