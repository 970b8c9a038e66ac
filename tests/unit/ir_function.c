/* ir_function.c - which function a node calls, their order, and edits of functions and imports. */
#include "support/test.h"

#include "ir/edit.h"
#include "ir/function.h"
#include "ir/graph_check.h"

static uint32_t callee_of(const qdq_functions *f, const char *output)
{
    return qdq_functions_callee(f, qdq_graph_find(f->m->graph, output)->producer);
}

TEST(calls_are_told_by_domain_name_and_overload)
{
    qdq_model *m = test_graph("text");
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_functions f;

    assert_true(qdq_functions_open(&f, m, &scratch));
    assert_int_equal(callee_of(&f, "a"), 0);
    assert_int_equal(callee_of(&f, "b"), 1);
    assert_int_equal(callee_of(&f, "d"), QDQ_NO_FUNCTION);
    assert_int_equal(callee_of(&f, "e"), 2);
    assert_int_equal(callee_of(&f, "f"), QDQ_NO_FUNCTION);
    assert_int_equal(callee_of(&f, "y"), 3); /* wins over the operator */
    assert_int_equal(qdq_functions_find(&f, "ai.onnx", "Abs", ""), 3);
    assert_int_equal(qdq_functions_find(&f, "my", "F", "three"), QDQ_NO_FUNCTION);
    qdq_functions_close(&f);
    qdq_arena_free(&scratch);
    qdq_model_free(m);
}

TEST(called_functions_come_before_their_callers)
{
    qdq_model *m = test_graph("text");
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_functions f;
    uint32_t *order = NULL, place[4] = {9, 9, 9, 9};
    size_t n = 0;

    assert_true(qdq_functions_open(&f, m, &scratch) &&
                qdq_functions_order(&f, &scratch, &order, &n));
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i < n; i++)
        place[order[i]] = i;
    assert_true(place[2] < place[0] && place[0] < place[3] && place[1] < 4);
    qdq_functions_close(&f);
    qdq_arena_free(&scratch);
    qdq_model_free(m);
}

TEST(circles_and_their_callers_are_not_in_the_order)
{
    qdq_model *m = test_graph(__func__);
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_functions f;
    uint32_t *order = NULL;
    size_t n = 0;

    assert_true(qdq_functions_open(&f, m, &scratch) &&
                qdq_functions_order(&f, &scratch, &order, &n));
    assert_int_equal(n, 1);
    assert_int_equal(order[0], 2);
    qdq_functions_close(&f);
    qdq_arena_free(&scratch);
    qdq_model_free(m);
}

TEST(a_removed_function_is_gone_with_its_body)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph("nested_calls");
    uint64_t edits = m->edits;
    size_t n_graph = 0;

    qdq_model_remove_function(m, 0);
    assert_true(m->edits > edits);
    assert_ok(qdq_model_verify(m, &err));
    QDQ_FOR_GRAPHS (g, m)
        n_graph++;
    assert_int_equal(n_graph, 2);
    test_assert_text(m, test_graph_text("nested_calls_without_the_inner_one"));
    qdq_model_free(m);
}

TEST(imports_come_and_go_and_count_as_edits)
{
    qdq_model *m = test_graph("text");
    qdq_function *f = m->functions.at[0];
    uint64_t edits = m->edits;

    assert_true(qdq_model_add_opset(m, NULL, "new", 3) && qdq_model_add_opset(m, f, "new", 4));
    assert_int_equal(qdq_model_opset_of(m, "new"), 3);
    assert_int_equal(f->opsets.at[1].version, 4);
    qdq_model_remove_opset(m, f, 0);
    qdq_model_remove_opset(m, NULL, 1);
    assert_int_equal(f->opsets.n, 1);
    assert_string_equal(f->opsets.at[0].domain, "new");
    assert_int_equal(qdq_model_opset_of(m, "my"), 0);
    assert_int_equal(qdq_model_opset_of(m, "your"), 1);
    assert_int_equal(m->edits, edits + 4);
    qdq_model_free(m);
}
