/* ir_facts_elems.c - what elements of small tensors can be proven: numbers, symbols, and sums of
 * them. */
#include "support/facts.h"

#include "ir/edit.h"

/* --- elements of shape arithmetic ------------------------------------------------------------- */

TEST(names_that_look_like_sums_are_names)
{
    test_known k = test_know_model(test_graph(__func__));
    qdq_dim dim = {-1, NULL};
    qdq_model *m = k.m;

    test_assert_elems(&k, "s", "N+1");
    qdq_facts_close(k.f);
    dim.param = qdq_intern(m, "N+1"); /* somebody called a dim that */
    qdq_value_set_type(test_value(&k, "z"), qdq_type_tensor(m, QDQ_FLOAT, 1, &dim));
    k = test_know_model(m);
    test_assert_elems(&k, "s", "-");
    test_assert_elems(&k, "i", "N+1");
    test_assert_elems(&k, "t", "-"); /* N+1+1 would say that it is N and 2 */
    test_forget(&k);
}

TEST(at_most_as_many_elements_as_asked_for)
{
    test_known k = test_know(test_graph_text(__func__));
    qdq_fact_elem e[3];
    int rank, n;

    assert_false(qdq_facts_elems(k.f, test_value(&k, "s"), 2, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, test_value(&k, "s"), 3, &rank, &n, e));
    assert_int_equal(n, 3);
    assert_false(qdq_facts_elems(k.f, test_value(&k, "c"), 2, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, test_value(&k, "c"), 3, &rank, &n, e));
    assert_true(qdq_facts_elems(k.f, test_value(&k, "c"), 3, &rank, &n, e)); /* and again */
    assert_int_equal(e[2].value, 3);
    test_assert_elems(&k, "f", "-"); /* no integers */
    test_forget(&k);
}

/* --- elements as tensors ---------------------------------------------------------------------- */

TEST(known_elements_become_a_tensor)
{
    test_known k = test_know(test_graph_text(__func__));
    qdq_status st = QDQ_E_NOMEM;
    qdq_tensor *t;
    float f[2];

    t = qdq_facts_tensor(k.f, test_value(&k, "r"), &st);
    assert_non_null(t);
    assert_int_equal(st, QDQ_OK);
    assert_int_equal(t->elem, QDQ_INT64);
    assert_memory_equal(t->bytes.data, ((int64_t[]){-2, 15}), 16);
    t = qdq_facts_tensor(k.f, test_value(&k, "t"), &st);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dim[0], 2);
    t = qdq_facts_tensor(k.f, test_value(&k, "i"), &st);
    assert_int_equal(t->elem, QDQ_INT32);
    assert_memory_equal(t->bytes.data, ((int32_t[]){-2, 15}), 8);
    t = qdq_facts_tensor(k.f, test_value(&k, "d"), &st);
    memcpy(f, t->bytes.data, sizeof f);
    assert_true(f[0] == 1.0F && f[1] == -1.5F);
    t = qdq_facts_tensor(k.f, test_value(&k, "b"), &st);
    assert_memory_equal(t->bytes.data, "\1\0", 2);
    t = qdq_facts_tensor(k.f, test_value(&k, "j"), &st);
    assert_int_equal(t->elem, QDQ_FLOAT16);
    assert_memory_equal(t->bytes.data, "\0\76", 2);
    t = qdq_facts_tensor(k.f, test_value(&k, "g"), &st); /* of a scalar: no elements */
    assert_int_equal(t->count, 0);
    assert_null(qdq_facts_tensor(k.f, test_value(&k, "u"), &st)); /* a symbol */
    assert_null(qdq_facts_tensor(k.f, test_value(&k, "y"), &st)); /* one of three */
    assert_null(qdq_facts_tensor(k.f, test_value(&k, "c"), &st)); /* a constant already */
    assert_null(qdq_facts_tensor(k.f, test_value(&k, "x"), &st));
    assert_int_equal(st, QDQ_OK);
    test_forget(&k);
}

TEST(zeros_keep_their_sign)
{
    test_known k = test_know(test_graph_text(__func__));
    qdq_status st;
    qdq_tensor *t = qdq_facts_tensor(k.f, test_value(&k, "y"), &st);

    assert_memory_equal(t->bytes.data, "\0\0\0\0", 4);
    t = qdq_facts_tensor(k.f, test_value(&k, "w"), &st);
    assert_memory_equal(t->bytes.data, "\0\0\0\x80", 4);
    test_forget(&k);
}
