/* layernorm_opset_alloc.c - the way to the copy whose opset is raised for LayerNormalization: each
 * allocation fails once. */
#include "quant/quantize_steps.h"
#include "support/alloc_fail.h"

static qdq_status explain(void *ctx, qdq_error *err)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_target *t = NULL;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_from_text(test_graph_text("text"), "test", &m, err);

    (void)ctx;
    opts.why = qdq_why_new("n");
    if (st == QDQ_OK && opts.why == NULL)
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_target_load("tensorrt", &t, err);
    if (st == QDQ_OK)
        st = qdq_explain(m, t, &opts, err);
    qdq_why_free(opts.why);
    qdq_target_free(t);
    qdq_model_free(m);
    return st;
}

TEST(each_allocation_of_raising_the_opset_fails_once)
{
    assert_true(test_every_alloc_fails(explain, NULL) > 100);
}
