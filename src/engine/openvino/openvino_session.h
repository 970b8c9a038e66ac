/* openvino_session.h - what the files of the OpenVINO engine share. */
#ifndef QDQ_OPENVINO_SESSION_H
#define QDQ_OPENVINO_SESSION_H

#include "base/buf.h"
#include "engine/engine_ops.h"
#include "engine/openvino/openvino_api.h"
#include "engine/openvino/openvino_layers.h"
#include "ir/ir.h"

typedef struct qdq_ov {
    qdq_ov_api api;
    ov_core *core;
    /* NULL: qdq-openvino.so is not there, or is of another version */
    qdq_ov_layers_fn *layers;
} qdq_ov;

#define QDQ_OV_UNUSED SIZE_MAX /* an input that nothing reads */

typedef struct qdq_ov_shape {
    int rank;
    int64_t dim[QDQ_MAX_RANK];
} qdq_ov_shape;

typedef struct qdq_ov_session {
    const qdq_ov *ov;
    /* kept where shapes are open: it is asked whether inputs fit */
    ov_model *model;
    /* of the inputs, which `model` has now; rank -1: none */
    qdq_ov_shape *fitted;
    ov_compiled_model *compiled;
    /* for runs */
    ov_infer_request *request;
    /* of each input of the session, in the library's count, or QDQ_OV_UNUSED */
    size_t *in_index;
    qdq_opt_level level;
    int threads;
    bool profile, fake_quant;

    /* For timing and profiles: a request of `compiled`, with the inputs of the last bind(). */
    ov_infer_request *timed;
    /* s->n_in of them */
    ov_tensor **bound;
} qdq_ov_session;

/* openvino_weights.c: the model as OpenVINO shall get it; its weights are references into our
 * memory. */
qdq_status qdq_ov_model_bytes(const qdq_model *m, qdq_buf *out, qdq_error *err);

/* openvino_run.c */
qdq_status qdq_ov_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                      qdq_error *err);
qdq_status qdq_ov_bind(qdq_session *s, const qdq_array *const *in, qdq_error *err);
qdq_status qdq_ov_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err);
void qdq_ov_unbind(qdq_session *s);

/* openvino_profile.c */
qdq_status qdq_ov_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                          qdq_layer **out, size_t *n, qdq_error *err);

/* openvino_groups.c */
void qdq_ov_load_helper(qdq_ov *o, const qdq_engine_opts *opts);
qdq_status qdq_ov_groups(qdq_session *s, const qdq_array *const *in, unsigned runs, qdq_layer **out,
                         size_t *n, qdq_error *err);

/* openvino_probe.c: proves that 8-bit models will not kill the process; QDQ_E_ENGINE says what must
 * be in the environment where they would. */
const char *qdq_ov_environment(const qdq_engine_opts *opts); /* as qdq_engine_environment() */
qdq_status qdq_ov_probe(const qdq_engine_opts *opts, qdq_error *err);

#endif /* QDQ_OPENVINO_SESSION_H */
