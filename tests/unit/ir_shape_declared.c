/* ir_shape_declared.c - what inference does with what the file says: contradictions, cycles,
 * sequences, and the cancel flag. The rest is in text/infer-declared. */
#include "support/shapes.h"

#include "ir/edit.h"
#include "ir/shape.h"

typedef struct recorded_lines {
    int n;
    char last[300];
} recorded_lines;

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    recorded_lines *h = ctx;

    assert_int_equal(level, QDQ_LOG_WARNING);
    h->n++;
    snprintf(h->last, sizeof h->last, "%s", text);
}

static qdq_model *infer(const char *text, bool strict, bool forget, recorded_lines *h)
{
    qdq_model *m = test_model(text);
    qdq_job job = QDQ_JOB_INIT;
    qdq_shape_opts opts = {forget, strict, &job};
    qdq_error err = QDQ_ERROR_INIT;

    memset(h, 0, sizeof *h);
    job.ctx = h;
    job.log = record_line;
    if (qdq_model_infer(m, &opts, &err) != QDQ_OK)
        fail_msg("%s", err.text);
    return m;
}

TEST(a_contradiction_is_an_error_or_a_warning)
{
    static const char text[] = "g (float[2,5] x) => (y) <float[2,6] t> { t = Relu(x) y = Neg(t) }";
    qdq_shape_opts strict = {false, true, NULL};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    recorded_lines h;

    assert_fails(QDQ_E_FORMAT, "value 't' is declared float[2,6], inferred float[2,5]",
                 qdq_model_infer(m, &strict, &err));
    assert_fails(QDQ_E_FORMAT, "value 't'", qdq_model_infer(m, &strict, &err));
    assert_int_equal(qdq_model_infer(m, &strict, NULL), QDQ_E_FORMAT);
    assert_string_equal(test_type(m, "t"), "float[2,6]");
    assert_string_equal(test_type(m, "y"), "-");
    qdq_model_free(m);
    m = infer(text, false, false, &h);
    assert_int_equal(h.n, 1);
    assert_string_equal(h.last, "value 't' is declared float[2,6], inferred float[2,5]");
    assert_string_equal(test_type(m, "t"), "float[2,5]");
    assert_string_equal(test_type(m, "y"), "float[2,5]");
    qdq_model_free(m);
}

TEST(rank_and_element_type_contradict_too)
{
    recorded_lines h;
    qdq_model *m = infer(test_graph_text(__func__), false, false, &h);

    assert_int_equal(h.n, 3);
    assert_string_equal(test_type(m, "y"), "float[2,5]");
    assert_string_equal(test_type(m, "z"), "float[2,5]");
    assert_string_equal(test_type(m, "q"), "float[2,5]");
    qdq_model_free(m);
}

TEST(after_many_contradictions_the_log_only_counts)
{
    char text[4000], *p = text;
    recorded_lines h;

    p += sprintf(p, "g (float[2] x) => (");
    for (int i = 0; i < 30; i++)
        p += sprintf(p, "%sfloat[3] y%d", i > 0 ? ", " : "", i);
    p += sprintf(p, ") { ");
    for (int i = 0; i < 30; i++)
        p += sprintf(p, "y%d = Relu(x) ", i);
    sprintf(p, "}");
    qdq_model_free(infer(text, false, false, &h));
    assert_int_equal(h.n, 21);
    assert_string_equal(h.last, "10 more contradictions between shapes");
}

TEST(a_cycle_is_refused)
{
    qdq_model *m = test_model("g (float[2] x) => (y) { y = Add(x, t) t = Relu(y) }");
    qdq_error err = QDQ_ERROR_INIT;

    assert_fails(QDQ_E_FORMAT, "cycle", qdq_model_infer(m, NULL, &err));
    qdq_model_free(m);
}

TEST(sequences_are_passed_on)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (seq(float[2]) x) => (y) { y = Identity(x) }");

    assert_ok(qdq_model_infer_shapes(m, &err));
    assert_int_equal(qdq_graph_find(m->graph, "y")->type->kind, QDQ_TYPE_SEQUENCE);
    qdq_model_free(m);
}

TEST(a_cancelled_job_leaves_the_model_alone)
{
    qdq_model *m = test_model("g (float[2] x) => (y) { y = Relu(x) }");
    qdq_job job = QDQ_JOB_INIT;
    qdq_shape_opts opts = {false, false, &job};
    qdq_cancel *cancel = qdq_cancel_new();
    qdq_error err = QDQ_ERROR_INIT;

    job.cancel = cancel;
    qdq_cancel_set(cancel);
    assert_int_equal(qdq_model_infer(m, &opts, &err), QDQ_E_INTERRUPTED);
    assert_string_equal(test_type(m, "y"), "-");
    qdq_cancel_free(cancel);
    qdq_model_free(m);
}
