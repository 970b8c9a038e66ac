/* warm.c - see the header. */
#include "support/warm.h"

#include <math.h>

#include "base/buf.h"
#include "base/file.h"
#include "support/sim_time.h"
#include "tune/scheme/pattern_cache.h"

enum { LEAST_BUILDS = 4 };

/* --- worlds ----------------------------------------------------------------------------------- */

static size_t draw(qdq_random *r, size_t n)
{
    return (size_t)(qdq_random_u64(r) % n);
}

/* One operator behind value number k of a chain. */
static void put_operator(qdq_buf *b, qdq_random *r, char chain, size_t k)
{
    static const char *const unary[] = {"Relu", "Tanh", "Softmax"};
    const size_t kind = draw(r, 10);

    if (kind < 5)
        qdq_buf_printf(b, " %c%zu = MatMul(%c%zu, w%zu)", chain, k + 1, chain, k, draw(r, 3));
    else if (kind < 7 && k > 1)
        qdq_buf_printf(b, " %c%zu = %s(%c%zu, %c%zu)", chain, k + 1, kind == 5 ? "Add" : "Mul",
                       chain, k, chain, draw(r, k - 1));
    else if (kind == 7)
        qdq_buf_printf(b, " %c%zu = LayerNormalization(%c%zu, g)", chain, k + 1, chain, k);
    else
        qdq_buf_printf(b, " %c%zu = %s(%c%zu)", chain, k + 1, unary[draw(r, 3)], chain, k);
}

static void put_chain(qdq_buf *b, qdq_random *r, char chain, size_t more)
{
    const size_t n = 4 + draw(r, 6) + more;

    for (size_t k = 0; k < n; k++)
        put_operator(b, r, chain, k);
    qdq_buf_printf(b, " %cy = MatMul(%c%zu, w0)", chain, chain, n);
}

const char *test_warm_network(uint64_t seed, unsigned more)
{
    static char text[16000];
    const char *w = test_tuned_weights();
    qdq_random r = qdq_random_new(seed, "network"), other = qdq_random_new(seed, "another network");
    qdq_buf b = QDQ_BUF_INIT(sizeof text - 1);
    const size_t rows = 8u << draw(&r, 3), many = rows * 64;

    qdq_buf_printf(&b,
                   "g (float[%zu,8] a0, float[%zu,8] b0) => (float[%zu,8] ay, float[%zu,8] by)"
                   "<float[8,8] w0 = {%s}, float[8,8] w1 = {%s}, float[8,8] w2 = {%s},"
                   " float[8] g = {1, 1, 1, 1, 1, 1, 1, 1}> {",
                   rows, many, rows, many, w, w, w);
    put_chain(&b, &r, 'a', 0);
    put_chain(&b, more > 0 ? &other : &r, 'b', more);
    qdq_buf_puts(&b, " }");
    assert_false(b.failed);
    snprintf(text, sizeof text, "%s", b.data);
    qdq_buf_free(&b);
    return text;
}

const char *test_warm_costs(uint64_t seed, bool blind)
{
    static const char *const ops[] = {
        "MatMul", "LayerNormalization", "Softmax", "Tanh", "Relu", "Add", "Mul"};
    qdq_random r = qdq_random_new(seed, "costs");
    static char text[2000];
    size_t at = 0;

    for (size_t i = 0; i < QDQ_COUNT(ops); i++) {
        const double us = (i == 0 ? 60 : 10) + 60 * qdq_random_uniform(&r),
                     share = qdq_random_uniform(&r);
        at += (size_t)snprintf(
            text + at, sizeof text - at,
            "%s\"%s\": {\"float_us\": %.1f, \"float_us_per_k\": %.1f, \"int8_us\": %.1f, "
            "\"int8_us_per_k\": %.1f, \"inputs\": %d}",
            i > 0 ? ", " : "", ops[i], us, us * qdq_random_uniform(&r),
            us * (i == 0 ? 0.2 + 1.2 * share : 1.6 * share) + 2, us * qdq_random_uniform(&r),
            i == 0 || i > 4 ? 2 : 1);
    }
    return test_tuned_costs(text, blind ? TEST_TUNED_BLIND : NULL);
}

/* --- runs ------------------------------------------------------------------------------------- */

qdq_tune_result test_warm_run(const qdq_model *m, const char *engine, const char *cache,
                              const char *store, const char *folder)
{
    const char *const caches[] = {cache, NULL};
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tune_result r;

    o.pattern_caches = cache != NULL ? caches : NULL;
    test_tuned_details(&o)->store = store;
    assert_ok(test_tuned_run(m, test_path("%s", folder), &o, &r, &err));
    return r;
}

double test_warm_time(const char *engine, const char *folder)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e;
    qdq_model *m;

    assert_ok(qdq_engine_open(engine, NULL, &e, &err));
    assert_ok(qdq_model_load(test_path("%s/model.onnx", folder), NULL, &m, &err));
    const double us = test_sim_time(e, m);
    qdq_model_free(m);
    qdq_engine_close(e);
    return us;
}

/* --- caches that are wrong -------------------------------------------------------------------- */

