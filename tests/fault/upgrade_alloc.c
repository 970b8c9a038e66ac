/* upgrade_alloc.c - every allocation of raising the opset fails once. What it is raised from is
 * made without failures; only the raising is attempted. */
#include "support/alloc_fail.h"

#include <string.h>

static const char all_adapters[] =
    "<ir_version: 3, opset_import: [\"\" : 7, \"acme\" : 1]>\n"
    "g (float[1,2,4,N] x, bool c) => (float[1,2,4,N] y, float[1,2,8,M] u, float p, float q, float "
    "f) {\n"
    "  a = Clip <min = 0.0, max = 6.0> (x)\n"
    "  b, mask = Dropout <ratio = 0.5> (a)\n"
    "  y = Softmax(b)\n"
    "  u = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (y)\n"
    "  s, t = Split <axis = 1> (u)\n"
    "  r = ReduceMean <axes = [2, 3]> (s)\n"
    "  p = If (c) <then_branch = h () => (float v) { v = Squeeze <axes = [0]> (r) },\n"
    "              else_branch = e () => (float w) { w = Pad <pads = [0, 0, 0, 0, 0, 0, 0, 1], "
    "value = 1.0> "
    "(r) }>\n"
    "  q = Slice <starts = [0], ends = [1]> (t)\n"
    "  f = acme.F(q)\n"
    "}\n"
    "<domain: \"acme\", opset_import: [\"\" : 7]>\n"
    "F (x) => (y) { z = Unsqueeze <axes = [0]> (x) y = Softmax(z) }";

static qdq_status raise(void *ctx, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_status st = qdq_model_clone(ctx, &m, err);

    if (st == QDQ_OK)
        st = qdq_model_set_opset(m, 22, err);
    qdq_model_free(m);
    return st;
}

TEST(raising_survives_every_allocation_failure)
{
    qdq_model *m = test_model(all_adapters);

    assert_true(test_every_alloc_fails(raise, m) > 10);
    qdq_model_free(m);
}
