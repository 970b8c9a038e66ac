/* quantize.c - see the header. */
#include "support/quantize.h"

#include <stdio.h>

#include "qdq/qdq.h"
#include "quant/half_precision/widen.h"
#include "quant/target_fit.h"
#include "support/test.h"

/* What the engine would get if it refused 16-bit floats. */
static qdq_status widen(const qdq_model *m, qdq_error *err)
{
    qdq_model *wide = NULL;
    qdq_status st = m != NULL ? qdq_model_widen(m, &wide, err) : QDQ_OK;

    qdq_model_free(wide);
    return st;
}

/* `given`: NULL for ort-cpu, which is loaded first. */
static qdq_status quantize_on_sim(const char *model, const char *cost, const qdq_target *given,
                                  bool widens, qdq_error *err)
{
    qdq_model *m = NULL, *q = NULL;
    qdq_engine *e = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL, *imported = NULL;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    char spec[600], *text = NULL;
    qdq_status st = qdq_model_load(model, NULL, &m, err);

    snprintf(spec, sizeof spec, "sim:%s", cost);
    if (st == QDQ_OK)
        st = qdq_engine_open(spec, NULL, &e, err);
    if (st == QDQ_OK && given == NULL)
        st = qdq_target_load("ort-cpu", &t, err);
    if (st == QDQ_OK)
        st = qdq_plan_make(m, given != NULL ? given : t, e, NULL, &opts, &p, err);
    if (st == QDQ_OK)
        st = qdq_plan_to_text(p, &text, err);
    if (st == QDQ_OK)
        st = qdq_plan_apply(p, m, false, NULL, &q, err);
    if (st == QDQ_OK)
        st = qdq_plan_import(q, NULL, &imported, NULL, err);
    if (st == QDQ_OK && widens)
        st = widen(q, err);
    qdq_free(text);
    qdq_plan_free(imported);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_target_free(t);
    qdq_engine_close(e);
    qdq_model_free(m);
    return st;
}

qdq_status test_quantize_on_sim(const char *model, const char *cost, qdq_error *err)
{
    return quantize_on_sim(model, cost, NULL, false, err);
}

qdq_status test_quantize_for_on_sim(const char *model, const char *cost, const qdq_target *t,
                                    qdq_error *err)
{
    return quantize_on_sim(model, cost, t, false, err);
}

qdq_status test_quantize_half_on_sim(const char *model, const char *cost, const qdq_target *t,
                                     qdq_error *err)
{
    return quantize_on_sim(model, cost, t, true, err);
}

qdq_target *test_fitted_target(const char *model, const char *key, const char *value)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL, *fitted = NULL;
    qdq_model *m = NULL;

    assert_ok(qdq_model_load(model, NULL, &m, &err));
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    if (key != NULL)
        assert_ok(qdq_target_set(t, key, value, &err));
    assert_ok(qdq_target_fit(m, t, QDQ_CPU_VNNI, NULL, &fitted, &err));
    qdq_model_free(m);
    if (fitted == NULL)
        return t;
    qdq_target_free(t);
    return fitted;
}

qdq_status test_quantize_goal_on_sim(const char *model, const char *cost, qdq_error *err)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_goal_result *r = NULL;
    qdq_model *m = NULL, *q = NULL;
    qdq_engine *e = NULL;
    qdq_target *t = NULL;
    qdq_data *data = NULL;
    qdq_plan *p = NULL;
    qdq_report_opts page = QDQ_REPORT_OPTS_INIT;
    char spec[600], path[600];
    qdq_status st = qdq_model_load(model, NULL, &m, err);

    snprintf(spec, sizeof spec, "sim:%s", cost);
    snprintf(path, sizeof path, "%s/page.html", test_dir());
    goal.min_sqnr = 300; /* nobody reaches it: layers go */
    goal.count = 1;
    goal.max_evaluations = 3;
    if (st == QDQ_OK)
        st = qdq_engine_open(spec, NULL, &e, err);
    if (st == QDQ_OK)
        st = qdq_target_load("ort-cpu", &t, err);
    if (st == QDQ_OK)
        st = qdq_data_open("random:1", m, NULL, &data, err);
    if (st == QDQ_OK)
        st = qdq_quantize_goal(m, t, e, data, NULL, &goal, &p, &q, &r, err);
    page.data = data;
    page.count = 1;
    page.goal = r;
    if (st == QDQ_OK)
        st = qdq_report_write(m, q, p, e, &page, path, true, err);
    qdq_goal_result_free(r);
    qdq_model_free(q);
    qdq_plan_free(p);
    qdq_data_close(data);
    qdq_target_free(t);
    qdq_engine_close(e);
    qdq_model_free(m);
    return st;
}
