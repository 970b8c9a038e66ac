/* mincut.c - flows and energies against all cuts and all assignments. */
#include <math.h>

#include "base/random.h"
#include "support/test.h"
#include "tune/mincut/energy.h"
#include "tune/mincut/flow.h"

static qdq_error err;

/* --- flow ------------------------------------------------------------------------------------- */

enum { MAX_NODES = 16 };

typedef struct network {
    uint32_t n;
    int64_t from_source[MAX_NODES], to_sink[MAX_NODES], arc[MAX_NODES][MAX_NODES];
} network;

static int64_t cut_value(const network *w, uint32_t at_source)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        const bool in = (at_source >> i & 1) != 0;
        sum += in ? w->to_sink[i] : w->from_source[i];
        for (uint32_t k = 0; k < w->n && in; k++)
            sum += (at_source >> k & 1) == 0 ? w->arc[i][k] : 0;
    }
    return sum;
}

/* Of the least cuts the one with the fewest nodes at the source: least cuts are closed under
 * intersection. */
static int64_t least_cut(const network *w, uint32_t *at_source)
{
    int64_t best = INT64_MAX;

    for (uint32_t set = 0; set < UINT32_C(1) << w->n; set++) {
        const int64_t value = cut_value(w, set);
        *at_source = value < best ? set : value == best ? *at_source & set : *at_source;
        best = value < best ? value : best;
    }
    return best;
}

static void assert_least_cut(const network *w)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    uint32_t wanted, found = 0;
    qdq_flow f;

    assert_ok(qdq_flow_init(&f, w->n, (size_t)w->n * w->n, &arena, &err));
    for (uint32_t i = 0; i < w->n; i++)
        qdq_flow_add_terminal(&f, i, w->from_source[i], w->to_sink[i]);
    for (uint32_t i = 0; i < w->n; i++)
        for (uint32_t k = i + 1; k < w->n; k++)
            if (w->arc[i][k] > 0 || w->arc[k][i] > 0)
                qdq_flow_add_arc(&f, i, k, w->arc[i][k], w->arc[k][i]);
    const int64_t value = qdq_flow_run(&f);
    for (uint32_t i = 0; i < w->n; i++)
        found |= (uint32_t)qdq_flow_is_source(&f, i) << i;
    if (value != least_cut(w, &wanted) || found != wanted)
        fail_msg("flow %lld, least cut %lld; source's side %x, expected %x", (long long)value,
                 (long long)least_cut(w, &wanted), found, wanted);
    qdq_arena_free(&arena);
}

/* Three nodes with capacities 0 to 2 between them, and to one of source and sink. */
TEST(all_networks_of_three_nodes_are_cut)
{
    for (uint32_t code = 0; code < 729 * 125; code++) {
        network w = {.n = 3};
        uint32_t rest = code;
        for (uint32_t i = 0; i < 3; i++) {
            for (uint32_t k = 0; k < 3; k++)
                if (k != i) {
                    w.arc[i][k] = rest % 3;
                    rest /= 3;
                }
        }
        for (uint32_t i = 0; i < 3; i++) {
            w.from_source[i] = rest % 5 > 2 ? rest % 5 - 2 : 0;
            w.to_sink[i] = rest % 5 > 2 ? 0 : rest % 5;
            rest /= 5;
        }
        assert_least_cut(&w);
    }
}

/* Four nodes: each arc is there or not. */
TEST(all_graphs_of_four_nodes_are_cut)
{
    for (uint32_t code = 0; code < UINT32_C(1) << 20; code++) {
        network w = {.n = 4};
        uint32_t bit = 0;
        for (uint32_t i = 0; i < 4; i++) {
            w.from_source[i] = (code >> bit++ & 1) * (1 + i);
            w.to_sink[i] = (code >> bit++ & 1) * (4 - i);
            for (uint32_t k = 0; k < 4; k++)
                if (k != i)
                    w.arc[i][k] = (code >> bit++ & 1) * 2;
        }
        assert_least_cut(&w);
    }
}

