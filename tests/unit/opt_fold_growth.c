/* opt_fold_growth.c - folding never makes the file larger, and what that does not stop. */
#include "ir/edit.h"
#include "ir/ir.h"
#include "support/build.h"
#include "support/folded.h"
#include "support/test.h"

static const char grows[] = "the file would become larger";

/* 16 bytes became 262 kB. */
TEST(a_fill_that_is_larger_than_its_shape_stays)
{
    const char *text = test_graph_text(__func__);
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;

    test_folds_to(text, text);
    test_fold_refused(text, opts, grows);
    opts.growth_bytes = 1 << 20; /* asked for */
    qdq_model *m = test_folded(text, opts, NULL);
    assert_int_equal(test_count_op(m, QDQ_OP_CONSTANTOFSHAPE), 0);
    qdq_model_free(m);
}

TEST(stored_integers_of_a_matrix_stay_although_nothing_scales_them)
{
    test_builder b = test_build(13);
    const int64_t dim[] = {64, 64};
    qdq_error err = QDQ_ERROR_INIT;
    void *data;

    TEST_INPUT(&b, "x", 1, 64);
    qdq_graph_add_init(b.g, "w", qdq_tensor_new(b.m, QDQ_INT8, 2, dim, &data));
    TEST_NODE(&b, "Cast", "c", "w");
    qdq_node_set_int(b.g->end.prev, "to", QDQ_FLOAT);
    TEST_NODE(&b, "MatMul", "y", "x", "c");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_model_run_passes(m, "default", &err));
    assert_int_equal(test_count_op(m, QDQ_OP_CAST), 1);
    qdq_model_free(m);
}

/* Two thirds each: together more than the weight; three halves of another: it pays for itself. */
TEST(parts_of_a_weight_pay_with_the_weight)
{
    test_builder b = test_build(13);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;

    TEST_INPUT(&b, "x", 64, 64);
    TEST_RANDOM(&b, "w", 64, 64);
    TEST_NODE(&b, "Transpose", "t", "w");
    TEST_NODE(&b, "Split", "p", "t");
    qdq_node *split = b.g->end.prev;
    assert_true(qdq_node_append_out(split, qdq_graph_add_value(b.g, "q", NULL)));
    TEST_NODE(&b, "MatMul", "y", "p", "x");
    TEST_NODE(&b, "MatMul", "z", "q", "x");
    TEST_RANDOM(&b, "v", 64, 64);
    TEST_NODE(&b, "Neg", "v1", "v");
    TEST_NODE(&b, "Abs", "v2", "v");
    TEST_NODE(&b, "MatMul", "y1", "x", "v1");
    TEST_NODE(&b, "MatMul", "y2", "x", "v2");
    test_output(&b, "y");
    test_output(&b, "z");
    test_output(&b, "y1");
    test_output(&b, "y2");
    qdq_model *m = test_built(&b);
    opts.passes = TEST_FOLD_PASSES;
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    assert_int_equal(test_count_op(m, QDQ_OP_SPLIT), 0);
    assert_int_equal(test_count_op(m, QDQ_OP_TRANSPOSE), 0);
    assert_int_equal(test_count_op(m, QDQ_OP_NEG), 1); /* v in two forms is twice v */
    assert_int_equal(test_count_op(m, QDQ_OP_ABS), 1);
    assert_true(r->bytes_after <= r->bytes_before);
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

TEST(the_zero_points_of_all_channels_are_computed_whatever_they_weigh)
{
    qdq_model *m =
        test_folded(test_graph_text(__func__), (qdq_optimize_opts)QDQ_OPTIMIZE_OPTS_INIT, NULL);
    assert_non_null(qdq_value_const(qdq_graph_find(m->graph, "z")));
    assert_non_null(qdq_value_const(qdq_graph_find(m->graph, "s")));
    qdq_model_free(m);
}

TEST(a_constant_that_thousands_read_takes_no_quadratic_time)
{
    enum { READERS = 30000 };
    test_builder b = test_build(13);
    qdq_error err = QDQ_ERROR_INIT;
    char name[32];

    TEST_RANDOM(&b, "w", 32);
    for (int i = 0; i < READERS; i++) {
        snprintf(name, sizeof name, "a%d", i);
        TEST_NODE(&b, "Neg", name, "w");
        test_output(&b, name);
    }
    qdq_model *m = test_built(&b);
    assert_ok(qdq_model_run_passes(m, "fold-constants", &err));
    assert_int_equal(test_count_op(m, QDQ_OP_NEG), READERS);
    qdq_model_free(m);
}
