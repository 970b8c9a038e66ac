/* graph_file.h - what an engine said of a model, in the folder of a run: its layers, which later
 * runs read instead of building, and its log. */
#ifndef QDQ_GRAPH_FILE_H
#define QDQ_GRAPH_FILE_H

#include "qdq/engine.h"

typedef struct qdq_graph_file {
    /* DIR/NAME.PRECISION.graph.json: "resnet50", "fp32" */
    const char *dir, *name, *precision;
    const qdq_engine_info *info;
    /* folder in which trtexec left what it exported of `model`; or NULL */
    const char *record;
    const qdq_model *model;
    /* what the engine printed while it built; NULL: it printed nothing, or the layers were known
     * before */
    const char *log;
    /* of all that its layers depend on; NULL: not requested */
    const char *fingerprint;
} qdq_graph_file;

/* Writes NAME.PRECISION.graph.json and .build.log, over older ones. Of trtexec they are what it
 * exported and printed, and its profile lies beside them in .profile.json; of other engines what is
 * known. Without a log, that of an earlier build of the same fingerprint stays. */
qdq_status qdq_graph_file_write(const qdq_graph_file *f, const qdq_layer *g, size_t n,
                                qdq_error *err);

/* Reads them again, with times if there are any. QDQ_E_IO: they are not there. QDQ_E_UNSUPPORTED:
 * not of this fingerprint, as what trtexec exported is of none, or not of this model. */
qdq_status qdq_graph_file_read(const qdq_graph_file *f, const qdq_job *job, qdq_layer **out,
                               size_t *n, qdq_error *err);

#endif /* QDQ_GRAPH_FILE_H */
