/* tune_write.c - what a run leaves in its folder. Every file appears whole, by rename: a reader
 * never sees half of one. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/json.h"
#include "tune/baseline/baseline.h"
#include "tune/candidate/tune_files.h"
#include "tune/greedy/greedy.h"
#include "tune/lab/tune_fault.h"
#include "tune/outcome/outcome.h"
#include "tune/problem/tune_known.h"
#include "tune/state/units.h"

/* --- report.json ------------------------------------------------------------------------------ */

static void put_number(json_t *j, const char *key, double x)
{
    json_object_set_new(j, key, qdq_json_real(x));
}

void qdq_tune_put_regions(const qdq_tuning *t, json_t *j)
{
    json_object_set_new(j, "regions", json_integer((json_int_t)t->out->regions));
    json_object_set_new(j, "patterns", json_integer((json_int_t)t->out->patterns));
}

void qdq_tune_put_groups(const qdq_tuning *t, json_t *j)
{
    const qdq_tune_result *r = t->out;

    json_object_set_new(j, "strategy", json_string(r->strategy));
    json_object_set_new(j, "groups", json_integer((json_int_t)r->groups));
    json_object_set_new(j, "keys", json_integer((json_int_t)r->keys));
    put_number(j, "raw_ms", r->raw_ms);
    json_object_set_new(j, "kept", json_integer(r->kept));
    json_object_set_new(j, "rejected", json_integer(r->rejected));
    json_object_set_new(j, "undecided", json_integer(r->undecided));
    qdq_tune_put_greedy(t, j);
}

static json_t *describe_point(const qdq_tune_point *p)
{
    json_t *j = json_object();

    json_object_set_new(j, "file", json_string(p->file));
    json_object_set_new(j, "plan", json_string(p->plan));
    put_number(j, "ms", p->ms);
    put_number(j, "ms_low", p->ms_low);
    put_number(j, "ms_high", p->ms_high);
    put_number(j, "predicted_ms", p->predicted_ms);
    put_number(j, "sqnr_db", p->sqnr_db);
    put_number(j, "accuracy", p->accuracy);
    json_object_set_new(j, "nodes", json_integer(p->nodes));
    json_object_set_new(j, "dominated", json_boolean(p->dominated));
    return j;
}

static void put_front(json_t *j, const qdq_tune_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_pareto; i++)
        json_array_append_new(list, describe_point(&r->pareto[i]));
    json_object_set_new(j, "pareto", list);
}

/* Of what was written, and of what was not for its sake. */
static json_t *describe_computed(const qdq_tune_result *r)
{
    json_t *j = json_object();

    json_object_set_new(j, "result", json_string(qdq_verify_verdict_name(r->computed.verdict)));
    json_object_set_new(j, "reference", json_string(r->computed.reference));
    put_number(j, "agreement_db", r->computed.sqnr_db);
    json_object_set_new(j, "n_samples", json_integer((json_int_t)r->computed.samples));
    json_object_set_new(j, "why",
                        r->computed.why[0] != '\0' ? json_string(r->computed.why) : json_null());
    json_object_set_new(j, "not_compared",
                        r->computed.not_compared[0] != '\0' ? json_string(r->computed.not_compared)
                                                            : json_null());
    json_object_set_new(j, "refused", json_integer(r->n_wrong));
    json_object_set_new(j, "refused_why", r->n_wrong > 0 ? json_string(r->wrong) : json_null());
    return j;
}

static json_t *describe_shapes(const qdq_input_shape *s, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *j = json_object(), *dims = json_array();

        for (int k = 0; k < s[i].rank; k++)
            json_array_append_new(dims, json_integer(s[i].dim[k]));
        json_object_set_new(j, "input", json_string(s[i].name));
        json_object_set_new(j, "shape", dims);
        json_array_append_new(list, j);
    }
    return list;
}

/* null: nothing was written that could be run in another way. */
static json_t *describe_other_dims(const qdq_tune_other_dims *o)
{
    json_t *j = o->measured || o->why[0] != '\0' ? json_object() : json_null();

    if (json_is_null(j))
        return j;
    json_object_set_new(j, "shapes", json_string(qdq_tune_dims_name(o->dims)));
    json_object_set_new(j, "not_measured", o->why[0] != '\0' ? json_string(o->why) : json_null());
    put_number(j, "baseline_ms", o->measured ? o->baseline_ms : NAN);
    put_number(j, "final_ms", o->measured ? o->final_ms : NAN);
    put_number(j, "speedup", o->measured ? o->speedup : NAN);
    put_number(j, "ci_low", o->measured ? o->ci_low : NAN);
    put_number(j, "ci_high", o->measured ? o->ci_high : NAN);
    return j;
}

/* Of models with Q/DQ that were given. */
static json_t *describe_baseline(const qdq_tune_baseline *b)
{
    const qdq_tune_unsaid *u = &b->unsaid;
    json_t *j = json_object();

    json_object_set_new(j, "file", json_string(b->name));
    json_object_set_new(j, "result", json_string(qdq_tune_fate_name(b->fate)));
    json_object_set_new(j, "why", b->why[0] != '\0' ? json_string(b->why) : json_null());
    put_number(j, "ms", b->ms);
    put_number(j, "speedup", b->speedup);
    put_number(j, "ci_low", b->ci_low);
    put_number(j, "ci_high", b->ci_high);
    put_number(j, "sqnr_db", b->sqnr_db);
    put_number(j, "accuracy", b->accuracy);
    put_number(j, "agreement_db", b->agreement_db);
    json_object_set_new(j, "not_expressed",
                        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "edges", (int)u->edges, "types",
                                  (int)u->types, "scales", (int)u->scales, "weights",
                                  (int)u->weights, "gone", (int)u->gone, "other", (int)u->other));
    return j;
}