static char *other_digits(qdq_random *r, qdq_arena *arena, const char *placement)
{
    char *text = qdq_arena_strdup(arena, placement);

    assert_non_null(text);
    for (char *c = text; *c != '\0'; c++)
        if (*c != '/' && c[1] != '/') /* the last one may have fewer bits */
            *c = "0123456789abcdef"[draw(r, 16)];
    return text;
}

static void spoil(qdq_pattern_schemes *ps, qdq_random *r, qdq_arena *arena)
{
    for (size_t i = 0; i < ps->schemes.n; i++) {
        qdq_scheme *s = &ps->schemes.at[i];
        size_t n = 0;
        s->latency_ms = 1e-3 * (0.5 + qdq_random_uniform(r));
        if (s->placement != NULL)
            s->placement = other_digits(r, arena, s->placement);
        for (size_t k = 0; k < s->node_inputs.n; k++)
            if (qdq_random_uniform(r) < 0.3)
                s->node_inputs.at[n++] = s->node_inputs.at[k];
        s->node_inputs.n = n;
    }
}

void test_warm_write_wrong(const char *from, const char *to, bool by_hand, uint64_t seed)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_random r = qdq_random_new(seed, "wrong");
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pattern_cache c, kept = QDQ_PATTERN_CACHE_INIT;
    char *text;

    kept.minimum_distance = 0;
    assert_ok(qdq_pattern_cache_load(from, NULL, &c, &err));
    for (size_t i = 0; i < c.patterns.n; i++) {
        qdq_pattern_schemes one = *c.patterns.at[i];
        const bool is_model = strcmp(one.key.signature, QDQ_PATTERN_MODEL) == 0;
        spoil(&one, &r, &arena);
        if (by_hand) {
            one.key = (qdq_pattern_key){.signature = one.key.signature};
            one.settled = NULL;
        }
        if (!by_hand || !is_model)
            assert_ok(qdq_pattern_cache_add(&kept, &one, &err));
    }
    assert_ok(qdq_pattern_cache_text(&kept, &text, &err));
    assert_ok(qdq_write_file(to, true, text, strlen(text), &err));
    qdq_free(text);
    qdq_pattern_cache_free(&c);
    qdq_pattern_cache_free(&kept);
    qdq_arena_free(&arena);
}

/* --- all of a world --------------------------------------------------------------------------- */

typedef struct warm_world {
    uint64_t seed;
    /* the same costs; the clock has profiles */
    const char *engine, *clock;
    qdq_model *m;
    double cold_us, worst;
    unsigned cold_builds;
} warm_world;

static unsigned try_cache(warm_world *w, const char *what, const char *cache)
{
    char folder[80];

    snprintf(folder, sizeof folder, "world%llu_%s", (unsigned long long)w->seed, what);
    const qdq_tune_result r = test_warm_run(w->m, w->engine, cache, NULL, folder);
    const double share = w->cold_us / test_warm_time(w->clock, folder);
    if (share < 0.99 || getenv("WARM_SHOW"))
        print_message("world %llu, %s: %.4f of the speed without a cache, %u builds of %u\n",
                      (unsigned long long)w->seed, what, share, r.builds, w->cold_builds);
    w->worst = fmin(w->worst, share);
    return r.builds;
}

double test_warm_world(uint64_t seed)
{
    char cold[80], own[4300], of_similar[4300], wrong[4300], by_hand[4300];
    warm_world w = {.seed = seed,
                    .engine = test_warm_costs(seed, seed % 2 == 1),
                    .clock = test_warm_costs(seed, false),
                    .worst = INFINITY};

    snprintf(cold, sizeof cold, "world%llu", (unsigned long long)seed);
    snprintf(own, sizeof own, "%s", test_path("%s/patterns.yaml", cold));
    snprintf(of_similar, sizeof of_similar, "%s", test_path("%s_other/patterns.yaml", cold));
    snprintf(wrong, sizeof wrong, "%s", test_path("%s_wrong.yaml", cold));
    snprintf(by_hand, sizeof by_hand, "%s", test_path("%s_by_hand.yaml", cold));
    w.m = test_model(test_warm_network(seed, 0));
    w.cold_builds = test_warm_run(w.m, w.engine, NULL, NULL, cold).builds;
    w.cold_us = test_warm_time(w.clock, cold);
    test_warm_write_wrong(own, wrong, false, seed);
    test_warm_write_wrong(own, by_hand, true, seed);
    qdq_model *similar = test_model(test_warm_network(seed, 1));
    char other[90];
    snprintf(other, sizeof other, "%s_other", cold);
    (void)test_warm_run(similar, w.engine, NULL, NULL, other);
    qdq_model_free(similar);
    const unsigned builds = try_cache(&w, "own", own);
    if (3 * builds > w.cold_builds && builds > LEAST_BUILDS)
        fail_msg("world %llu: %u builds with its own cache, %u without", (unsigned long long)seed,
                 builds, w.cold_builds);
    (void)try_cache(&w, "similar", of_similar);
    (void)try_cache(&w, "wrong", wrong);
    (void)try_cache(&w, "by_hand", by_hand);
    qdq_model_free(w.m);
    return w.worst;
}
