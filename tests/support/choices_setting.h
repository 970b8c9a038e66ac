/* choices_setting.h - regions of a model, and decisions of a pattern as text and bits. */
#ifndef QDQ_CHOICES_SETTING_H
#define QDQ_CHOICES_SETTING_H

#include <math.h>

#include "base/file.h"
#include "support/blocks.h"
#include "support/build.h"
#include "support/regioned.h"
#include "support/schemes.h"
#include "support/test.h"
#include "tune/scheme/pattern_cache.h"

static qdq_error err;

typedef test_regioned setting;

static inline setting open_setting(qdq_model *m, const char *target)
{
    return test_regioned_open(m, target, NULL);
}

/* The region of a value's producer gives the pattern. */
static inline const qdq_pattern *pattern_of(const setting *s, const char *value)
{
    const qdq_value *v = qdq_graph_find(s->clean->graph, value);

    assert_non_null(v);
    assert_non_null(v->producer);
    return &s->patterns->pattern[s->regions->of[v->producer->id]->pattern];
}

static inline qdq_choices choices_of(setting *s, const qdq_pattern *p)
{
    qdq_choices c;

    assert_ok(qdq_choices_find(p, s->space, &s->arena, &c, &err));
    return c;
}

/* "(node,input):inputs value/slots value/slots ...; ...": linear ones with a star, a dash for an
 * instance without. */
static inline const char *text_of(const setting *s, const qdq_pattern *p, const qdq_choices *c)
{
    static char text[2000];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < c->n; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s(%d,%d):%x", i > 0 ? "; " : "",
                              c->choice[i].linear ? "*" : "", (int)c->choice[i].point.node,
                              (int)c->choice[i].point.index, (unsigned)c->choice[i].inputs);
        for (size_t k = 0; k < p->n_instances; k++) {
            uint32_t g = c->choice[i].group[k];
            if (g == QDQ_NO_GROUP)
                n += (size_t)snprintf(text + n, sizeof text - n, " -");
            else
                n += (size_t)snprintf(text + n, sizeof text - n, " %s/%x",
                                      s->space->group[g].node->out[0]->name,
                                      (unsigned)s->space->group[g].inputs);
        }
    }
    return text;
}

static inline qdq_assign bits(setting *s, size_t n, uint64_t on)
{
    qdq_assign a;

    assert_true(qdq_assign_new(&a, n, &s->arena));
    for (size_t i = 0; i < n; i++)
        qdq_assign_set(&a, i, (on >> i & 1) != 0);
    return a;
}

static inline uint64_t number_of(const qdq_assign *a)
{
    return a->n > 0 ? a->word[0] : 0;
}

/* The names of what is on in the space. */
static inline const char *names_of(const setting *s, const qdq_assign *a)
{
    static char text[1000];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < s->space->n_groups; i++)
        if (qdq_assign_get(a, i))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s/%x", n > 0 ? " " : "",
                                  s->space->group[i].node->out[0]->name,
                                  (unsigned)s->space->group[i].inputs);
    return text;
}

/* The name of what comes out of Q/DQ behind `x`, which are made once. ONNX Runtime's tools name
 * them so. */
static inline const char *dequantized(test_builder *b, const char *x)
{
    static char names[8][2][100];
    static unsigned turn;
    char *q = names[turn % 8][0], *dq = names[turn % 8][1];

    turn++;
    snprintf(q, 100, "%s_QuantizeLinear_Output", x);
    snprintf(dq, 100, "%s_DequantizeLinear_Output", x);
    if (qdq_graph_find(b->g, q) == NULL) {
        test_q_or_dq(b, "QuantizeLinear", q, x, QDQ_INT8, 0.1f, 0);
        test_q_or_dq(b, "DequantizeLinear", dq, q, QDQ_INT8, 0.1f, 0);
    }
    return dq;
}

static inline bool is_in(const char *list, const char *name)
{
    return strstr(list, name) != NULL;
}

static inline void conv(test_builder *b, const char *name, const char *x, const char *on)
{
    char w[40];
    const char *weight = w;
    const int64_t pads[4] = {1, 1, 1, 1}, kernel[2] = {3, 3};

    snprintf(w, sizeof w, "%s.w", name);
    TEST_RANDOM(b, w, 16, 16, 3, 3);
    if (is_in(on, name)) {
        x = dequantized(b, x);
        weight = dequantized(b, w);
    }
    qdq_node *n = TEST_NODE(b, "Conv", name, x, weight);
    assert_true(qdq_node_set_ints(n, "kernel_shape", kernel, 2) &&
                qdq_node_set_ints(n, "pads", pads, 4));
}

static inline void add(test_builder *b, const char *name, const char *x, const char *y,
                       const char *on)
{
    if (is_in(on, name)) {
        x = dequantized(b, x);
        y = dequantized(b, y);
    }
    TEST_NODE(b, "Add", name, x, y);
}

/* A stem and three residual blocks; the second adds its operands the other way round. Those named
 * in `on` have Q/DQ at all their inputs. */
static inline qdq_model *blocks(const char *on)
{
    static const char *const names[3][5] = {{"a1", "q1", "b1", "s1", "r1"},
                                            {"a2", "q2", "b2", "s2", "r2"},
                                            {"a3", "q3", "b3", "s3", "r3"}};
    test_builder b = test_build(17);
    const char *x = "r0";

    TEST_INPUT(&b, "x", 1, 16, 16, 16);
    conv(&b, "c0", "x", on);
    TEST_NODE(&b, "Relu", "r0", "c0");
    for (int i = 0; i < 3; i++) {
        const char *const *name = names[i];

        conv(&b, name[0], x, on);
        TEST_NODE(&b, "Relu", name[1], name[0]);
        conv(&b, name[2], name[1], on);
        if (i == 1)
            add(&b, name[3], x, name[2], on);
        else
            add(&b, name[3], name[2], x, on);
        TEST_NODE(&b, "Relu", name[4], name[3]);
        x = name[4];
    }
    test_output(&b, "r3");
    return test_built(&b);
}

#endif /* QDQ_CHOICES_SETTING_H */