TEST(random_networks_are_cut)
{
    qdq_random r = qdq_random_new(1, "networks");

    for (int i = 0; i < 400; i++) {
        network w = {.n = 2 + (uint32_t)(qdq_random_u64(&r) % (i % 8 == 0 ? 13 : 8))};
        const uint64_t density = 1 + qdq_random_u64(&r) % 10, largest = i % 2 == 0 ? 4 : 1000;
        for (uint32_t a = 0; a < w.n; a++) {
            w.from_source[a] = (int64_t)(qdq_random_u64(&r) % largest);
            w.to_sink[a] = (int64_t)(qdq_random_u64(&r) % largest);
            for (uint32_t b = 0; b < w.n; b++)
                if (a != b && qdq_random_u64(&r) % 10 < density)
                    w.arc[a][b] = (int64_t)(qdq_random_u64(&r) % largest);
        }
        assert_least_cut(&w);
    }
}

/* --- energies --------------------------------------------------------------------------------- */

enum { MAX_HYPEREDGES = 32, MAX_READERS = 4 };

typedef struct world {
    qdq_mincut_graph graph;
    qdq_hyperedge hyperedge[MAX_HYPEREDGES];
    uint32_t reader[MAX_HYPEREDGES][MAX_READERS];
    qdq_mincut_tie tie[2];
    qdq_energy energy;
    qdq_arena arena;
} world;

static void begin(world *w, size_t n_bits, size_t n_hyperedges)
{
    *w = (world){.graph = {.n_bits = n_bits, .n_hyperedges = n_hyperedges}};
    w->graph.hyperedge = w->hyperedge;
    w->graph.tie = w->tie;
    assert_ok(qdq_energy_new(&w->energy, &w->graph, &w->arena, &err));
}

static double random_cost(qdq_random *r)
{
    return (double)(qdq_random_u64(r) % 20) / 4; /* sums are exact, ties happen */
}

static bool keeps_ties(const world *w, const qdq_assign *a)
{
    for (size_t i = 0; i < w->graph.n_ties; i++)
        if (qdq_assign_get(a, w->tie[i].a) != qdq_assign_get(a, w->tie[i].b))
            return false;
    return true;
}

static double brute_force(world *w, qdq_assign *best)
{
    double least = INFINITY;
    qdq_assign a;

    assert_true(qdq_assign_new(&a, w->graph.n_bits, &w->arena));
    for (uint64_t set = 0; set < UINT64_C(1) << w->graph.n_bits; set++) {
        a.word[0] = set;
        if (!keeps_ties(w, &a))
            continue;
        const double value = qdq_energy_value(&w->energy, &a);
        best->word[0] = value < least ? set : value == least ? best->word[0] & set : best->word[0];
        least = fmin(least, value);
    }
    return least;
}

static void assert_minimum(world *w)
{
    qdq_assign found, wanted;

    assert_true(qdq_assign_new(&found, w->graph.n_bits, &w->arena) &&
                qdq_assign_new(&wanted, w->graph.n_bits, &w->arena));
    assert_ok(qdq_energy_minimize(&w->energy, &found, &err));
    const double least = brute_force(w, &wanted);
    assert_true(qdq_energy_value(&w->energy, &found) == least);
    assert_true(qdq_assign_equal(&found, &wanted));
}

