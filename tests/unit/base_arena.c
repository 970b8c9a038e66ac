/* base_arena.c - arenas and the vectors that live in them. */
#include "support/test.h"

#include <stdalign.h>

#include "base/arena.h"
#include "base/vec.h"

static bool all_zero(const unsigned char *p, size_t n)
{
    while (n > 0 && p[n - 1] == 0)
        n--;
    return n == 0;
}

TEST(memory_comes_zeroed_and_aligned)
{
    qdq_arena a = QDQ_ARENA_INIT;

    for (size_t size = 0; size < 5000; size += 37) {
        unsigned char *p = qdq_arena_alloc(&a, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
        assert_true(all_zero(p, size));
        memset(p, 0xee, size);
    }
    qdq_arena_free(&a);
}

TEST(blocks_do_not_move_or_overlap)
{
    enum { N = 20000 };
    qdq_arena a = QDQ_ARENA_INIT;
    uint32_t **p = malloc(N * sizeof *p);

    assert_non_null(p);
    for (uint32_t i = 0; i < N; i++) {
        p[i] = qdq_arena_array(&a, i % 50 + 1, sizeof **p);
        assert_non_null(p[i]);
        for (uint32_t k = 0; k <= i % 50; k++)
            p[i][k] = i;
    }
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t k = 0; k <= i % 50; k++)
            assert_int_equal(p[i][k], i);
    free(p);
    qdq_arena_free(&a);
}

TEST(empty_objects_have_addresses_of_their_own)
{
    qdq_arena a = QDQ_ARENA_INIT;
    void *first = qdq_arena_alloc(&a, 0), *second = qdq_arena_array(&a, 0, 100);

    assert_non_null(first);
    assert_non_null(second);
    assert_ptr_not_equal(first, second);
    qdq_arena_free(&a);
}

TEST(sizes_that_overflow_are_refused)
{
    qdq_arena a = QDQ_ARENA_INIT;

    assert_null(qdq_arena_alloc(&a, SIZE_MAX));
    assert_null(qdq_arena_alloc(&a, SIZE_MAX - 8));
    assert_null(qdq_arena_array(&a, SIZE_MAX / 2, 3));
    assert_null(qdq_arena_array(&a, (size_t)1 << 32, (size_t)1 << 32));
    assert_null(qdq_arena_strndup(&a, "x", SIZE_MAX));
    assert_int_equal(a.total, 0);
    assert_non_null(qdq_arena_array(&a, SIZE_MAX, 0)); /* nothing, many times */
    qdq_arena_free(&a);
}

TEST(text_is_copied_and_ends)
{
    qdq_arena a = QDQ_ARENA_INIT;

    assert_string_equal(qdq_arena_strdup(&a, "conv1"), "conv1");
    assert_string_equal(qdq_arena_strdup(&a, ""), "");
    assert_string_equal(qdq_arena_strndup(&a, "conv1.weight", 5), "conv1");
    assert_string_equal(qdq_arena_strndup(&a, NULL, 0), "");
    assert_string_equal(qdq_arena_printf(&a, "%s_%d", "node", 7), "node_7");
    char *wide = qdq_arena_printf(&a, "%9000d", 1); /* larger than a block */
    assert_non_null(wide);
    assert_int_equal(strlen(wide), 9000);
    qdq_arena_free(&a);
}

TEST(reset_frees_what_came_after_the_mark)
{
    qdq_arena a = QDQ_ARENA_INIT;
    char *kept = qdq_arena_strdup(&a, "kept");
    qdq_arena_mark mark = qdq_arena_get_mark(&a);
    size_t total = a.total;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2000; i++) {
            unsigned char *p = qdq_arena_alloc(&a, 100);
            assert_non_null(p);
            assert_true(all_zero(p, 100)); /* also where the last round wrote */
            memset(p, 0xff, 100);
        }
        assert_true(a.total > total);
        qdq_arena_reset(&a, mark);
        assert_int_equal(a.total, total);
        assert_string_equal(kept, "kept");
    }
    qdq_arena_free(&a);
}

TEST(a_mark_of_an_empty_arena_resets_to_nothing)
{
    qdq_arena a = QDQ_ARENA_INIT;
    qdq_arena_mark mark = qdq_arena_get_mark(&a);

    assert_non_null(qdq_arena_alloc(&a, 10));
    qdq_arena_reset(&a, mark);
    assert_int_equal(a.total, 0);
    assert_non_null(qdq_arena_alloc(&a, 10));
    qdq_arena_free(&a);
    assert_int_equal(a.total, 0);
    assert_non_null(qdq_arena_alloc(&a, 10)); /* freed is as good as new */
    qdq_arena_free(&a);
    qdq_arena_free(&a);
}

#ifndef QDQ_ARENA_MALLOC /* there each object has a block of its own */
TEST(many_small_objects_take_few_blocks)
{
    qdq_arena a = QDQ_ARENA_INIT;
    size_t grown = 0, before = 0;

    for (int i = 0; i < 100000; i++) {
        assert_non_null(qdq_arena_alloc(&a, 32));
        grown += a.total != before;
        before = a.total;
    }
    assert_true(grown < 40);
    assert_true(a.total < 2 * 100000 * 32);
    qdq_arena_free(&a);
}
#endif

TEST(a_vector_keeps_what_was_pushed)
{
    qdq_arena a = QDQ_ARENA_INIT;
    QDQ_VEC(const char *) text = {0};
    QDQ_VEC(struct { char c[3]; }) odd = {0};

    for (int i = 0; i < 1000; i++) {
        assert_true(QDQ_PUSH(&a, &text, qdq_arena_printf(&a, "%d", i)));
        assert_true(QDQ_RESERVE(&a, &odd));
        odd.at[odd.n++].c[2] = (char)(i % 100);
    }
    assert_int_equal(text.n, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(strtol(text.at[i], NULL, 10), i);
        assert_int_equal(odd.at[i].c[2], i % 100);
    }
    qdq_arena_free(&a);
}

TEST(a_vector_beyond_memory_is_refused_and_unchanged)
{
    qdq_arena a = QDQ_ARENA_INIT;
    int old = 0;
    void *at = &old;
    size_t cap = SIZE_MAX / 2 + 1;

    assert_false(qdq_vec_grow(&a, &at, &cap, 1, 1));
    cap = SIZE_MAX / 4;
    assert_false(qdq_vec_grow(&a, &at, &cap, 1, 16));
    assert_ptr_equal(at, &old);
    assert_int_equal(cap, SIZE_MAX / 4);
    qdq_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_comes_zeroed_and_aligned),
        cmocka_unit_test(blocks_do_not_move_or_overlap),
        cmocka_unit_test(empty_objects_have_addresses_of_their_own),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(text_is_copied_and_ends),
        cmocka_unit_test(reset_frees_what_came_after_the_mark),
        cmocka_unit_test(a_mark_of_an_empty_arena_resets_to_nothing),
#ifndef QDQ_ARENA_MALLOC
        cmocka_unit_test(many_small_objects_take_few_blocks),
#endif
        cmocka_unit_test(a_vector_keeps_what_was_pushed),
        cmocka_unit_test(a_vector_beyond_memory_is_refused_and_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
