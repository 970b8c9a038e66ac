/* opt_drop_unused.c - what nothing needs goes: nodes, bodies, calls, outputs, constants,
 * annotations. */
#include "support/test.h"

#include "ir/edit.h"
#include "support/pb_build.h"

#define PASS "drop-unused"

/* --- constants and annotations ---------------------------------------------------------------- */

/* TensorAnnotation: tensor_name = 1, quant_parameter_tensor_names = 2 (key = 1, value = 2). */
static void annotate(qdq_buf *graph, const char *tensor, const char *scale)
{
    qdq_buf annotation = PB_NEW, entry = PB_NEW;

    pb_text(&entry, 1, "SCALE_TENSOR");
    pb_text(&entry, 2, scale);
    pb_text(&annotation, 1, tensor);
    pb_message(&annotation, 2, &entry);
    pb_message(graph, 14, &annotation);
}

TEST(annotations_go_with_their_tensors_and_hold_their_constants)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_buf rest = PB_NEW, expected = PB_NEW;
    qdq_model *m = test_graph(__func__);

    pb_text(&rest, 10, "a comment");
    annotate(&rest, "y", "s");
    annotate(&rest, "dead", "t");
    annotate(&rest, "x", "no such constant");
    annotate(&rest, "x", "u");
    pb_text(&expected, 10, "a comment");
    annotate(&expected, "y", "s");
    annotate(&expected, "x", "u");
    qdq_graph_set_rest(m->graph, (qdq_span){(const unsigned char *)rest.data, rest.size});
    assert_ok(qdq_model_run_passes(m, PASS, &err));
    assert_int_equal(m->graph->unknown_fields.size, expected.size);
    assert_memory_equal(m->graph->unknown_fields.data, expected.data, expected.size);
    assert_null(qdq_graph_find(m->graph, "t"));
    assert_non_null(qdq_graph_find(m->graph, "s"));
    assert_non_null(qdq_graph_find(m->graph, "u"));
    qdq_buf_free(&rest);
    qdq_buf_free(&expected);
    qdq_model_free(m);
}

/* Hostile, but read: an annotation that is not one. It names nothing. */
TEST(an_annotation_of_garbage_goes)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);
    qdq_buf rest = PB_NEW;

    pb_bytes(&rest, 14, "\xff\xff\xff", 3);
    pb_int(&rest, 14, 5);
    qdq_graph_set_rest(m->graph, (qdq_span){(const unsigned char *)rest.data, rest.size});
    assert_ok(qdq_model_run_passes(m, PASS, &err));
    assert_int_equal(m->graph->unknown_fields.size, 0);
    qdq_buf_free(&rest);
    qdq_model_free(m);
}
