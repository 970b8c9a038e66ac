/* ort_api.h - ONNX Runtime's C interface without its header: a table of functions by index.
 *
 * The indices are ONNX Runtime's own and append-only: entry i exists in a library of version 1.N
 * exactly if i is at most the last index of API version N. Only entries of 1.16 (last index 265)
 * are called without a look at the version; newer ones are marked below and guarded by
 * qdq_ort_has(). */
#ifndef QDQ_ORT_API_H
#define QDQ_ORT_API_H

#include <stddef.h>
#include <stdint.h>

#include "qdq/engine.h"

typedef struct ort_status ort_status;
typedef struct ort_env ort_env;
typedef struct ort_session ort_session;
typedef struct ort_session_options ort_session_options;
typedef struct ort_run_options ort_run_options;
typedef struct ort_value ort_value;
typedef struct ort_type_info ort_type_info;
typedef struct ort_tensor_info ort_tensor_info;
typedef struct ort_memory_info ort_memory_info;
typedef struct ort_allocator ort_allocator;
typedef struct ort_provider_options ort_provider_options; /* of CUDA or of TensorRT */

typedef void (*ort_log_fn)(void *param, int severity, const char *category, const char *logid,
                           const char *location, const char *message);

/* index, name, result, parameters */
#define QDQ_ORT_LIST(F)                                                                            \
    F(0, CreateStatus, ort_status *, (int code, const char *text))                                 \
    F(1, GetErrorCode, int, (const ort_status *))                                                  \
    F(2, GetErrorMessage, const char *, (const ort_status *))                                      \
    F(4, CreateEnvWithCustomLogger, ort_status *,                                                  \
      (ort_log_fn, void *param, int severity, const char *logid, ort_env **))                      \
    F(8, CreateSessionFromArray, ort_status *,                                                     \
      (const ort_env *, const void *, size_t, const ort_session_options *, ort_session **))        \
    F(9, Run, ort_status *,                                                                        \
      (ort_session *, const ort_run_options *, const char *const *in_names,                        \
       const ort_value *const *in, size_t n_in, const char *const *out_names, size_t n_out,        \
       ort_value **out))                                                                           \
    F(10, CreateSessionOptions, ort_status *, (ort_session_options **))                            \
    F(11, SetOptimizedModelFilePath, ort_status *, (ort_session_options *, const char *path))      \
    F(13, SetSessionExecutionMode, ort_status *, (ort_session_options *, int))                     \
    F(14, EnableProfiling, ort_status *, (ort_session_options *, const char *prefix))              \
    F(22, SetSessionLogSeverityLevel, ort_status *, (ort_session_options *, int))                  \
    F(23, SetSessionGraphOptimizationLevel, ort_status *, (ort_session_options *, int))            \
    F(24, SetIntraOpNumThreads, ort_status *, (ort_session_options *, int))                        \
    F(25, SetInterOpNumThreads, ort_status *, (ort_session_options *, int))                        \
    F(30, SessionGetInputCount, ort_status *, (const ort_session *, size_t *))                     \
    F(31, SessionGetOutputCount, ort_status *, (const ort_session *, size_t *))                    \
    F(33, SessionGetInputTypeInfo, ort_status *, (const ort_session *, size_t, ort_type_info **))  \
    F(34, SessionGetOutputTypeInfo, ort_status *, (const ort_session *, size_t, ort_type_info **)) \
    F(36, SessionGetInputName, ort_status *,                                                       \
      (const ort_session *, size_t, ort_allocator *, char **))                                     \
    F(37, SessionGetOutputName, ort_status *,                                                      \
      (const ort_session *, size_t, ort_allocator *, char **))                                     \
    F(49, CreateTensorWithDataAsOrtValue, ort_status *,                                            \
      (const ort_memory_info *, void *, size_t, const int64_t *, size_t, int, ort_value **))       \
    F(51, GetTensorMutableData, ort_status *, (ort_value *, void **))                              \
    F(55, CastTypeInfoToTensorInfo, ort_status *,                                                  \
      (const ort_type_info *, const ort_tensor_info **))                                           \
    F(60, GetTensorElementType, ort_status *, (const ort_tensor_info *, int *))                    \
    F(61, GetDimensionsCount, ort_status *, (const ort_tensor_info *, size_t *))                   \
    F(62, GetDimensions, ort_status *, (const ort_tensor_info *, int64_t *, size_t))               \
    F(63, GetSymbolicDimensions, ort_status *, (const ort_tensor_info *, const char **, size_t))   \
    F(65, GetTensorTypeAndShape, ort_status *, (const ort_value *, ort_tensor_info **))            \
    F(67, GetValueType, ort_status *, (const ort_value *, int *))                                  \
    F(69, CreateCpuMemoryInfo, ort_status *,                                                       \
      (int allocator_type, int mem_type, ort_memory_info **))                                      \
    F(76, AllocatorFree, ort_status *, (ort_allocator *, void *))                                  \
    F(78, GetAllocatorWithDefaultOptions, ort_status *, (ort_allocator **))                        \
    F(92, ReleaseEnv, void, (ort_env *))                                                           \
    F(93, ReleaseStatus, void, (ort_status *))                                                     \
    F(94, ReleaseMemoryInfo, void, (ort_memory_info *))                                            \
    F(95, ReleaseSession, void, (ort_session *))                                                   \
    F(96, ReleaseValue, void, (ort_value *))                                                       \
    F(98, ReleaseTypeInfo, void, (ort_type_info *))                                                \
    F(99, ReleaseTensorTypeAndShapeInfo, void, (ort_tensor_info *))                                \
    F(100, ReleaseSessionOptions, void, (ort_session_options *))                                   \
    F(110, SessionEndProfiling, ort_status *, (ort_session *, ort_allocator *, char **))           \
    F(125, GetAvailableProviders, ort_status *, (char ***, int *))                                 \
    F(126, ReleaseAvailableProviders, ort_status *, (char **, int))                                \
    F(130, AddSessionConfigEntry, ort_status *,                                                    \
      (ort_session_options *, const char *, const char *))                                         \
    F(170, SessionOptionsAppendExecutionProvider_TensorRT_V2, ort_status *,                        \
      (ort_session_options *, const ort_provider_options *))                                       \
    F(171, CreateTensorRTProviderOptions, ort_status *, (ort_provider_options **))                 \
    F(172, UpdateTensorRTProviderOptions, ort_status *,                                            \
      (ort_provider_options *, const char *const *keys, const char *const *values, size_t))        \
    F(174, ReleaseTensorRTProviderOptions, void, (ort_provider_options *))                         \
    F(192, HasValue, ort_status *, (const ort_value *, int *))                                     \
    F(204, SessionOptionsAppendExecutionProvider_CUDA_V2, ort_status *,                            \
      (ort_session_options *, const ort_provider_options *))                                       \
    F(205, CreateCUDAProviderOptions, ort_status *, (ort_provider_options **))                     \
    F(206, UpdateCUDAProviderOptions, ort_status *,                                                \
      (ort_provider_options *, const char *const *keys, const char *const *values, size_t))        \
    F(208, ReleaseCUDAProviderOptions, void, (ort_provider_options *))                             \
    F(216, SessionOptionsAppendExecutionProvider, ort_status *,                                    \
      (ort_session_options *, const char *, const char *const *keys, const char *const *values,    \
       size_t))                                                                                    \
    F(228, RegisterCustomOpsLibrary_V2, ort_status *, (ort_session_options *, const char *path))   \
    F(266, SetUserLoggingFunction, ort_status *,                                                   \
      (ort_session_options *, ort_log_fn, void *))                       /* 1.17 */                \
    F(390, TensorTypeAndShape_HasShape, bool, (const ort_tensor_info *)) /* 1.24 */