/* Groups that are joined by an edge or not, two by two: all graphs of up to five of them. */
TEST(all_graphs_of_five_groups_are_placed)
{
    qdq_random r = qdq_random_new(1, "groups");

    for (uint32_t code = 0; code < 1 << 10; code++)
        for (int round = 0; round < 6; round++) {
            world w;
            begin(&w, 5, 0);
            uint32_t bit = 0;
            for (uint32_t a = 0; a < 5; a++)
                for (uint32_t b = a + 1; b < 5; b++) {
                    if ((code >> bit++ & 1) == 0)
                        continue;
                    const size_t t = w.graph.n_hyperedges++;
                    w.reader[t][0] = b;
                    w.hyperedge[t] = (qdq_hyperedge){.from = a, .to = w.reader[t], .n_to = 1};
                }
            assert_ok(qdq_energy_new(&w.energy, &w.graph, &w.arena, &err));
            for (size_t t = 0; t < w.graph.n_hyperedges; t++)
                w.energy.q[t] = w.energy.dq[t] = random_cost(&r);
            for (size_t i = 0; i < 5; i++) {
                w.energy.off[i] = random_cost(&r) * 2;
                w.energy.on[i] = random_cost(&r) * 2;
            }
            assert_minimum(&w);
            qdq_arena_free(&w.arena);
        }
}

static uint32_t random_end(qdq_random *r, size_t n)
{
    return qdq_random_u64(r) % 8 == 0 ? QDQ_CUT_FLOAT : (uint32_t)(qdq_random_u64(r) % n);
}

/* Tensors with up to four readers, some of them float, some the producer itself; tied bits; bits
 * that may not be on, or must be. */
static void random_graph(world *w, qdq_random *r, size_t most)
{
    const size_t n = 1 + (size_t)(qdq_random_u64(r) % most);

    begin(w, n, (size_t)(qdq_random_u64(r) % (2 * n + 1)));
    for (size_t t = 0; t < w->graph.n_hyperedges; t++) {
        w->hyperedge[t] = (qdq_hyperedge){.from = random_end(r, n),
                                          .to = w->reader[t],
                                          .n_to = (size_t)(qdq_random_u64(r) % (MAX_READERS + 1))};
        for (size_t i = 0; i < w->hyperedge[t].n_to; i++)
            w->reader[t][i] = random_end(r, n);
        w->energy.q[t] = random_cost(r);
        w->energy.dq[t] = random_cost(r);
    }
    for (size_t i = 0; i < n; i++) {
        w->energy.off[i] = random_cost(r) - 2;
        w->energy.on[i] = random_cost(r) - 2;
    }
    if (qdq_random_u64(r) % 2 == 0)
        w->energy.on[qdq_random_u64(r) % n] = INFINITY;
    else
        w->energy.off[qdq_random_u64(r) % n] = INFINITY;
    w->graph.n_ties = (size_t)(qdq_random_u64(r) % 3);
    for (size_t i = 0; i < w->graph.n_ties; i++)
        w->tie[i] =
            (qdq_mincut_tie){(uint32_t)(qdq_random_u64(r) % n), (uint32_t)(qdq_random_u64(r) % n)};
}

TEST(random_graphs_of_up_to_sixteen_groups_are_placed)
{
    qdq_random r = qdq_random_new(2, "groups");

    for (int i = 0; i < 1500; i++) {
        world w;
        random_graph(&w, &r, i % 100 == 0 ? MAX_NODES : 8);
        assert_minimum(&w);
        qdq_arena_free(&w.arena);
    }
}

TEST(a_q_is_paid_once_for_all_readers)
{
    qdq_assign a;
    world w;

    begin(&w, 4, 1); /* 0 gives, the others read; each saves 1 on codes, a Q costs 2.5 */
    for (uint32_t i = 0; i < 3; i++) {
        w.reader[0][i] = i + 1;
        w.energy.off[i + 1] = 1;
    }
    w.hyperedge[0] = (qdq_hyperedge){.from = 0, .to = w.reader[0], .n_to = 3};
    w.energy.q[0] = 2.5;
    w.energy.on[0] = INFINITY;
    assert_true(qdq_assign_new(&a, 4, &w.arena));
    assert_ok(qdq_energy_minimize(&w.energy, &a, &err));
    assert_int_equal(a.word[0], 0xe);
    assert_true(qdq_energy_value(&w.energy, &a) == 2.5);
    assert_int_equal(qdq_hyperedge_state(&w.hyperedge[0], &a), QDQ_HYPEREDGE_Q);
    w.energy.q[0] = 3.5;
    assert_ok(qdq_energy_minimize(&w.energy, &a, &err));
    assert_int_equal(a.word[0], 0);
    assert_int_equal(qdq_hyperedge_state(&w.hyperedge[0], &a), QDQ_HYPEREDGE_FLOAT);
    qdq_arena_free(&w.arena);
}