static void put_baselines(json_t *j, const qdq_tune_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_baselines; i++)
        json_array_append_new(list, describe_baseline(&r->baselines[i]));
    json_object_set_new(j, "qdq_baselines", list);
}

/* Rules that the written plan contradicts. */
static void put_overruled(json_t *j, const qdq_tune_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_overruled; i++) {
        const qdq_tune_overruled *o = &r->overruled[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:i}", "rule", o->rule, "op", o->op, "now",
                                        o->quantized ? "8 bits" : "float", "nodes", (int)o->nodes));
    }
    json_object_set_new(j, "overruled", list);
}

/* Tensors with another type than the target's. */
static void put_types(json_t *j, const qdq_tuning *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->out->n_typed; i++) {
        const qdq_tune_typed *o = &t->out->typed[i];
        json_t *names = json_array();
        for (size_t k = 0; k < t->typed_name.n; k++)
            if (t->typed_of.at[k] == i)
                json_array_append_new(names, qdq_json_new_text(t->typed_name.at[k]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:i, s:f}", "type", o->type,
                                              "instead_of", o->instead_of, "tensors", names,
                                              "trial", (int)o->trial, "gain", o->gain));
    }
    json_object_set_new(j, "types", list);
}

/* Trials that gave no time, in order. */
static void put_failed(json_t *j, const qdq_tuning *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->steps.n; i++) {
        const char *why = t->steps.at[i].failed;
        if (why != NULL)
            json_array_append_new(list, json_pack("{s:I, s:s, s:o}", "trial", (json_int_t)i + 1,
                                                  "fault", qdq_tune_fault_name(why), "why",
                                                  qdq_json_new_text(why)));
    }
    json_object_set_new(j, "failed", list);
}

static json_t *report(const qdq_tuning *t)
{
    const qdq_tune_result *r = t->out;
    json_t *j = json_object();

    json_object_set_new(j, "mode", json_string(r->mode));
    json_object_set_new(j, "engine", json_string(r->engine));
    put_number(j, "baseline_ms", r->baseline_ms);
    put_number(j, "rules_ms", r->rules_ms);
    json_object_set_new(j, "rules_why",
                        r->rules_why[0] != '\0' ? json_string(r->rules_why) : json_null());
    put_number(j, "final_ms", r->final_ms);
    put_number(j, "predicted_ms", r->predicted_ms);
    put_number(j, "speedup", r->speedup);
    put_number(j, "ci_low", r->ci_low);
    put_number(j, "ci_high", r->ci_high);
    json_object_set_new(j, "shapes", json_string(qdq_tune_dims_name(r->dims)));
    json_object_set_new(j, "other_shapes", describe_other_dims(&r->other_dims));
    json_object_set_new(j, "builds", json_integer(r->builds));
    json_object_set_new(j, "timings", json_integer(r->timings));
    json_object_set_new(j, "ruled_out", json_integer(r->ruled_out));
    put_number(j, "seconds", r->seconds);
    put_number(j, "calibration_seconds", r->calibration_s);
    json_object_set_new(j, "verdict", json_string(qdq_tune_verdict_name(r->verdict)));
    json_object_set_new(j, "why", r->why != NULL ? json_string(r->why) : json_null());
    json_object_set_new(j, "tried", json_integer(r->tried));
    json_object_set_new(j, "crashed", json_integer(r->crashed));
    put_failed(j, t);
    json_object_set_new(j, "reason", r->reason[0] != '\0' ? json_string(r->reason) : json_null());
    t->units->put(t, j);
    put_number(j, "min_detectable_gain", r->mde);
    put_number(j, "sqnr_db", r->sqnr_db);
    json_object_set_new(j, "worst",
                        r->written.worst[0] != '\0' ? json_string(r->written.worst) : json_null());
    json_object_set_new(j, "judged_on", json_integer((json_int_t)r->written.samples));
    put_number(j, "bound_db", r->written.bound_db);
    put_number(j, "top1", r->written.top1);
    put_number(j, "half_agreement", r->written.half_agreement);
    json_object_set_new(j, "placement_only", json_boolean(r->placement_only));
    json_object_set_new(j, "resumed", json_boolean(r->resumed));
    json_object_set_new(j, "budget_used_up", json_boolean(r->ended_early));
    json_object_set_new(j, "engine_check", describe_computed(r));
    put_overruled(j, r);
    put_types(j, t);
    if (t->opts->n_set_shapes > 0)
        json_object_set_new(j, "set_shape",
                            describe_shapes(t->opts->set_shapes, t->opts->n_set_shapes));
    if (r->n_baselines > 0)
        put_baselines(j, r);
    if (t->opts->pareto > 0)
        put_front(j, r);
    return j;
}

qdq_status qdq_tune_write_results(qdq_tuning *t, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "report.json");
    json_t *j = report(t);
    char *text = NULL;

    if (j == NULL || path == NULL) {
        json_decref(j);
        return qdq_nomem(err);
    }
    qdq_status st = qdq_json_dump(j, &text, err);
    json_decref(j);
    if (st == QDQ_OK)
        st = qdq_write_file(path, true, text, strlen(text), err);
    if (st == QDQ_OK)
        st = t->units->finish(t, err);
    if (st == QDQ_OK)
        st = qdq_tune_write_page(t, err);
    if (st == QDQ_OK)
        st = qdq_tune_store_finish(t->store, &t->run, text, err);
    qdq_free(text);
    return st;
}
