/* ir_qdq_node.c - what Q and DQ nodes say of each other and of biases. What each says, or lacks, is
 * in text/params. */
#include "ir/qdq_node.h"

#include "ir/edit.h"
#include "support/test.h"

/* Reads the node called n of `g`; the data is its first input if that is constant, else unknown. */
static const char *read_node(const qdq_model *m, qdq_arena *memory, qdq_params *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *why = NULL;

    QDQ_FOR_NODES (n, m->graph)
        if (strcmp(n->name, "n") == 0) {
            const qdq_value *x = qdq_node_in(n, 0);
            assert_ok(qdq_params_read(n, qdq_value_const(x), memory, p, &why, &err));
            return why;
        }
    fail_msg("no node n");
    return NULL;
}

TEST(the_codes_behind_q_are_those_of_q)
{
    qdq_model *m = test_graph(__func__);
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_params p, other;
    const char *why = NULL;

    assert_null(read_node(m, &memory, &p));
    assert_int_equal(p.codes, QDQ_INT8);
    qdq_node *last = m->graph->end.prev;
    assert_ok(qdq_params_read(last, NULL, &memory, &other, &why, &err));
    assert_false(qdq_params_equal(&p, &other)); /* one ulp apart */
    assert_true(other.scale[0] > 0.5F);
    qdq_arena_free(&memory);
    qdq_model_free(m);
}

TEST(channels_of_an_empty_tensor_are_empty)
{
    qdq_error err = QDQ_ERROR_INIT;
    const int64_t dim[3] = {(int64_t)1 << 40, (int64_t)1 << 40, 0};
    qdq_tensor t = {.name = "t", .elem = QDQ_INT8, .rank = 3, .dim = dim, .count = 0};
    qdq_channels c;

    assert_ok(qdq_channels_of(&t, 1, &c, &err));
    assert_int_equal(c.outer * c.inner, 0);
    assert_fails(QDQ_E_FORMAT, "tensor 't': axis 3, but its rank is 3",
                 qdq_channels_of(&t, 3, &c, &err));
}

TEST(the_bias_of_a_matmul_is_added_behind_it)
{
    qdq_model *m = test_graph(__func__);
    const qdq_node *gemm = m->graph->end.prev, *add = gemm->prev, *matmul = add->prev;

    assert_ptr_equal(qdq_bias_linear(add, 0), matmul);
    assert_null(qdq_bias_linear(add, 1)); /* b is computed by nobody */
    assert_null(qdq_bias_linear(add, 2));
    assert_ptr_equal(qdq_bias_linear(gemm, 2), gemm);
    qdq_model_free(m);
}
