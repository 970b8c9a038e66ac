/* ir_shape_control.c - shapes through functions that call each other without end. Branches, loops,
 * and the rest of functions are in text/infer-control. */
#include "support/shapes.h"

#include "ir/shape.h"

static qdq_model *inferred(const char *text)
{
    qdq_model *m = test_model(text);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_shape_opts strict = {false, true, NULL};

    assert_ok(qdq_model_infer(m, &strict, &err));
    return m;
}

/* Each function calls the next one twice: 2^40 calls if all were followed. */
TEST(calls_that_multiply_end)
{
    enum { DEPTH = 40 };
    char *text = malloc(DEPTH * 200 + 500), *p = text;
    qdq_model *m;

    assert_non_null(text);
    p += sprintf(p, "%s", test_graph_text(__func__));
    for (int i = 0; i < DEPTH; i++)
        p += sprintf(p,
                     "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> f%d (a) => (b) { c = "
                     "my.f%d(a) "
                     "b = my.f%d(c) }\n",
                     i, i + 1, i + 1);
    sprintf(p, "<domain: \"my\", opset_import: [\"\" : 17]> f%d (a) => (b) { b = Relu(a) }\n",
            DEPTH);
    m = inferred(text);
    assert_string_equal(test_type(m, "y"), "-");
    qdq_model_free(m);
    free(text);
}
