/* tune_outcome.c - the result of a run, before it begins and for its caller. */
#include "tune/state/tune_outcome.h"

#include <math.h>

#include "base/pack.h"
#include "quant/check/verify_texts.h"

const qdq_tune_accuracy qdq_tune_no_accuracy = {
    .worst = "", .bound_db = NAN, .top1 = NAN, .half_agreement = NAN};

void qdq_tune_begin_result(qdq_tune_result *r)
{
    *r = (qdq_tune_result){.mode = "",
                           .engine = "",
                           .rules_why = "",
                           .reason = "",
                           .wrong = "",
                           .strategy = "",
                           .other_dims.why = "",
                           .sqnr_db = NAN,
                           .speedup = 1,
                           .raw_ms = NAN,
                           .written = qdq_tune_no_accuracy};
}

/* `mode`, `strategy`, and `why` of a float verdict are static texts. */
static void fill(qdq_pack *p, void *to)
{
    qdq_tune_result *r = to;

    r->engine = qdq_pack_string(p, r->engine);
    r->rules_why = qdq_pack_string(p, r->rules_why);
    r->reason = qdq_pack_string(p, r->reason);
    r->wrong = qdq_pack_string(p, r->wrong);
    r->other_dims.why = qdq_pack_string(p, r->other_dims.why);
    r->written.worst = qdq_pack_string(p, r->written.worst);
    r->computed = qdq_pack_array(p, r->computed, 1, sizeof *r->computed);
    qdq_verify_pack(p, r->computed);
    r->baselines = qdq_pack_array(p, r->baselines, r->n_baselines, sizeof *r->baselines);
    for (size_t i = 0; i < r->n_baselines; i++) {
        r->baselines[i].name = qdq_pack_string(p, r->baselines[i].name);
        r->baselines[i].why = qdq_pack_string(p, r->baselines[i].why);
    }
    r->overruled = qdq_pack_array(p, r->overruled, r->n_overruled, sizeof *r->overruled);
    for (size_t i = 0; i < r->n_overruled; i++) {
        r->overruled[i].rule = qdq_pack_string(p, r->overruled[i].rule);
        r->overruled[i].op = qdq_pack_string(p, r->overruled[i].op);
    }
    r->typed = qdq_pack_array(p, r->typed, r->n_typed, sizeof *r->typed);
    for (size_t i = 0; i < r->n_typed; i++) {
        r->typed[i].type = qdq_pack_string(p, r->typed[i].type);
        r->typed[i].instead_of = qdq_pack_string(p, r->typed[i].instead_of);
    }
    r->pareto = qdq_pack_array(p, r->pareto, r->n_pareto, sizeof *r->pareto);
    for (size_t i = 0; i < r->n_pareto; i++) {
        r->pareto[i].file = qdq_pack_string(p, r->pareto[i].file);
        r->pareto[i].plan = qdq_pack_string(p, r->pareto[i].plan);
    }
}

qdq_tune_result *qdq_tune_copy_result(qdq_tune_result *r)
{
    return qdq_pack_struct(r, sizeof *r, fill);
}
