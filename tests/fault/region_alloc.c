/* region_alloc.c - every allocation of finding regions and patterns fails once: an error, no crash,
 * no leak. */
#include "base/fail.h"
#include "support/alloc_fail.h"
#include "support/build.h"
#include "support/test.h"
#include "tune/region/pattern.h"

typedef struct finding {
    qdq_model *m;
    qdq_region_opts opts;
    int form;
} finding;

/* A residual block of modules, a fork that is taken apart, attributes of all kinds. */
static qdq_model *build(void)
{
    test_builder b = test_build(17);
    char from[32] = "/a/c";

    TEST_INPUT(&b, "x", 1, 8, 8, 8);
    test_conv(&b, "/a/c", "x", 8, 8, 3, 1);
    for (int i = 0; i < 3; i++) {
        char conv[32], left[32], right[32], sum[32];
        snprintf(conv, sizeof conv, "/b.%d/conv/Conv", i);
        snprintf(left, sizeof left, "/b.%d/Relu", i);
        snprintf(right, sizeof right, "/b.%d/gate/Sigmoid", i);
        snprintf(sum, sizeof sum, "/b.%d/Add", i);
        test_conv(&b, conv, from, 8, 8, 3, 1);
        TEST_NODE(&b, "Relu", left, conv);
        TEST_NODE(&b, "Sigmoid", right, conv);
        TEST_NODE(&b, "Mul", sum, left, right);
        memcpy(from, sum, sizeof from);
    }
    TEST_NODE(&b, "Flatten", "flat", from);
    test_output(&b, "flat");
    return test_built(&b);
}

static qdq_status find(void *ctx, qdq_error *err)
{
    const finding *f = ctx;
    qdq_regions *r;
    qdq_patterns *p;
    qdq_status st = qdq_regions_find(f->m, &f->opts, &r, err);

    if (st != QDQ_OK)
        return st;
    st = qdq_patterns_find(r, &p, err);
    qdq_patterns_free(p);
    qdq_regions_free(r);
    return st;
}

TEST(finding_regions_survives_every_allocation_failure)
{
    finding f = {.m = build(), .opts = QDQ_REGION_OPTS_INIT};

    for (int b = QDQ_REGIONS_STRUCTURE; b <= QDQ_REGIONS_NAMES; b++) {
        f.opts.builder = (qdq_region_builder)b;
        f.opts.max_region_size = f.opts.min_refine_size = 4;
        assert_true(test_every_alloc_fails(find, &f) >= 8);
    }
    qdq_model_free(f.m);
}

static qdq_status print(void *ctx, qdq_error *err)
{
    const finding *f = ctx;
    char *text = NULL;
    qdq_status st = qdq_regions_print(f->m, NULL, NULL, &f->opts, (qdq_regions_form)f->form, true,
                                      true, &text, err);

    qdq_free(text);
    return st;
}

TEST(printing_regions_survives_every_allocation_failure)
{
    finding f = {.m = build(), .opts = QDQ_REGION_OPTS_INIT};

    for (f.form = QDQ_REGIONS_TEXT; f.form <= QDQ_REGIONS_DOT; f.form++)
        assert_true(test_every_alloc_fails(print, &f) >= 8);
    qdq_model_free(f.m);
}
