/* evals.c - one node computed by the evaluator, from text to text. */
#include "support/evals.h"

#include "ir/edit.h"

enum { MAX_BYTES = 1 << 20 };

qdq_status test_eval_model(const qdq_model *m, uint64_t max_bytes, qdq_arena *memory,
                           qdq_const *out, const char **why, qdq_error *err)
{
    const qdq_node *n = qdq_live_from(m->graph, m->graph->end.next);
    const qdq_const *in[QDQ_EVAL_INPUTS + 1];
    qdq_const data[QDQ_EVAL_INPUTS + 1];

    for (uint32_t i = 0; i < n->n_in && i < QDQ_COUNT(in); i++) {
        in[i] = NULL;
        if (n->in[i].value == NULL)
            continue;
        QDQ_TRY(qdq_const_of_tensor(n->in[i].value->init, memory, &data[i], why, err));
        if (*why != NULL)
            return QDQ_OK;
        in[i] = &data[i];
    }
    return qdq_eval_node(n, qdq_model_opset_of(m, ""), in, max_bytes, memory, out, why, err);
}

static qdq_model *model_of(int opset, const char *inputs, const char *node)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    size_t size = strlen(inputs) + strlen(node) + 200;
    char *text = malloc(size);

    assert_non_null(text);
    snprintf(text, size, "<ir_version: 10, opset_import: [\"\" : %d]>\ng () => () <%s> { %s }",
             opset, inputs, node);
    if (qdq_model_from_text(text, "test", &m, &err) != QDQ_OK)
        fail_msg("%s\n%s", text, err.text);
    free(text);
    return m;
}

static bool is_same(const qdq_const *got, const qdq_const *want)
{
    return got->data != NULL && got->elem == want->elem && got->rank == want->rank &&
           (got->rank == 0 ||
            memcmp(got->dim, want->dim, (size_t)got->rank * sizeof *got->dim) == 0) &&
           got->bytes == want->bytes && memcmp(got->data, want->data, got->bytes) == 0;
}

/* The results as text, beside those that were wanted. */
static void fail_with(const char *file, int line, const qdq_node *n, const qdq_const *out,
                      qdq_model *want)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL, name[200];

    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && out[i].data != NULL) {
            snprintf(name, sizeof name, "got_%s", n->out[i]->name);
            qdq_graph_add_init(want->graph, qdq_intern(want, name),
                               qdq_const_to_tensor(want, &out[i]));
        }
    assert_ok(qdq_model_to_text(want, &text, &err));
    print_error("%s:%d: %s gives\n%s\n", file, line, n->type, text);
    qdq_free(text);
    fail();
}

void test_eval_gives(const char *file, int line, int opset, const char *inputs, const char *node,
                     const char *want)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_model *m = model_of(opset, inputs, node), *w = model_of(opset, want, "");
    const qdq_node *n = qdq_live_from(m->graph, m->graph->end.next);
    qdq_const out[QDQ_EVAL_OUTPUTS];
    const char *why;

    assert_ok(test_eval_model(m, MAX_BYTES, &memory, out, &why, &err));
    if (why != NULL)
        fail_msg("%s:%d: %s: %s", file, line, n->type, why);
    QDQ_FOR_INITS(v, w->graph)
    {
        qdq_const expected;
        uint32_t i = 0;

        while (i < n->n_out && (n->out[i] == NULL || strcmp(n->out[i]->name, v->name) != 0))
            i++;
        if (i == n->n_out)
            fail_msg("%s:%d: no output '%s'", file, line, v->name);
        assert_ok(qdq_const_of_tensor(v->init, &memory, &expected, &why, &err));
        assert_null(why);
        if (!is_same(&out[i], &expected))
            fail_with(file, line, n, out, w);
    }
    qdq_arena_free(&memory);
    qdq_model_free(m);
    qdq_model_free(w);
}

void test_eval_refuses(const char *file, int line, int opset, const char *inputs, const char *node,
                       const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_model *m = model_of(opset, inputs, node);
    qdq_const out[QDQ_EVAL_OUTPUTS];
    const char *why;

    assert_ok(test_eval_model(m, MAX_BYTES, &memory, out, &why, &err));
    if (why == NULL || strstr(why, part) == NULL)
        fail_msg("%s:%d: '%s' is not in '%s'", file, line, part, why != NULL ? why : "(computed)");
    qdq_arena_free(&memory);
    qdq_model_free(m);
}