TEST(a_dq_is_paid_once_for_all_readers)
{
    qdq_assign a;
    world w;

    /* 0 gives and saves 2 on codes; its readers lose 1 each there, a DQ costs 1.5 */
    begin(&w, 3, 1);
    w.reader[0][0] = 1;
    w.reader[0][1] = 2;
    w.hyperedge[0] = (qdq_hyperedge){.from = 0, .to = w.reader[0], .n_to = 2};
    w.energy.off[0] = 2;
    w.energy.on[1] = w.energy.on[2] = 1;
    w.energy.dq[0] = 1.5;
    assert_true(qdq_assign_new(&a, 3, &w.arena));
    assert_ok(qdq_energy_minimize(&w.energy, &a, &err));
    assert_int_equal(a.word[0], 1);
    assert_int_equal(qdq_hyperedge_state(&w.hyperedge[0], &a), QDQ_HYPEREDGE_DQ);
    w.energy.dq[0] = 5;
    w.energy.off[0] = 3;
    assert_ok(qdq_energy_minimize(&w.energy, &a, &err));
    assert_int_equal(a.word[0], 7);
    assert_int_equal(qdq_hyperedge_state(&w.hyperedge[0], &a), QDQ_HYPEREDGE_QUANTIZED);
    qdq_arena_free(&w.arena);
}

/* Nanoseconds and hours in one sum. */
TEST(small_costs_count_beside_large_ones)
{
    qdq_assign a;
    world w;

    begin(&w, 3, 0);
    w.energy.off[0] = 3.6e12;
    w.energy.off[1] = 1e-3;
    w.energy.on[2] = 1e-3;
    assert_true(qdq_assign_new(&a, 3, &w.arena));
    assert_ok(qdq_energy_minimize(&w.energy, &a, &err));
    assert_int_equal(a.word[0], 3);
    qdq_arena_free(&w.arena);
}

TEST(wrong_costs_are_refused)
{
    qdq_assign a;
    world w;

    begin(&w, 2, 1);
    w.reader[0][0] = 1;
    w.hyperedge[0] = (qdq_hyperedge){.from = 0, .to = w.reader[0], .n_to = 1};
    assert_true(qdq_assign_new(&a, 2, &w.arena));
    w.energy.on[1] = NAN;
    assert_fails(QDQ_E_USAGE, "bit 1: costs of 0 and nan",
                 qdq_energy_minimize(&w.energy, &a, &err));
    w.energy.on[1] = w.energy.off[1] = INFINITY;
    assert_fails(QDQ_E_USAGE, "bit 1 may be neither on nor off",
                 qdq_energy_minimize(&w.energy, &a, &err));
    w.energy.on[1] = 0;
    w.energy.q[0] = -1;
    assert_fails(QDQ_E_USAGE, "tensor 0: conversions of -1 and 0",
                 qdq_energy_minimize(&w.energy, &a, &err));
    w.energy.q[0] = 0;
    w.reader[0][0] = 2;
    assert_fails(QDQ_E_USAGE, "tensor 0: a bit outside of 2",
                 qdq_energy_minimize(&w.energy, &a, &err));
    w.reader[0][0] = 1;
    w.tie[0] = (qdq_mincut_tie){0, 2};
    w.graph.n_ties = 1;
    assert_fails(QDQ_E_USAGE, "tie 0: a bit outside of 2",
                 qdq_energy_minimize(&w.energy, &a, &err));
    w.tie[0].b = 1;
    w.energy.on[0] = INFINITY;
    assert_fails(QDQ_E_USAGE, "bits tied to bit 0: some must be on",
                 qdq_energy_minimize(&w.energy, &a, &err));
    qdq_arena_free(&w.arena);
}
