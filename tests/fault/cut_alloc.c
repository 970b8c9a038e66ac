/* cut_alloc.c - every allocation of a cut fails once: an error, no crash, no leak. */
#include "base/fail.h"
#include "support/alloc_fail.h"
#include "support/test.h"
#include "tune/cut/energy.h"

enum { BITS = 4 };

static const uint32_t readers[] = {1, 2, 3};
static const qdq_cut_net nets[] = {{.from = 0, .to = readers, .n_to = 3},
                                   {.from = 1, .to = &readers[2], .n_to = 1}};
static const qdq_cut_tie ties[] = {{2, 3}};
static const qdq_cut_graph graph = {.n_bits = BITS, .net = nets, .n_nets = 2, .tie = ties, .n_ties = 1};

static qdq_status fill(qdq_energy *e, qdq_arena *arena, qdq_error *err)
{
    QDQ_TRY(qdq_energy_new(e, &graph, arena, err));
    for (size_t i = 0; i < BITS; i++)
        e->off[i] = 2;
    for (size_t i = 0; i < 2; i++)
        e->q[i] = e->dq[i] = 1;
    return QDQ_OK;
}

static qdq_status cut(void *ctx, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_energy e;
    qdq_assign a;

    (void)ctx;
    qdq_status st = fill(&e, &arena, err);
    if (st == QDQ_OK && !qdq_assign_new(&a, BITS, &arena))
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_energy_minimize(&e, &a, err);
    if (st == QDQ_OK)
        assert_int_equal(a.word[0], 0xf);
    qdq_arena_free(&arena);
    return st;
}

static void a_cut_survives_every_allocation_failure(void **state)
{
    (void)state;
    assert_true(test_every_alloc_fails(cut, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_cut_survives_every_allocation_failure)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
