/* shapes.c - one graph in, the types of its values out. */
#include "support/shapes.h"

#include "base/buf.h"
#include "ir/shape.h"

const char *test_type_of(const qdq_type *t)
{
    static char text[4][256];
    static unsigned next;
    char *out = text[next++ % 4];
    int n;

    if (t == NULL)
        return "-";
    if (t->kind != QDQ_TYPE_TENSOR)
        return "no tensor";
    n = snprintf(out, sizeof text[0], "%s", qdq_elem_name(t->elem));
    if (t->rank < 0)
        snprintf(out + n, sizeof text[0] - (size_t)n, "[]");
    for (int i = 0; i < t->rank; i++) {
        const qdq_dim *d = &t->dim[i];
        char number[32];

        snprintf(number, sizeof number, "%lld", (long long)d->value);
        n += snprintf(out + n, sizeof text[0] - (size_t)n, "%s%s%s", i == 0 ? "[" : ",",
                      d->value >= 0      ? number
                      : d->param != NULL ? d->param
                                         : "?",
                      i + 1 == t->rank ? "]" : "");
    }
    return out;
}

const char *test_type(const qdq_model *m, const char *value)
{
    const qdq_value *v = qdq_graph_find(m->graph, value);

    if (v == NULL)
        fail_msg("no value '%s'", value);
    return test_type_of(v->type);
}

static qdq_model *model_of(int opset, const char *graph)
{
    qdq_model *m;
    char *text = malloc(strlen(graph) + 100);

    assert_non_null(text);
    sprintf(text, "<ir_version: 8, opset_import: [\"\" : %d]> %s", opset, graph);
    m = test_model(text);
    free(text);
    return m;
}

void test_infers(int opset, const char *graph, const char *type)
{
    qdq_shape_opts strict = {false, true, NULL};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = model_of(opset, graph);
    uint64_t edits;

    if (qdq_model_infer(m, &strict, &err) != QDQ_OK)
        fail_msg("%s: %s", graph, err.text);
    if (strcmp(test_type(m, "y"), type) != 0)
        fail_msg("opset %d: %s: got %s, want %s", opset, graph, test_type(m, "y"), type);
    /* A second run finds nothing new. */
    edits = m->graph->edits;
    assert_ok(qdq_model_infer(m, &strict, &err));
    assert_int_equal(m->graph->edits, edits);
    qdq_model_free(m);
}

static void count_warning(void *ctx, qdq_log_level level, const char *text)
{
    (void)text;
    *(int *)ctx += level == QDQ_LOG_WARNING;
}

void test_infer_fails(int opset, const char *graph, const char *part)
{
    qdq_job job = QDQ_JOB_INIT;
    qdq_shape_opts strict = {false, true, NULL}, lax = {false, false, &job};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = model_of(opset, graph);
    int warnings = 0;

    job.ctx = &warnings;
    job.log = count_warning;
    assert_fails(QDQ_E_FORMAT, part, qdq_model_infer(m, &strict, &err));
    assert_string_equal(test_type(m, "y"), "-");
    assert_ok(qdq_model_infer(m, &lax, &err));
    assert_string_equal(test_type(m, "y"), "-");
    assert_int_equal(warnings, 1);
    qdq_model_free(m);
}
