/* onnx_upgrade.c - raising the opset of all operators, and of nodes that were removed. Graphs are
 * in text/raise-opset. */
#include "support/test.h"

#include "ir/edit.h"
#include "ir/ir.h"

TEST(a_removed_node_is_not_converted)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);

    qdq_node_remove(m->graph->end.next);
    assert_ok(qdq_model_set_opset(m, 13, &err));
    qdq_model_free(m);
}

static bool is_newer_than_26(const char *name)
{
    static const char *const newer[] = {"CausalConvWithState", "LinearAttention", "SwiGLU"};

    for (size_t i = 0; i < QDQ_COUNT(newer); i++)
        if (strcmp(name, newer[i]) == 0)
            return true;
    return false;
}

/* A refusal for another reason is fine: then somebody looked. */
TEST(every_operator_with_a_shape_function_has_a_line)
{
    for (int op = 1; op < QDQ_OP_COUNT; op++) {
        qdq_error err = QDQ_ERROR_INIT;
        const char *name = qdq_op_get_info((qdq_op)op)->name, *y = "y";
        qdq_model *m = qdq_model_new();

        assert_non_null(m);
        assert_ok(qdq_model_set_opset_version(m, "", 20, &err));
        if (qdq_op_find("", name) == (qdq_op)op) {
            assert_non_null(qdq_graph_add_node(m->graph, NULL, "", name, "", 0, 1, &y));
            if (qdq_model_set_opset(m, 26, &err) != QDQ_OK &&
                strstr(err.text, "is not an operator") != NULL && !is_newer_than_26(name))
                fail_msg("%s", err.text);
        }
        qdq_model_free(m);
    }
}
