/* verify_state.h - what the parts of qdq_verify_engine() share. */
#ifndef QDQ_VERIFY_STATE_H
#define QDQ_VERIFY_STATE_H

#include "base/arena.h"
#include "ir/ir.h"
#include "opt/eval/eval.h"
#include "qdq/check.h"
#include "quant/calib/array_copy.h"
#include "quant/compare/slices.h"

/* A tensor on both sides, over the samples so far. */
typedef struct qdq_verify_tensor {
    const char *name;
    /* of the sample at hand */
    qdq_held reference, original;
    /* engine against reference */
    qdq_slices same;
    /* against the original */
    qdq_slices of_engine, of_reference;
    /* `same` of the step of a sample that has least */
    double worst_db;
    size_t worst_sample, worst_step;
    /* in a sample, on the two sides */
    bool other_shape;
    /* in one at least */
    bool is_compared;
    /* integers of more than 8 bits: equal or not */
    bool is_exact, differs;
} qdq_verify_tensor;

enum { QDQ_VERIFY_FORM = 400 };

typedef struct qdq_verifying {
    const qdq_model *m;
    /* owned: m for the reference, with data that the engine may round (verify_round.c); NULL: m */
    qdq_model *rounded;
    /* reference NULL: the evaluator */
    qdq_engine *engine, *reference;
    qdq_data *data;
    qdq_verify_opts opts;
    /* with these texts */
    qdq_verify_result *out;
    char reference_name[200], output_name[200], op[64], node[200], form[QDQ_VERIFY_FORM], why[1000],
        not_compared[600];
    qdq_arena arena;
    /* n_outputs: those of m */
    qdq_verify_tensor *output;
    size_t n_outputs;
    /* the output that is refused; NULL: none is */
    const qdq_verify_tensor *worst;
    /* at hand */
    size_t sample, step;
    /* qdq_slices_batch() of it */
    int64_t batch;
} qdq_verifying;

/* One side of a comparison: a model on an engine. */
typedef struct qdq_verify_side {
    qdq_engine *engine;
    qdq_opt_level level;
    /* as in qdq_session_opts */
    const char *const *expose;
} qdq_verify_side;

/* verify_texts.c: a result that knows nothing, with the texts of v. */
void qdq_verify_begin(qdq_verifying *v);

/* Opens a session for this side: of v->m, and of v->rounded for the reference if there is one. */
qdq_status qdq_verify_open(qdq_verifying *v, const qdq_verify_side *side, qdq_session **out,
                           qdq_error *err);

/* The least SQNR in dB of the whole and the slices of an array, or of the whole alone: INFINITY
 * where both are equal or the first one has no signal; -INFINITY where one of them is not
 * finite. */
qdq_status qdq_verify_pair_db(const qdq_array *reference, const qdq_array *a, int64_t batch,
                              bool whole, double *db, qdq_error *err);

/* verify_decide.c: the verdict, what was not compared, and for an unknown verdict why; then the
 * sentence for a wrong one. */
void qdq_verify_decide(qdq_verifying *v);
void qdq_verify_explain(qdq_verifying *v);

/* verify_round.c: sets v->rounded, and says so in the reference's name. *any: there is something to
 * round. */
qdq_status qdq_verify_round(qdq_verifying *v, bool *any, qdq_error *err);

/* verify_search.c: fills in op, node and form of v->out for the output v->worst. */
qdq_status qdq_verify_search(qdq_verifying *v, qdq_error *err);

/* verify_form.c: what the node reads and which nodes read its result, as text. */
void qdq_verify_describe(const qdq_node *n, bool open, char *text, size_t size);

/* Does it read quantized values through a DQ? */
bool qdq_verify_reads_codes(const qdq_node *n);

/* Does the processor that e runs on add products of u8 and s8 with saturation, and the node such
 * products? */
bool qdq_verify_saturates(const qdq_engine *e, const qdq_node *n);

/* verify_eval.c: does qdq's evaluator know every operator of m? If not, *why names the first. */
bool qdq_verify_can_evaluate(const qdq_model *m, char *why, size_t size);

/* Computes the outputs of m from a sample, as qdq_session_run() does. QDQ_E_UNSUPPORTED: a node
 * could not be computed. */
qdq_status qdq_verify_evaluate(const qdq_model *m, const qdq_named_array *in, size_t n,
                               qdq_output_fn fn, void *ctx, qdq_error *err);

/* verify_qdq.c: is it a Q or DQ of ONNX? */
bool qdq_verify_converts(const qdq_node *n);

/* Computes one, as qdq_eval_node() computes others; in[2] may be NULL. */
qdq_status qdq_verify_convert(const qdq_node *n, const qdq_const *const *in, qdq_arena *memory,
                              qdq_const *out, const char **why, qdq_error *err);

#endif /* QDQ_VERIFY_STATE_H */
