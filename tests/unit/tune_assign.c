/* tune_assign.c - assignments: bits, and a hash that is the name of a measurement. */
#include "tune/space/assign.h"

#include "support/test.h"

TEST(bits_are_set_counted_and_compared)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_assign a, b;

    assert_true(qdq_assign_new(&a, 130, &arena));
    qdq_assign_set(&a, 0, true);
    qdq_assign_set(&a, 64, true);
    qdq_assign_set(&a, 129, true);
    assert_true(qdq_assign_copy(&b, &a, &arena));
    assert_true(qdq_assign_equal(&a, &b));
    assert_int_equal(qdq_assign_count(&a), 3);
    qdq_assign_set(&b, 64, false);
    qdq_assign_set(&b, 65, true);
    assert_false(qdq_assign_equal(&a, &b));
    assert_true(qdq_assign_get(&b, 65) && !qdq_assign_get(&b, 64));
    qdq_arena_free(&arena);
}

TEST(the_hash_depends_on_bits_and_size_alone)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_assign a, b, c, none;
    char x[33], y[33];

    assert_true(qdq_assign_new(&a, 10, &arena) && qdq_assign_new(&b, 10, &arena));
    assert_true(qdq_assign_new(&c, 11, &arena) && qdq_assign_new(&none, 0, &arena));
    qdq_assign_hash_text(qdq_assign_get_hash(&a), x);
    qdq_assign_hash_text(qdq_assign_get_hash(&b), y);
    assert_string_equal(x, y);
    assert_int_equal(strlen(x), 32);
    qdq_assign_hash_text(qdq_assign_get_hash(&c), y);
    assert_string_not_equal(x, y);
    qdq_assign_hash_text(qdq_assign_get_hash(&none), y);
    assert_string_not_equal(x, y);
    qdq_assign_set(&b, 3, true);
    qdq_assign_hash_text(qdq_assign_get_hash(&b), y);
    assert_string_not_equal(x, y);
    qdq_arena_free(&arena);
}
