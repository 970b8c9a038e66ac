/* trt_record.h - a folder with what TensorRT said about models, for the `replay` engine: written
 * while it says it.
 *
 *   replay.json                 {"qdq_replay": 1, "engine", "version", "device"}
 *   KEY.times.json              exported times
 *   KEY.profile.json, KEY.layers.json, KEY.log
 *
 * KEY is a hash of the model; files named `any` are for models that have none of their own. */
#ifndef QDQ_TRT_RECORD_H
#define QDQ_TRT_RECORD_H

#include "base/arena.h"
#include "qdq/engine.h"

/* Makes the folder, if it is not there, and replay.json in it. */
qdq_status qdq_trt_record_engine(const char *dir, const qdq_engine_info *info, qdq_error *err);

/* 32 hexadecimal digits. */
qdq_status qdq_trt_record_key(const qdq_model *m, qdq_arena *arena, const char **key,
                              qdq_error *err);

/* Copies a file to DIR/KEY.what; logs are appended. No folder: nothing happens. What cannot be
 * copied is no reason to fail: the record then lacks it, as the file itself may be lacking. */
void qdq_trt_record_file(const char *dir, const char *key, const char *what, const char *path);

#endif /* QDQ_TRT_RECORD_H */
