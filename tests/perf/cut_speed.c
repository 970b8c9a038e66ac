/* cut_speed.c - placements of large graphs by one cut: 2,000 groups in less than 100 ms, memory
 * linear in groups. */
#include <math.h>

#include "base/random.h"
#include "support/test.h"
#include "tune/mincut/energy.h"

static qdq_error err;

enum { READERS = 4 };

typedef struct world {
    qdq_mincut_graph graph;
    qdq_energy energy;
    qdq_hyperedge *hyperedge;
    uint32_t *reader;
    qdq_arena arena;
    qdq_random random;
} world;

static void add_hyperedge(world *w, uint32_t from, size_t n_to, const uint32_t *to)
{
    const size_t t = w->graph.n_hyperedges++;

    for (size_t i = 0; i < n_to; i++)
        w->reader[READERS * t + i] = to[i];
    w->hyperedge[t] = (qdq_hyperedge){.from = from, .to = &w->reader[READERS * t], .n_to = n_to};
}

static void begin(world *w, size_t n, uint64_t seed)
{
    *w = (world){.graph = {.n_bits = n}, .random = qdq_random_new(seed, "cuts")};
    w->hyperedge = qdq_arena_array(&w->arena, 2 * n + 1, sizeof *w->hyperedge);
    w->reader = qdq_arena_array(&w->arena, (2 * n + 1) * READERS, sizeof *w->reader);
    assert_true(w->hyperedge != NULL && w->reader != NULL);
    w->graph.hyperedge = w->hyperedge;
}

/* Three operators and a sum with what came in. */
static void residuals(world *w)
{
    const uint32_t n = (uint32_t)w->graph.n_bits;
    uint32_t last = QDQ_CUT_FLOAT;

    for (uint32_t i = 0; i + 4 <= n; i += 4) {
        add_hyperedge(w, last, 2, (uint32_t[]){i, i + 3});
        for (uint32_t k = 0; k < 3; k++)
            add_hyperedge(w, i + k, 1, (uint32_t[]){i + k + 1});
        last = i + 3;
    }
    add_hyperedge(w, last, 1, (uint32_t[]){QDQ_CUT_FLOAT});
}

/* Queries, keys and values of one tensor; two products, one of them behind a softmax in float; a
 * projection, a sum. */
static void attention(world *w)
{
    const uint32_t n = (uint32_t)w->graph.n_bits;
    uint32_t last = QDQ_CUT_FLOAT;

    for (uint32_t i = 0; i + 7 <= n; i += 7) {
        add_hyperedge(w, last, 4, (uint32_t[]){i, i + 1, i + 2, i + 6});
        add_hyperedge(w, i, 1, (uint32_t[]){i + 3});
        add_hyperedge(w, i + 1, 1, (uint32_t[]){i + 3});
        add_hyperedge(w, i + 3, 1, (uint32_t[]){QDQ_CUT_FLOAT});
        add_hyperedge(w, QDQ_CUT_FLOAT, 1, (uint32_t[]){i + 4});
        add_hyperedge(w, i + 2, 1, (uint32_t[]){i + 4});
        add_hyperedge(w, i + 4, 1, (uint32_t[]){i + 5});
        add_hyperedge(w, i + 5, 1, (uint32_t[]){i + 6});
        last = i + 6;
    }
}

/* Each reads one of all that stand before it. */
static void anything(world *w)
{
    for (uint32_t i = 1; i < w->graph.n_bits; i++) {
        add_hyperedge(w, (uint32_t)(qdq_random_u64(&w->random) % i), 1, (uint32_t[]){i});
        if (i > 8 && i % 2 == 0)
            add_hyperedge(w, i - 1 - (uint32_t)(qdq_random_u64(&w->random) % 8), 1,
                          (uint32_t[]){i});
    }
}

/* Codes save half or cost half; what a conversion costs, from next to nothing to as much as all
 * that it divides. */
static void draw_costs(world *w, double conversion)
{
    assert_ok(qdq_energy_new(&w->energy, &w->graph, &w->arena, &err));
    for (size_t i = 0; i < w->graph.n_bits; i++) {
        w->energy.off[i] = 1e4 + 1e5 * qdq_random_uniform(&w->random);
        w->energy.on[i] = w->energy.off[i] * (0.5 + qdq_random_uniform(&w->random));
    }
    for (size_t t = 0; t < w->graph.n_hyperedges; t++) {
        w->energy.q[t] = conversion * qdq_random_uniform(&w->random);
        w->energy.dq[t] = conversion * qdq_random_uniform(&w->random);
    }
}

/* The slowest of some conversion costs, each the fastest of three. */
static double slowest_cut(void (*build)(world *), size_t n)
{
    static const double conversions[] = {1e2, 1e4, 3e4, 1e5, 1e6};
    double slowest = 0;

    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
        double fastest = INFINITY;
        qdq_assign a;
        world w;
        begin(&w, n, i);
        build(&w);
        draw_costs(&w, conversions[i]);
        assert_true(qdq_assign_new(&a, n, &w.arena));
        for (int round = 0; round < 3; round++) {
            const double start = test_cpu_seconds() * 1e3;
            assert_ok(qdq_energy_minimize(&w.energy, &a, &err));
            fastest = fmin(fastest, test_cpu_seconds() * 1e3 - start);
        }
        slowest = fmax(slowest, fastest);
        qdq_arena_free(&w.arena);
    }
    return slowest;
}

TEST(large_graphs_are_placed_in_milliseconds)
{
    static const struct {
        const char *name;
        void (*build)(world *);
    } shapes[] = {{"residuals", residuals}, {"attention", attention}, {"anything", anything}};

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const double ms = slowest_cut(shapes[i].build, 2000),
                     more = slowest_cut(shapes[i].build, 20000);
        printf("cut, %s: 2000 groups %.2f ms, 20000 groups %.1f ms\n", shapes[i].name, ms, more);
        assert_true(ms < 100);
        assert_true(more < 10 * 100);
    }
}
