/* base_map.c - maps that remember the order of insertion. */
#include "support/test.h"

#include "base/arena.h"
#include "base/map.h"

TEST(what_was_put_is_found_and_nothing_else)
{
    enum { N = 5000 };
    qdq_arena a = QDQ_ARENA_INIT;
    qdq_map m = QDQ_MAP_INIT;

    for (uint64_t i = 0; i < N; i++) {
        bool is_new = false;
        qdq_map_value *v = qdq_map_put(&m, qdq_arena_printf(&a, "tensor_%d", (int)i), &is_new);
        assert_non_null(v);
        assert_true(is_new);
        assert_int_equal(v->num, 0);
        v->num = i;
    }
    assert_int_equal(m.n_live, N);
    for (uint64_t i = 0; i < N; i++) {
        qdq_map_value *v = qdq_map_get(&m, qdq_arena_printf(&a, "tensor_%d", (int)i));
        assert_non_null(v);
        assert_int_equal(v->num, i);
        assert_null(qdq_map_get(&m, qdq_arena_printf(&a, "tensor_%dx", (int)i)));
    }
    qdq_map_free(&m);
    qdq_arena_free(&a);
}

TEST(an_empty_map_answers)
{
    qdq_map m = QDQ_MAP_INIT;

    assert_null(qdq_map_get(&m, "x"));
    assert_null(qdq_map_get_int(&m, 0));
    assert_false(qdq_map_remove(&m, "x"));
    qdq_map_free(&m);
    qdq_map_free(&m);
}

TEST(putting_again_gives_the_same_place)
{
    qdq_map m = QDQ_MAP_INIT;
    bool is_new = false;

    qdq_map_put(&m, "a", NULL)->ptr = &m;
    qdq_map_value *v = qdq_map_put(&m, "a", &is_new);
    assert_false(is_new);
    assert_ptr_equal(v->ptr, &m);
    assert_int_equal(m.n_live, 1);
    qdq_map_free(&m);
}

TEST(iteration_goes_by_insertion)
{
    static const char *const keys[] = {"zebra", "apple", "", "mango", "banana"};
    qdq_map m = QDQ_MAP_INIT;

    for (size_t i = 0; i < QDQ_COUNT(keys); i++)
        assert_non_null(qdq_map_put(&m, keys[i], NULL));
    assert_int_equal(m.n_entry, QDQ_COUNT(keys));
    for (size_t i = 0; i < m.n_entry; i++)
        assert_string_equal(m.entry[i].key, keys[i]);
    assert_true(qdq_map_remove(&m, "apple"));
    assert_non_null(qdq_map_put(&m, "apple", NULL)); /* put again: now the last */
    assert_string_equal(m.entry[m.n_entry - 1].key, "apple");
    qdq_map_free(&m);
}

TEST(keys_are_compared_with_their_length)
{
    qdq_map m = QDQ_MAP_INIT;

    qdq_map_put_n(&m, "conv1", 4, NULL)->num = 1;
    qdq_map_put_n(&m, "a\0b", 3, NULL)->num = 2;
    qdq_map_put_n(&m, "a\0c", 3, NULL)->num = 3;
    assert_int_equal(qdq_map_get(&m, "conv")->num, 1);
    assert_null(qdq_map_get(&m, "conv1"));
    assert_null(qdq_map_get(&m, "a"));
    assert_int_equal(qdq_map_get_n(&m, "a\0b", 3)->num, 2);
    assert_int_equal(qdq_map_get_n(&m, "a\0c", 3)->num, 3);
    qdq_map_free(&m);
}

TEST(integers_are_keys_too)
{
    qdq_map m = QDQ_MAP_INIT;
    bool is_new;

    for (uint64_t i = 0; i < 3000; i++) /* multiples of a power of two, as addresses are */
        qdq_map_put_int(&m, i << 20, NULL)->num = i;
    qdq_map_put_int(&m, UINT64_MAX, &is_new)->num = 7;
    assert_true(is_new);
    for (uint64_t i = 0; i < 3000; i++)
        assert_int_equal(qdq_map_get_int(&m, i << 20)->num, i);
    assert_int_equal(qdq_map_get_int(&m, UINT64_MAX)->num, 7);
    assert_null(qdq_map_get_int(&m, 1));
    assert_int_equal(m.entry[5].hash, (uint64_t)5 << 20);
    qdq_map_free(&m);
}

TEST(removing_cuts_no_way_to_another_key)
{
    enum { N = 2000 };
    qdq_arena a = QDQ_ARENA_INIT;
    qdq_map m = QDQ_MAP_INIT;

    for (uint64_t i = 0; i < N; i++)
        qdq_map_put(&m, qdq_arena_printf(&a, "k%d", (int)i), NULL)->num = i;
    for (int i = 0; i < N; i += 3)
        assert_true(qdq_map_remove(&m, qdq_arena_printf(&a, "k%d", i)));
    assert_false(qdq_map_remove(&m, "k0"));
    for (int i = 0; i < N; i++)
        assert_true((qdq_map_get(&m, qdq_arena_printf(&a, "k%d", i)) == NULL) == (i % 3 == 0));
    uint64_t last = 0;
    for (size_t i = 0; i < m.n_entry; i++) {
        if (!m.entry[i].live)
            continue;
        assert_true(m.entry[i].value.num > last);
        last = m.entry[i].value.num;
    }
    qdq_map_free(&m);
    qdq_arena_free(&a);
}

TEST(putting_and_removing_for_long_does_not_grow)
{
    qdq_map m = QDQ_MAP_INIT;
    char key[4][8] = {"a", "b", "c", "d"};

    for (int i = 0; i < 100000; i++) {
        assert_non_null(qdq_map_put(&m, key[i % 4], NULL));
        if (i >= 2)
            assert_true(qdq_map_remove(&m, key[(i + 2) % 4]));
    }
    assert_int_equal(m.n_live, 2);
    assert_true(m.cap_entry <= 16);
    qdq_map_free(&m);
}
