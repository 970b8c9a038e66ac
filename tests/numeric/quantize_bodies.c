/* quantize_bodies.c - the bodies of If, Loop and Scan on ONNX Runtime: samples reach them, what
 * comes out is close, plans name what is inside, and importing gives the plan back. */
#include <math.h>

#include "ir/ir.h"
#include "numeric/ort_help.h"
#include "quant/plan/plan.h"
#include "support/placed.h"

typedef struct done {
    qdq_model *m, *q;
    qdq_plan *plan;
    qdq_data *data;
} done;

/* ort-cpu, but without the rules that leave small products float. */
static void load_target(qdq_target **t)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_target_load("ort-cpu", t, &err));
    assert_ok(qdq_target_set(*t, "stay_float", "[]", &err));
    /* no processor saturates, and a plan that is imported has the same scales by the same rule */
    assert_ok(qdq_target_set(*t, "weight.reduced", "true", &err));
}

static done quantized(qdq_engine *e, const char *text)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    done d = {.m = test_model(text)};
    qdq_target *t = NULL;

    dopts.max_samples = 48;
    opts.samples = 32;
    assert_ok(qdq_data_open("random:5", d.m, &dopts, &d.data, &err));
    load_target(&t);
    assert_ok(qdq_quantize(d.m, t, e, d.data, &opts, &d.plan, &d.q, &err));
    qdq_target_free(t);
    return d;
}

static void free_done(done d)
{
    qdq_plan_free(d.plan);
    qdq_data_close(d.data);
    qdq_model_free(d.m);
    qdq_model_free(d.q);
}

static void assert_close(qdq_engine *e, const done *d, double least)
{
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_error err = QDQ_ERROR_INIT;

    opts.first = 32;
    opts.count = 16;
    assert_ok(qdq_compare(e, d->m, d->q, d->data, &opts, &r, &err));
    for (size_t i = 0; i < r->n_outputs; i++)
        if (!(r->outputs[i].sqnr_db >= least))
            fail_msg("output '%s': %g dB, want %g", r->outputs[i].name, r->outputs[i].sqnr_db,
                     least);
    qdq_free(r);
}

/* apply(p) as text gives the same model; import(apply(p)) = p; and stripped, the model is float
 * again. */
static void assert_plan_says_it_all(qdq_engine *e, done *d, double least)
{
    qdq_plan *parsed = NULL, *imported = NULL;
    qdq_model *stripped = NULL;
    qdq_error err = QDQ_ERROR_INIT;
    char *plan, *a, *b;

    test_assert_plan_replays(d->plan, d->m, d->q);
    assert_ok(qdq_plan_to_text(d->plan, &plan, &err));
    assert_ok(qdq_plan_parse(plan, strlen(plan), "plan", &parsed, &err));
    qdq_free(plan);
    assert_ok(qdq_plan_import(d->q, NULL, &imported, &stripped, &err));
    a = strstr(plan = test_plan_essence(parsed), "\"tensors\"");
    b = test_plan_essence(imported);
    assert_string_equal(strstr(b, "\"tensors\""), a);
    qdq_free(plan);
    qdq_free(b);
    QDQ_FOR_GRAPHS (g, stripped)
        QDQ_FOR_NODES (n, g)
            assert_true(n->op != QDQ_OP_QUANTIZELINEAR && n->op != QDQ_OP_DEQUANTIZELINEAR);
    qdq_model_free(d->q);
    d->q = stripped;
    assert_close(e, d, least);
    qdq_plan_free(parsed);
    qdq_plan_free(imported);
}

/* Both, and frees d. */
static void assert_sound(qdq_engine *e, done d, double least)
{
    assert_close(e, &d, least);
    assert_plan_says_it_all(e, &d, least);
    free_done(d);
}

/* Captures an activation that is quantized outside, too, and a weight that both branches read. */
TEST(both_branches_of_an_if_are_quantized)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_true(test_is_quantized(d.plan, "m0") && test_is_quantized(d.plan, "m1") &&
                test_is_quantized(d.plan, "m2") && test_is_quantized(d.plan, "m3") &&
                test_is_quantized(d.plan, "m4"));
    assert_sound(e, d, 30);
}

/* The smaller branch comes last, and had the scale of the first; where it is the larger one, it was
 * clipped. */
TEST(what_two_branches_capture_has_the_range_that_each_of_them_sees)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));
    float then_scale = 0, else_scale = 0;

    for (size_t i = 0; i < d.plan->tensors.n; i++) {
        const qdq_plan_tensor *t = &d.plan->tensors.at[i];

        if (qdq_edges_have(&t->consumers, "m1", 0))
            then_scale = t->qparam.scale;
        if (qdq_edges_have(&t->consumers, "m2", 0))
            else_scale = t->qparam.scale;
    }
    assert_true(else_scale > 0 && else_scale <= 3.001F / 255);
    assert_true(then_scale > else_scale * 1.2F);
    assert_sound(e, d, 30);
}

