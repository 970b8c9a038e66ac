/* trt_tool.h - trtexec as a program: what version it is and what options it has, runs of it under a
 * deadline, options that it refuses left out from then on, its failures in words. Knows no
 * models. */
#ifndef QDQ_TRT_TOOL_H
#define QDQ_TRT_TOOL_H

#include "engine/trt/trt_args.h"
#include "engine/trt/trt_log.h"

typedef struct qdq_trt_tool {
    const char *program;
    /* -1: it does not say */
    int major, minor, patch;
    /* of --help */
    const char *const *options;
    size_t n_options;
    /* of ours, which it turned out not to have */
    qdq_trt_argv refused;
    qdq_trt_user user;
    /* ends with NULL; or NULL */
    const char *const *plugins;
    const qdq_job *job;
    /* warnings that were passed on already */
    unsigned trust_told;
    qdq_arena arena;
} qdq_trt_tool;

/* Looks it up (PATH, if the name has no slash), asks for its help once, and checks the user's
 * options against its version. QDQ_E_ENGINE: not there, not to be started, or no trtexec. */
qdq_status qdq_trt_tool_open(qdq_trt_tool *t, const char *program, const char *user_args,
                             qdq_error *err);
void qdq_trt_tool_close(qdq_trt_tool *t);

/* Does it have this option, as far as its help and what it refused say? */
bool qdq_trt_tool_has(const qdq_trt_tool *t, const char *option);
bool qdq_trt_tool_is(const qdq_trt_tool *t, int major,
                     int minor); /* of that version or a newer one; unknown: yes */

/* Options of ours that it turned out to refuse, with spaces between, in its arena; NULL: no
 * memory. */
const char *qdq_trt_tool_refused(qdq_trt_tool *t);
/* As if it had refused these, without a word. */
qdq_status qdq_trt_tool_refuse(qdq_trt_tool *t, const char *options, qdq_error *err);
/* QDQ_CAN_..., by the options that it has. */
unsigned qdq_trt_tool_capabilities(const qdq_trt_tool *t);

typedef struct qdq_trt_call {
    /* "--onnx=...": without them there is nothing to be done */
    qdq_trt_argv needed;
    /* left out where the tool does not have them */
    qdq_trt_argv useful;
    /* what must be there and not empty afterwards, unless the option that asks for it was left out;
     * ends with NULL; or NULL */
    const char *const *files;
    /* one of `useful` without which it need not run again; NULL: it need */
    const char *purpose;
    /* file for all it prints; NULL: none */
    const char *log;
    /* bytes of each stream that the job logs; 0: 64 KiB */
    size_t transcript;
    double deadline_s;
} qdq_trt_call;

/* Runs it with needed, useful and the user's options; of two with one key the user's counts. An
 * option that it refuses is left out from then on, and it is run again unless that was its purpose;
 * so it is once if the device was out of memory. QDQ_E_ENGINE: class and words of the failure,
 * QDQ_E_USAGE: an option of the user's is refused. */
qdq_status qdq_trt_tool_run(qdq_trt_tool *t, const qdq_trt_call *call, qdq_trt_log *out,
                            qdq_error *err);

#endif /* QDQ_TRT_TOOL_H */
