/* openvino_api.h - OpenVINO's C interface, called through functions that are looked up by name at
 * run time.
 *
 * No header of OpenVINO is needed to build this: what is used of openvino/c/ is declared here, and
 * openvino_api.c proves that a library agrees before anything else is asked of it. Only openvino.c
 * and its neighbours may include this. */
#ifndef QDQ_OPENVINO_API_H
#define QDQ_OPENVINO_API_H

#include "qdq/engine.h"

typedef struct ov_core ov_core;
typedef struct ov_model ov_model;
typedef struct ov_compiled_model ov_compiled_model;
typedef struct ov_infer_request ov_infer_request;
typedef struct ov_tensor ov_tensor;
typedef struct ov_port ov_port; /* ov_output_const_port_t */

typedef struct ov_version {
    const char *build, *description;
} ov_version;

typedef struct ov_shape {
    int64_t rank;
    int64_t *dim;
} ov_shape;

typedef struct ov_dimension {
    /* -1: any */
    int64_t min, max;
} ov_dimension;

typedef struct ov_partial_shape {
    ov_dimension rank;
    ov_dimension *dim;
} ov_partial_shape;

typedef struct ov_property {
    const char *key;
    /* text */
    const void *value;
} ov_property;

typedef struct ov_profiling_info {
    /* QDQ_OV_EXECUTED: it ran */
    int status;
    int64_t real_us, cpu_us;
    const char *name, *exec_type, *node_type;
} ov_profiling_info;

typedef struct ov_profiling_list {
    ov_profiling_info *at;
    size_t n;
} ov_profiling_list;

enum { QDQ_OV_EXECUTED = 2, QDQ_OV_INVALID_C_PARAM = -14, QDQ_OV_UNKNOWN_EXCEPTION = -17 };

/* F(name without "ov_", result, parameters) */
#define QDQ_OV_LIST(F)                                                                             \
    F(get_openvino_version, int, (ov_version *))                                                   \
    F(version_free, void, (ov_version *))                                                          \
    F(get_error_info, const char *, (int))                                                         \
    F(get_last_err_msg, const char *, (void))                                                      \
    F(free, void, (const char *))                                                                  \
    F(core_create, int, (ov_core **))                                                              \
    F(core_free, void, (ov_core *))                                                                \
    F(core_add_extension, int, (const ov_core *, const char *))                                    \
    F(core_get_property, int, (const ov_core *, const char *, const char *, char **))              \
    F(core_read_model_from_memory_buffer, int,                                                     \
      (const ov_core *, const char *, size_t, const ov_tensor *, ov_model **))                     \
    F(core_compile_model_props, int,                                                               \
      (const ov_core *, const ov_model *, const char *, size_t, const ov_property *,               \
       ov_compiled_model **))                                                                      \
    F(model_free, void, (ov_model *))                                                              \
    F(model_inputs_size, int, (const ov_model *, size_t *))                                        \
    F(model_outputs_size, int, (const ov_model *, size_t *))                                       \
    F(model_const_input_by_index, int, (const ov_model *, size_t, ov_port **))                     \
    F(model_const_output_by_index, int, (const ov_model *, size_t, ov_port **))                    \
    F(model_is_dynamic, bool, (const ov_model *))                                                  \
    F(model_reshape_by_port_indexes, int,                                                          \
      (const ov_model *, const size_t *, const ov_partial_shape *, size_t))                        \
    F(compiled_model_free, void, (ov_compiled_model *))                                            \
    F(compiled_model_create_infer_request, int, (const ov_compiled_model *, ov_infer_request **))  \
    F(compiled_model_get_runtime_model, int, (const ov_compiled_model *, ov_model **))             \
    F(infer_request_free, void, (ov_infer_request *))                                              \
    F(infer_request_infer, int, (ov_infer_request *))                                              \
    F(infer_request_set_input_tensor_by_index, int,                                                \
      (ov_infer_request *, size_t, const ov_tensor *))                                             \
    F(infer_request_get_output_tensor_by_index, int,                                               \
      (const ov_infer_request *, size_t, ov_tensor **))                                            \
    F(infer_request_get_profiling_info, int, (const ov_infer_request *, ov_profiling_list *))      \
    F(profiling_info_list_free, void, (ov_profiling_list *))                                       \
    F(port_get_partial_shape, int, (const ov_port *, ov_partial_shape *))                          \
    F(port_get_any_name, int, (const ov_port *, char **))                                          \
    F(port_get_element_type, int, (const ov_port *, int *))                                        \
    F(output_const_port_free, void, (ov_port *))                                                   \
    F(partial_shape_free, void, (ov_partial_shape *))                                              \
    F(shape_free, int, (ov_shape *))                                                               \
    F(tensor_create, int, (int, ov_shape, ov_tensor **))                                           \
    F(tensor_create_from_host_ptr, int, (int, ov_shape, void *, ov_tensor **))                     \
    F(tensor_free, void, (ov_tensor *))                                                            \
    F(tensor_get_shape, int, (const ov_tensor *, ov_shape *))                                      \
    F(tensor_get_element_type, int, (const ov_tensor *, int *))                                    \
    F(tensor_get_byte_size, int, (const ov_tensor *, size_t *))                                    \
    F(tensor_data, int, (const ov_tensor *, void **))

typedef struct qdq_ov_api {
    /* stays loaded: its threads may outlive every session */
    void *handle;
#define F(name, result, parameters) result(*name) parameters;
    QDQ_OV_LIST(F)
#undef F
    /* "2026.4.1" */
    char version[32];
    char path[4096];
} qdq_ov_api;

enum { QDQ_OV_MIN_YEAR = 2025 };

/* Looks for the library as docs/openvino.md says and fills *api. QDQ_E_ENGINE tells what was tried
 * and how to get it. `arg`: a file that was named in the engine's spec, or NULL. */
qdq_status qdq_ov_api_load(qdq_ov_api *api, const char *arg, const qdq_engine_opts *opts,
                           qdq_error *err);

/* Turns a status into an error with the library's own words. 0 is QDQ_OK. */
qdq_status qdq_ov_check(const qdq_ov_api *api, int status, const char *what, qdq_error *err);

/* Element types. QDQ_UNDEFINED, -1: the other side has no such type, or it is not carried here:
 * types below a byte are packed in another order, and strings are no numbers. */
qdq_elem qdq_ov_elem_from(int type);
int qdq_ov_elem_to(qdq_elem e);

#endif /* QDQ_OPENVINO_API_H */
