/* placed.c - see the header. */
#include "support/placed.h"

#include <string.h>

#include "base/buf.h"
#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "support/test.h"

char *test_describe_placement(const qdq_model *m, const qdq_plan *p)
{
    qdq_buf out = QDQ_BUF_INIT(1 << 20);

    QDQ_FOR_NODES (n, m->graph) {
        if (n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR)
            continue;
        qdq_buf_printf(&out, "%s:", n->name);
        for (uint32_t i = 0; i < n->n_in; i++) {
            const char *name = n->in[i].value != NULL ? n->in[i].value->name : "-";
            const char *how = NULL;

            for (size_t k = 0; k < p->tensors.n; k++)
                if (strcmp(p->tensors.at[k].tensor, name) == 0 &&
                    (p->tensors.at[k].all ||
                     qdq_edges_have(&p->tensors.at[k].consumers, n->name, i)))
                    how = "QDQ";
            for (size_t k = 0; k < p->weights.n; k++)
                if (strcmp(p->weights.at[k].tensor, name) == 0 &&
                    qdq_edges_have(&p->weights.at[k].consumers, n->name, i))
                    how = "QW";
            for (size_t k = 0; k < p->biases.n; k++)
                if (strcmp(p->biases.at[k].tensor, name) == 0 &&
                    strcmp(p->biases.at[k].consumer.node, n->name) == 0 &&
                    p->biases.at[k].consumer.input == i)
                    how = "QB";
            qdq_buf_printf(&out, how != NULL ? " %s(%s)" : " %s%s", how != NULL ? how : "", name);
        }
        qdq_buf_puts(&out, "\n");
    }
    return qdq_buf_take(&out);
}

qdq_target *test_target(const char *name)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL, *with_vnni = NULL;

    assert_ok(qdq_target_load(name, &t, &err));
    assert_ok(qdq_target_for_cpu(t, "vnni", NULL, &with_vnni, &err));
    qdq_target_free(t);
    return with_vnni;
}

test_placed test_place_on(test_builder *b, const char *target, const qdq_place_opts *opts)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = test_target(target);
    test_placed p = {test_built(b), qdq_plan_new(), NULL};

    assert_ok(qdq_place(p.m, t, opts, p.plan, &err));
    assert_true(qdq_plan_finish(p.plan));
    qdq_target_free(t);
    p.text = test_describe_placement(p.m, p.plan);
    return p;
}

test_placed test_place_with(test_builder *b, const qdq_place_opts *opts)
{
    return test_place_on(b, "ort-cpu", opts);
}

test_placed test_place(test_builder *b)
{
    return test_place_with(b, NULL);
}

void test_placed_free(test_placed p)
{
    qdq_free(p.text);
    qdq_plan_free(p.plan);
    qdq_model_free(p.m);
}

bool test_is_quantized(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->quantized.n; i++)
        if (strcmp(p->quantized.at[i].node, node) == 0)
            return true;
    return false;
}

const char *test_reason(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->left_float.n; i++)
        if (strcmp(p->left_float.at[i].node, node) == 0)
            return p->left_float.at[i].reason;
    return "(not left float)";
}

char *test_plan_essence(qdq_plan *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    for (size_t i = 0; i < p->tensors.n; i++)
        p->tensors.at[i].rule = p->tensors.at[i].origin = "";
    for (size_t i = 0; i < p->weights.n; i++)
        p->weights.at[i].rule = p->weights.at[i].origin = "";
    for (size_t i = 0; i < p->biases.n; i++)
        p->biases.at[i].rule = p->biases.at[i].origin = "";
    p->quantized.n = p->left_float.n = 0;
    p->model = p->target = p->created_by = p->clean = "";
    assert_ok(qdq_plan_to_text(p, &text, &err));
    return text;
}

void test_assert_plan_replays(const qdq_plan *p, const qdq_model *m, const qdq_model *q)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *parsed = NULL;
    qdq_model *again = NULL;
    char *plan, *a, *b;

    assert_ok(qdq_plan_to_text(p, &plan, &err));
    assert_ok(qdq_plan_parse(plan, strlen(plan), "plan", &parsed, &err));
    assert_ok(qdq_plan_apply(parsed, m, false, NULL, &again, &err));
    assert_ok(qdq_model_to_text(q, &a, &err));
    assert_ok(qdq_model_to_text(again, &b, &err));
    assert_string_equal(a, b);
    qdq_free(plan);
    qdq_free(a);
    qdq_free(b);
    qdq_plan_free(parsed);
    qdq_model_free(again);
}

qdq_plan *test_plan_by_rules(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = test_target("ort-cpu");
    qdq_plan *p = qdq_plan_new();

    assert_ok(qdq_place(m, t, NULL, p, &err));
    qdq_target_free(t);
    for (size_t i = 0; i < p->tensors.n; i++) {
        p->tensors.at[i].qparam.scale = 0.01f * (float)(i + 1);
        p->tensors.at[i].qparam.zero_point = (int)i % 2 * 100;
    }
    p->model = p->clean = p->created_by = "";
    p->target = "ort-cpu";
    assert_true(qdq_plan_finish(p));
    return p;
}

qdq_model *test_inserted(const qdq_model *m, const qdq_plan *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *copy = NULL;

    assert_ok(qdq_model_clone(m, &copy, &err));
    assert_ok(qdq_insert(copy, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(copy, &err));
    return copy;
}

test_builder test_two_convs(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_conv(&b, "c0", "x", 8, 8, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 8, 8, 1, 1);
    test_output(&b, "c1");
    return b;
}

void test_scalar(test_builder *b, const char *name, float x)
{
    int64_t one = 1;

    assert_non_null(qdq_graph_add_init(b->g, name, qdq_tensor_of_floats(b->m, 0, &one, &x)));
}
