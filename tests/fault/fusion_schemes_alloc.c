/* fusion_schemes_alloc.c - every allocation of listing the schemes of fusion groups fails once: an
 * error, no leak. */
#include "support/alloc_fail.h"
#include "support/build.h"
#include "support/spaced.h"
#include "tune/isolate/fusion_schemes.h"

typedef struct setting {
    test_space t;
    qdq_fusions *f;
} setting;

static qdq_status list_all(void *ctx, qdq_error *err)
{
    const setting *s = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_fusion_schemes all;
    qdq_status st = QDQ_OK;

    for (uint32_t g = 0; g < s->f->n && st == QDQ_OK; g++)
        st = qdq_fusion_list_schemes(s->f, g, s->t.s, NULL, &arena, &all, err);
    qdq_arena_free(&arena);
    return st;
}

/* Some dozens of decisions, so that the bits of a scheme are no small allocation. */
TEST(listing_schemes_survives_every_allocation_failure)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;
    setting s;
    char name[20] = "x";

    TEST_INPUT(&b, "x", 1, 16, 4, 4);
    for (int i = 0; i < 40; i++) {
        char next[20];

        snprintf(next, sizeof next, "c%d", i);
        test_conv(&b, next, name, 16, 16, 1, 1);
        memcpy(name, next, sizeof name);
    }
    TEST_NODE(&b, "Softmax", "y", name);
    test_output(&b, "y");
    s.t = test_space_open(test_built(&b), "ort-cpu");
    assert_ok(qdq_fusions_find(s.t.clean, NULL, 0, NULL, &s.f, &err));
    assert_true(s.f->n >= 40);
    assert_true(test_every_alloc_fails(list_all, &s) >= 1);
    qdq_fusions_free(s.f);
    test_space_close(&s.t);
}
