/* ir_alloc.c - every allocation of the graph's operations fails once: no crash, no leak, a
 * message. */
#include "support/alloc_fail.h"

#include "base/buf.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/text.h"

static qdq_status parse(void *ctx, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_status st = qdq_model_from_text(test_graph_text("text"), "t", &m, err);

    (void)ctx;
    qdq_model_free(m);
    return st;
}

static qdq_status print(void *ctx, qdq_error *err)
{
    char *out = NULL;
    qdq_status st = qdq_model_to_text(ctx, &out, err);

    qdq_free(out);
    return st;
}

static qdq_status clone(void *ctx, qdq_error *err)
{
    qdq_model *copy = NULL;
    qdq_status st = qdq_model_clone(ctx, &copy, err);

    qdq_model_free(copy);
    return st;
}

static qdq_status verify(void *ctx, qdq_error *err)
{
    return qdq_model_verify(ctx, err);
}

static qdq_status check(void *ctx, qdq_error *err)
{
    qdq_finding *f = NULL;
    size_t n;
    qdq_status st = qdq_model_check(ctx, &f, &n, err);

    qdq_free(f);
    return st;
}

static qdq_status sort(void *ctx, qdq_error *err)
{
    return qdq_graph_sort(((qdq_model *)ctx)->graph, err);
}

static qdq_status inspect(void *ctx, qdq_error *err)
{
    static const qdq_view views[] = {QDQ_VIEW_TEXT, QDQ_VIEW_DOT, QDQ_VIEW_JSON};
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < QDQ_COUNT(views) && st == QDQ_OK; i++) {
        char *out = NULL;

        st = qdq_model_inspect(ctx, views[i], &out, err);
        qdq_free(out);
    }
    return st;
}

static qdq_status extract(void *ctx, qdq_error *err)
{
    static const char *const inputs[] = {"x"}, *const outputs[] = {"r"};
    qdq_model *part = NULL;
    qdq_status st = qdq_model_extract(ctx, inputs, 1, outputs, 1, &part, err);

    qdq_model_free(part);
    return st;
}

/* Edits on a model of their own, which may be thrown away half changed. */
static qdq_status edit(void *ctx, qdq_error *err)
{
    static const int64_t dim[] = {2}, ints[] = {1, 2, 3};
    static const float data[] = {1, 2};
    static const char *const outs[] = {"fresh", NULL};
    qdq_model *m = NULL;
    qdq_graph *g;
    qdq_tensor *t;
    qdq_value *v = NULL;
    qdq_node *n = NULL;
    bool ok;

    QDQ_TRY(qdq_model_clone(ctx, &m, err));
    g = m->graph;
    t = qdq_tensor_of_floats(m, 1, dim, data);
    ok = t != NULL && (v = qdq_graph_add_init(g, "init", t)) != NULL &&
         (n = qdq_graph_add_node(g, NULL, "d", "Op", "name", 1, 2, outs)) != NULL;
    for (int i = 0; i < 9 && ok; i++)
        ok = qdq_node_append_in(n, v) && qdq_node_append_out(n, NULL) &&
             qdq_graph_unique_name(g, "x") != NULL;
    ok = ok && qdq_node_set_ints(n, "a", ints, 3) && qdq_node_set_string(n, "b", "text") &&
         qdq_node_set_float(n, "c", 1) && qdq_node_set_type(n, "e", "P") &&
         qdq_node_set_name(n, "m") && qdq_value_rename(v, "other") &&
         qdq_graph_add_input(g, "in", NULL) != NULL && qdq_graph_add_output(g, n->out[0]) &&
         qdq_tensor_view(m, t, QDQ_UINT8, 1, (const int64_t[]){8}) != NULL &&
         qdq_model_set_prop(m, "p", "q", err) == QDQ_OK &&
         qdq_model_set_opset_version(m, "e", 1, err) == QDQ_OK;
    qdq_model_free(m);
    return ok ? QDQ_OK : qdq_nomem(err);
}

TEST(operations_on_a_model_survive_every_failure)
{
    static const test_attempt attempts[] = {print, clone,   verify,  check,
                                            sort,  inspect, extract, edit};
    qdq_model *m = test_graph("text");

    assert_true(test_every_alloc_fails(parse, NULL) > 10);
    for (size_t i = 0; i < QDQ_COUNT(attempts); i++)
        assert_true(test_every_alloc_fails(attempts[i], m) >= 1);
    qdq_model_free(m);
}

static qdq_status read_scalar(void *ctx, qdq_error *err)
{
    double x = 0;

    (void)err;
    assert_true(qdq_tensor_scalar(ctx, &x) && x == 3);
    return QDQ_OK;
}

/* Who asks takes "no" for an answer: lack of memory must not be one. */
TEST(one_number_in_typed_fields_is_read_without_memory)
{
    static const unsigned char fields[] = {4 << 3 | 2, 4, 0, 0, 0x40, 0x40};
    qdq_tensor t = {.name = "s",
                    .elem = QDQ_FLOAT,
                    .count = 1,
                    .storage = QDQ_STORE_WIRE,
                    .wire = {fields, sizeof fields}};

    assert_int_equal(test_every_alloc_fails(read_scalar, &t), 0);
}

/* The next mapping may have its address, and would be freed as one that is held already. */
TEST(a_mapping_that_cannot_be_held_is_not_known_by_its_address)
{
    qdq_model *m = test_graph("text");
    size_t failed = 0;

    for (unsigned long i = 0; i < 4000; i++) {
        test_fail_alloc_at(3 + i % 4); /* behind those of the mapping itself */
        qdq_mapping *map = qdq_mapping_new_heap(1);
        assert_non_null(map);
        const uint64_t address = (uint64_t)(uintptr_t)map;
        if (!qdq_model_hold(m, map)) {
            failed++;
            assert_null(qdq_map_get_int(&m->held, address));
        }
        test_fail_alloc_at(0);
    }
    assert_true(failed > 2);
    qdq_model_free(m);
}