TEST(a_branch_that_no_sample_takes_stays_float)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_true(test_is_quantized(d.plan, "m1") && !test_is_quantized(d.plan, "m2"));
    assert_string_equal(test_reason(d.plan, "m2"), "inside If: no sample reached it");
    assert_sound(e, d, 30);
}

TEST(a_loop_is_quantized_over_all_its_iterations)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_true(test_is_quantized(d.plan, "m1") && test_is_quantized(d.plan, "m2"));
    assert_sound(e, d, 20);
}

TEST(a_loop_that_ends_by_its_condition_is_followed)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_true(test_is_quantized(d.plan, "m1"));
    assert_plan_says_it_all(e, &d, 15);
    free_done(d);
}

TEST(a_scan_is_quantized_slice_by_slice)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_true(test_is_quantized(d.plan, "m1") && test_is_quantized(d.plan, "m2"));
    assert_sound(e, d, 25);
}

TEST(a_body_inside_a_body_is_quantized)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_true(test_is_quantized(d.plan, "m1") && test_is_quantized(d.plan, "m2"));
    assert_sound(e, d, 20);
}

TEST(a_function_is_inlined_first)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_int_equal(d.plan->quantized.n, 4);
    assert_close(e, &d, 20);
    free_done(d);
}

/* Values of the two branches have the same names: the plan tells them apart all the same. */
TEST(names_that_branches_share_are_told_apart)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_int_equal(d.plan->quantized.n, 4);
    assert_sound(e, d, 25);
}

TEST(a_body_that_cannot_be_run_stays_float_with_the_reason)
{
    qdq_engine *e = need_ort();
    done d = quantized(e, test_graph_text(__func__));

    assert_true(test_is_quantized(d.plan, "m2"));
    assert_non_null(
        strstr(test_reason(d.plan, "m1"), "inside If: not known, or no tensor, is the type of l"));
    free_done(d);
}

/* What is quantized inside, and the rest of it in 16 bits. */
TEST(bodies_go_with_a_rest_in_float16)
{
    qdq_engine *e = need_ort();
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    done d = quantized(e, test_graph_text(__func__));

    qdq_plan_free(d.plan);
    qdq_model_free(d.q);
    load_target(&t);
    assert_ok(qdq_target_set(t, "rest.type", "float16", &err));
    opts.samples = 32;
    assert_ok(qdq_quantize(d.m, t, e, d.data, &opts, &d.plan, &d.q, &err));
    qdq_target_free(t);
    assert_sound(e, d, 25);
}

/* --- many plans ------------------------------------------------------------------------------- */

enum { FEED_SAMPLES = 16 };

/* Rows that differ, and how often one was asked for. */
typedef struct feed {
    size_t at, calls;
    float x[8];
    qdq_named_array in;
} feed;

static qdq_status next_sample(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *err)
{
    feed *f = ctx;

    (void)err;
    if (f->at == FEED_SAMPLES)
        return QDQ_OK;
    for (size_t i = 0; i < 8; i++)
        f->x[i] = (float)((f->at * 8 + i) * 37 % 101) / 25 - 2;
    f->at++;
    f->calls++;
    f->in = (qdq_named_array){"x", {.elem = QDQ_FLOAT, .rank = 2, .dim = {2, 4}, .bytes = 32}};
    f->in.array.data = f->x;
    *in = &f->in;
    *n = 1;
    return QDQ_OK;
}

static qdq_status first_sample(void *ctx, qdq_error *err)
{
    (void)err;
    ((feed *)ctx)->at = 0;
    return QDQ_OK;
}

/* Each plan of a search has the same samples in its bodies, those inside bodies included: what runs
 * once more for each is its comparison. */
TEST(samples_reach_the_bodies_once_for_all_plans_of_a_goal)
{
    qdq_engine *e = need_ort();
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_data_source source = QDQ_DATA_SOURCE_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_goal_result *r = NULL;
    feed f = {.at = 0};
    done d = {.m = test_graph(__func__)};
    qdq_target *t = NULL;

    source.ctx = &f;
    source.next = next_sample;
    source.rewind = first_sample;
    source.count = FEED_SAMPLES;
    assert_ok(qdq_data_from(&source, d.m, NULL, &d.data, &err));
    load_target(&t);
    goal.min_sqnr = 60;
    opts.threads = 1;
    assert_ok(qdq_quantize_goal(d.m, t, e, d.data, &opts, &goal, &d.plan, &d.q, &r, &err));
    assert_true(r->n_steps > 4);
    /* that calibrates and that records, layers, and float's outputs */
    assert_in_range(f.calls, FEED_SAMPLES, (r->n_steps + 5) * FEED_SAMPLES);
    qdq_goal_result_free(r);
    qdq_target_free(t);
    free_done(d);
}
