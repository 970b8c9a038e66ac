/* optimize_structure.c - ONNX Runtime computes the same, to the last bit, before and after passes
 * that change the structure of a model: functions, bodies, equal nodes and constants, one DQ for
 * each reader. */
#include "numeric/ort_help.h"

/* The text with and without the passes; with ONNX Runtime's own optimizations off, which round
 * differently. */
static void assert_same(const char *text, const char *pipeline, uint64_t changes)
{
    static kept before, after;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();
    qdq_model *m = test_model(text);
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;

    so.level = QDQ_LEVEL_NONE;
    run_model(e, m, &so, &before);
    opts.passes = pipeline;
    opts.verify_each = true;
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    if (r->changes < changes)
        fail_msg("%s: %u changes, expected %u", pipeline, (unsigned)r->changes, (unsigned)changes);
    run_model(e, m, &so, &after);
    assert_string_equal(after.names, before.names);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.bytes, before.bytes, before.size);
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

TEST(functions_in_functions_with_attributes_and_bodies)
{
    assert_same(test_graph_text(__func__),
                "inline-functions,drop-unused-functions,drop-unused-opsets", 6);
}

TEST(known_branches_and_constants_of_bodies)
{
    assert_same(test_graph_text(__func__),
                "inline-if,lift-subgraph-initializers,share-initializers,drop-unused", 5);
}

TEST(equal_nodes_and_constants_around_q_and_dq)
{
    assert_same(test_graph_text(__func__), "share-initializers,merge-equal,drop-unused,unique-dq",
                8);
}
