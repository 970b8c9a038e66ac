/* trt_transcript.h - a command and what it printed, for who keeps logs: as lines of the job's log,
 * at the level of debugging. */
#ifndef QDQ_TRT_TRANSCRIPT_H
#define QDQ_TRT_TRANSCRIPT_H

#include "base/child.h"

/* "$ trtexec --onnx=...", then its output, then its errors, each of at most `most` bytes: of more,
 * the beginning and the end. Passwords are "***". Nothing if there is no log to hear it. */
void qdq_trt_transcript(const qdq_job *job, const char *const *argv, const qdq_child_result *r,
                        size_t most);

#endif /* QDQ_TRT_TRANSCRIPT_H */
