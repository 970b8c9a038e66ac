/* shape_alloc.c - every allocation of shape inference fails once: no crash, no leak, and a model
 * that is as it was. */
#include "support/alloc_fail.h"

#include "ir/facts.h"
#include "ir/graph_check.h"
#include "ir/shape.h"

static qdq_status infer(void *ctx, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_status st = qdq_model_clone(ctx, &m, err);

    if (st == QDQ_OK) {
        uint64_t edits = m->graph->edits;

        st = qdq_model_infer_shapes(m, err);
        if (st != QDQ_OK)
            assert_int_equal(m->graph->edits, edits);
    }
    qdq_model_free(m);
    return st;
}

static qdq_status fix(void *ctx, qdq_error *err)
{
    static const qdq_input_shape shape = {"x", 4, {6, 3, 8, 8}};
    qdq_model *m = NULL;
    qdq_status st = qdq_model_clone(ctx, &m, err);

    if (st == QDQ_OK) {
        st = qdq_model_set_shapes(m, &shape, 1, err);
        /* What it computes is unchanged: x still has one row, and Reshape reads the old
         * constant. */
        if (st != QDQ_OK) {
            assert_int_equal(qdq_graph_find(m->graph, "x")->type->dim[0].value, 1);
            assert_int_equal(qdq_graph_find(m->graph, "k")->n_use, 1);
        }
        if (qdq_model_verify(m, NULL) == QDQ_E_FORMAT)
            fail_msg("the model is no longer sound");
    }
    qdq_model_free(m);
    return st;
}

static qdq_status prove(void *ctx, qdq_error *err)
{
    qdq_facts *f = NULL;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_clone(ctx, &m, err);

    if (st == QDQ_OK)
        st = qdq_facts_open(m, NULL, &f, err);
    if (st != QDQ_OK)
        assert_null(f);
    for (size_t i = 0; st == QDQ_OK && i < m->graph->values.n; i++) {
        const qdq_value *v = m->graph->values.at[i];
        qdq_fact_elem e[4];
        int rank, n;

        /* Without memory less is known; only a tensor says so. */
        (void)qdq_facts_type(f, v);
        (void)qdq_facts_elems(f, v, 4, &rank, &n, e);
        (void)qdq_facts_tensor(f, v, &st);
        if (st != QDQ_OK)
            (void)qdq_nomem(err);
    }
    qdq_facts_close(f);
    qdq_model_free(m);
    return st;
}

TEST(inference_survives_every_failure)
{
    qdq_model *m = test_graph("text");

    assert_true(test_every_alloc_fails(infer, m) > 5);
    assert_true(test_every_alloc_fails(fix, m) > 5);
    assert_true(test_every_alloc_fails(prove, m) > 5);
    qdq_model_free(m);
}
