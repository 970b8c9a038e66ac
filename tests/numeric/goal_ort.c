/* Goals on a trained model, where accuracy is real. */
#include <math.h>

#include "ort_help.h"

#include "qdq/qdq.h"

static qdq_error err;

typedef struct setting {
    qdq_engine *engine;
    qdq_model *m;
    qdq_target *target;
    qdq_data *calib, *eval;
    qdq_goal_opts goal;
    qdq_plan *plan;
    qdq_model *out;
    qdq_goal_result *r;
} setting;

static setting run(double min_sqnr, double max_drop)
{
    setting s = {.engine = need_ort(), .goal = QDQ_GOAL_OPTS_INIT};
    qdq_data_opts labelled = QDQ_DATA_OPTS_INIT;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;

    s.m = need_model("digits/digits_vit.onnx");
    labelled.labels = "label";
    assert_ok(qdq_target_load("ort-cpu", &s.target, &err));
    assert_ok(qdq_target_set(s.target, "weight.type", "int4", &err)); /* which loses two points */
    assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), s.m, NULL, &s.calib, &err));
    assert_ok(qdq_data_open(test_corpus("digits/digits_test.npz"), s.m, &labelled, &s.eval, &err));
    s.goal.eval = s.eval;
    s.goal.min_sqnr = min_sqnr;
    s.goal.max_drop = max_drop;
    opts.threads = 1;
    opts.samples = 32;
    opts.bias_correction = QDQ_BIAS_CORRECTION_OFF; /* with either no layer has to go */
    opts.smooth = QDQ_SMOOTH_OFF;
    s.goal.count = max_drop >= 0 ? 200 : 8;
    assert_ok(qdq_quantize_goal(s.m, s.target, s.engine, s.calib, &opts, &s.goal, &s.plan, &s.out,
                                &s.r, &err));
    return s;
}

static void put_away(setting *s)
{
    qdq_goal_result_free(s->r);
    qdq_plan_free(s->plan);
    qdq_model_free(s->out);
    qdq_data_close(s->calib);
    qdq_data_close(s->eval);
    qdq_target_free(s->target);
    qdq_model_free(s->m);
}

/* The result keeps what was promised when it is measured once more, and most of the layers stay in
 * 8 bits. */
static void an_accuracy_goal_is_kept_with_few_layers_back(void **state)
{
    (void)state;
    setting s = run(0, 0.005);
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *c;
    size_t gone = 0;

    assert_true(s.r->reached);
    assert_true(s.r->n_steps <= 16);
    for (size_t i = 0; i < s.r->n_layers; i++)
        gone += s.r->layers[i].is_float;
    assert_true(gone > 0 && gone <= 6);
    o.threads = 1;
    o.count = 200;
    assert_ok(qdq_compare(s.engine, s.m, s.out, s.eval, &o, &c, &err));
    assert_true(c->accuracy_a - c->accuracy_b <= 0.005 + 1e-9);
    qdq_free(c);
    put_away(&s);
}

static void an_sqnr_goal_is_kept(void **state)
{
    (void)state;
    setting s = run(30, -1);

    assert_true(s.r->reached && s.r->n_steps <= 16);
    put_away(&s);
}

/* A trial that misses the goal on its first samples has no accuracy, and float keeps its own.
 */
static void accuracies_are_of_all_samples(void **state)
{
    (void)state;
    setting s = run(30, 0.005);
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *c;
    size_t early = 0;

    o.threads = 1;
    o.count = 200;
    assert_ok(qdq_compare(s.engine, s.m, s.out, s.eval, &o, &c, &err));
    assert_true(s.r->float_accuracy == c->accuracy_a);
    qdq_free(c);
    for (size_t i = 0; i < s.r->n_steps; i++) {
        const qdq_goal_step *step = &s.r->steps[i];

        early += isnan(step->accuracy);
        assert_true(!isnan(step->accuracy) || step->sqnr_db < 30);
    }
    assert_true(early > 0 && !isnan(s.r->steps[0].accuracy));
    put_away(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_accuracy_goal_is_kept_with_few_layers_back),
        cmocka_unit_test(an_sqnr_goal_is_kept),
        cmocka_unit_test(accuracies_are_of_all_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
