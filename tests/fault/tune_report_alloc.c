/* tune_report_alloc.c - report.json of a run has every key, or is not written: each allocation
 * fails once, those of jansson, too. */
#include "support/alloc_fail.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/greedy/greedy.h"
#include "tune/outcome/outcome.h"
#include "quant/check/verify_texts.h"
#include "tune/state/units.h"

/* A run by groups, with one of everything that a report may have. */
typedef struct ended {
    qdq_tune_result out;
    qdq_tune_opts opts;
    qdq_goal_opts goal;
    qdq_tune_details details;
    qdq_input_shape shape;
    qdq_tune_greedy greedy;
    qdq_fusion_scheme what;
    qdq_tune_scheme scheme;
    qdq_tune_kind kind;
    qdq_validate_item item;
    const qdq_tune_kind *kind_of_item;
    size_t typed_of;
    const char *typed_name;
    qdq_tune_step step;
    qdq_verify_result computed;
    qdq_tune_baseline baseline;
    qdq_tune_overruled overruled;
    qdq_tune_typed typed;
    qdq_tune_point point;
    /* the report where no allocation fails */
    char *whole;
} ended;

static void fill(ended *e)
{
    static const qdq_tune_opts defaults = QDQ_TUNE_OPTS_INIT;

    *e = (ended){.opts = defaults, .typed_name = "x"};
    e->shape = (qdq_input_shape){.name = "x", .rank = 2, .dim = {1, 3}};
    e->goal = (qdq_goal_opts)QDQ_GOAL_OPTS_INIT;
    e->opts.goal = &e->goal;
    e->details.set_shapes = &e->shape;
    e->details.n_set_shapes = 1;
    e->details.pareto = 2;
    e->what.kind = QDQ_SCHEME_FULL;
    e->scheme = (qdq_tune_scheme){.what = &e->what, .saved = {.mean_us = 3, .se_us = NAN}};
    e->kind = (qdq_tune_kind){.scheme = &e->scheme, .n_schemes = 1};
    e->item = (qdq_validate_item){.name = "fc"};
    e->kind_of_item = &e->kind;
    e->greedy = (qdq_tune_greedy){.kind = &e->kind_of_item};
    e->greedy.kinds = (qdq_tune_kinds){.at = &e->kind, .n = 1};
    e->greedy.problem.item = &e->item;
    e->greedy.problem.n_items = 1;
    e->step = (qdq_tune_step){.failed = "crashed: SIGSEGV"};
    e->computed = qdq_verify_bare(QDQ_VERIFY_UNKNOWN, "");
    qdq_tune_begin_result(&e->out);
    e->out.computed = &e->computed;
    e->out.mode = "subgraph";
    e->out.strategy = "greedy";
    e->out.why = "it was slower";
    e->out.other_dims.measured = true;
    e->out.n_pareto = e->out.n_baselines = e->out.n_overruled = e->out.n_typed = 1;
    e->baseline = (qdq_tune_baseline){.name = "baseline 1", .why = ""};
    e->overruled = (qdq_tune_overruled){.rule = "matmul", .op = "MatMul", .nodes = 1};
    e->typed = (qdq_tune_typed){.type = "int16", .instead_of = "uint8", .tensors = 1};
    e->point = (qdq_tune_point){.file = "pareto/model_1.onnx", .plan = "pareto/plan_1.json"};
    e->out.baselines = &e->baseline;
    e->out.overruled = &e->overruled;
    e->out.typed = &e->typed;
    e->out.pareto = &e->point;
}

static qdq_status report(void *ctx, qdq_error *err)
{
    ended *e = ctx;
    qdq_tune_state t = {.out = &e->out,
                        .opts = &e->opts,
                        .details = &e->details,
                        .units = qdq_tune_units_of(QDQ_TUNE_SUBGRAPH),
                        .run.greedy = &e->greedy};
    char *text = NULL;
    qdq_status st = QDQ_OK;

    if (!QDQ_PUSH(&t.arena, &t.run.steps, e->step) ||
        !QDQ_PUSH(&t.arena, &t.outcome.typed_name, e->typed_name) ||
        !QDQ_PUSH(&t.arena, &t.outcome.typed_of, e->typed_of))
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_tune_report_text(&t, &text, err);
    if (st == QDQ_OK && e->whole != NULL)
        assert_string_equal(text, e->whole);
    if (st == QDQ_OK && e->whole == NULL)
        e->whole = text;
    else
        qdq_free(text);
    qdq_arena_free(&t.arena);
    return st;
}

TEST(out_of_memory_no_report_lacks_a_key)
{
    static const char *const keys[] = {"\"decisions\": [\n    {\n      \"group\": 0",
                                       "\"failed\": [\n    {",
                                       "\"other_shapes\": {",
                                       "\"set_shape\": [\n    {",
                                       "\"qdq_baselines\": [\n    {",
                                       "\"not_expressed\": {",
                                       "\"overruled\": [\n    {",
                                       "\"tensors\": [\n        \"x\"",
                                       "\"pareto\": [\n    {"};
    qdq_error err = QDQ_ERROR_INIT;
    ended e;

    fill(&e);
    assert_ok(report(&e, &err));
    for (size_t i = 0; i < QDQ_COUNT(keys); i++)
        if (strstr(e.whole, keys[i]) == NULL)
            fail_msg("no %s in\n%s", keys[i], e.whole);
    json_set_alloc_funcs(malloc, free);
    assert_true(test_every_alloc_fails(report, &e) > 200);
    qdq_free(e.whole);
}