enum {
#define F(i, n, r, p) QDQ_ORT_I_##n = i,
    QDQ_ORT_LIST(F)
#undef F
};
#define F(i, n, r, p) typedef r(*qdq_ort_pf_##n) p;
QDQ_ORT_LIST(F)
#undef F

typedef void (*qdq_ort_fn)(void);

typedef struct qdq_ort_api {
    /* stays loaded: worker threads of the library may outlive every session */
    void *handle;
    const qdq_ort_fn *table;
    /* 31 of 1.31.1 */
    unsigned minor;
    char version[32];
    char path[4096];
} qdq_ort_api;

/* QDQ_ORT(api, Run)(session, ...) */
#define QDQ_ORT(api, name) ((qdq_ort_pf_##name)(api)->table[QDQ_ORT_I_##name])

enum { QDQ_ORT_MIN_MINOR = 16, QDQ_ORT_KNOWN_MINOR = 31 };

static inline bool qdq_ort_has(const qdq_ort_api *api, unsigned minor)
{
    return api->minor >= minor;
}

/* Looks for the library as docs/engines.md says and fills *api. QDQ_E_ENGINE tells what was tried
 * and how to get it. `arg`: a file that was named in the engine's spec, or NULL. */
qdq_status qdq_ort_api_load(qdq_ort_api *api, const char *arg, const qdq_engine_opts *opts,
                            qdq_error *err);

/* Turns a status into an error, and releases it. NULL is QDQ_OK. */
qdq_status qdq_ort_check(const qdq_ort_api *api, ort_status *status, const char *what,
                         qdq_error *err);

/* Element types: the enumerations differ behind 23. */
/* QDQ_UNDEFINED where qdq has no such type */
qdq_elem qdq_ort_elem_from(int ort_type);
int qdq_ort_elem_to(const qdq_ort_api *api, qdq_elem e); /* 0 where this release has no such type */

/* Highest opset of the default domain with Q/DQ kernels, and highest IR version, that a release
 * loads. */
void qdq_ort_limits(unsigned minor, int *max_opset, int *max_ir);

#endif /* QDQ_ORT_API_H */
