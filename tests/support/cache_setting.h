/* cache_setting.h - schemes of patterns, and a pattern cache as text. */
#ifndef QDQ_CACHE_SETTING_H
#define QDQ_CACHE_SETTING_H

#include <locale.h>
#include <math.h>

#include "base/file.h"
#include "base/yaml_read.h"
#include "support/test.h"
#include "tune/scheme/pattern_cache.h"

static inline qdq_scheme scheme(qdq_arena *arena, double ms, const char *nodes)
{
    qdq_scheme s = {.latency_ms = ms};

    for (; *nodes != '\0'; nodes++) {
        const qdq_point p = {QDQ_POINT_NONE, *nodes - '0', 0};
        assert_true(QDQ_PUSH(arena, &s.node_inputs, p));
    }
    assert_true(qdq_scheme_sort(&s));
    return s;
}

static inline void give(qdq_arena *arena, qdq_pattern_schemes *ps, qdq_scheme s)
{
    assert_true(QDQ_PUSH(arena, &ps->schemes, s));
}

static inline void expect_latencies(const qdq_pattern_cache *c, const char *signature, size_t n,
                                    const double *ms)
{
    const qdq_pattern_schemes *ps =
        qdq_pattern_cache_find(c, &(qdq_pattern_key){.signature = signature});

    assert_non_null(ps);
    assert_int_equal(ps->schemes.n, n);
    for (size_t i = 0; i < n; i++)
        if (isinf(ms[i]))
            assert_true(isinf(ps->schemes.at[i].latency_ms));
        else
            assert_float_equal(ps->schemes.at[i].latency_ms, ms[i], 0);
}
#define EXPECT_LATENCIES(c, signature, ...)                                                        \
    expect_latencies(c, signature, sizeof((double[]){__VA_ARGS__}) / sizeof(double),               \
                     (double[]){__VA_ARGS__})

static inline char *text_of(const qdq_pattern_cache *c)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text;

    assert_ok(qdq_pattern_cache_text(c, &text, &err));
    return text;
}

#endif /* QDQ_CACHE_SETTING_H */
