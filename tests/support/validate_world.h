/* validate_world.h - items whose savings the test knows, and pairs of them with noise, for a
 * validation. */
#ifndef QDQ_VALIDATE_WORLD_H
#define QDQ_VALIDATE_WORLD_H

#include <math.h>

#include "base/random.h"
#include "support/test.h"
#include "tune/validate/validate.h"

static qdq_error err;

enum { MOST = 200, MOVES = 64 };

typedef struct world {
    size_t n;
    /* truly, as a share of the baseline */
    double saves[MOST];
    /* what the validation is told */
    double promised[MOST];
    double se;
    double
        /* what an item costs while the next one is off, and as much while the one before is: */
        alone[MOST];
    /* cannot be built */
    bool dead[MOST];
    qdq_validate_link link[MOST];
    size_t n_links;
    double deviation;
    qdq_random noise;

    qdq_arena arena;
    /* the model of the incumbent, which stays built; the baseline does, too */
    qdq_assign open;
    const qdq_assign *now, *candidate;
    unsigned builds, measured, ends_at;
    const char *moves[MOVES];
    /* of each of them: the model's time, as a share of the baseline's (NAN: it failed), and what it
     * saved of the incumbent's, with the interval; and whether it was accepted */
    double times[MOVES], low[MOVES], high[MOVES];
    bool kept[MOVES];
    unsigned events;
    /* of all that was asked */
    uint64_t log;
    /* decisions that it was told of */
    size_t told;
    unsigned times_told;
} world;

static inline void begin(world *w, size_t n, uint64_t seed, double deviation)
{
    *w = (world){
        .n = n, .deviation = deviation, .noise = qdq_random_new(seed, "noise"), .builds = 1};
    assert_true(qdq_assign_new(&w->open, n, &w->arena));
}

static inline void set_item(world *w, size_t i, double saves, double promised)
{
    w->saves[i] = saves;
    w->promised[i] = promised;
}

static inline void fill(world *w, double saves, double promised)
{
    for (size_t i = 0; i < w->n; i++)
        set_item(w, i, saves, promised);
}

static inline void link_chain(world *w)
{
    for (uint32_t i = 0; i + 1 < w->n; i++)
        w->link[w->n_links++] = (qdq_validate_link){{i, i + 1}};
}

static inline double time_of(const world *w, const qdq_assign *a)
{
    double t = 1;

    for (size_t i = 0; i < w->n; i++) {
        if (qdq_assign_get(a, i))
            t -= w->saves[i];
        if (i + 1 < w->n && qdq_assign_get(a, i) != qdq_assign_get(a, i + 1))
            t += w->alone[i];
    }
    return t;
}

static inline qdq_status take(void *ctx, unsigned pair, double *incumbent_ns, double *candidate_ns,
                              qdq_error *e)
{
    world *w = ctx;

    (void)pair;
    (void)e;
    *incumbent_ns =
        1e6 * time_of(w, w->now) * (1 + w->deviation * (double)qdq_random_normal(&w->noise));
    *candidate_ns =
        1e6 * time_of(w, w->candidate) * (1 + w->deviation * (double)qdq_random_normal(&w->noise));
    return QDQ_OK;
}

static inline qdq_status test_pairs(world *w, const qdq_assign *incumbent,
                                    const qdq_assign *candidate, const qdq_test_opts *test,
                                    qdq_test_result *out, qdq_error *e)
{
    qdq_test_opts o = *test;

    w->now = incumbent;
    w->candidate = candidate;
    o.floor_sd = w->deviation * 1.4;
    return qdq_test_run(&o, take, w, out, e);
}

static inline bool cannot_be_built(const world *w, const qdq_assign *a)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->dead[i] && qdq_assign_get(a, i))
            return true;
    return false;
}

/* As the tuner counts: the baseline stays open, of the two of a trial only the winner. */
static inline void count_builds(world *w, const qdq_assign *incumbent, const qdq_assign *candidate)
{
    w->builds += qdq_assign_count(incumbent) > 0 && !qdq_assign_equal(incumbent, &w->open);
    w->builds += qdq_assign_count(candidate) > 0 && !qdq_assign_equal(candidate, &w->open);
}

static inline qdq_status measure(void *ctx, const qdq_assign *incumbent,
                                 const qdq_assign *candidate, const qdq_test_opts *test,
                                 qdq_test_result *out, bool *failed, qdq_error *e)
{
    world *w = ctx;

    if (w->ends_at > 0 && w->measured + 1 == w->ends_at)
        return QDQ_E_GOAL;
    w->measured++;
    w->log = w->log * 31 + qdq_assign_get_hash(candidate).low;
    w->log = w->log * 31 + qdq_assign_get_hash(incumbent).low;
    count_builds(w, incumbent, candidate);
    *failed = cannot_be_built(w, candidate);
    if (*failed)
        return QDQ_OK;
    QDQ_TRY(test_pairs(w, incumbent, candidate, test, out, e));
    qdq_assign_take(&w->open, out->verdict == QDQ_VERDICT_KEEP ? candidate : incumbent);
    return QDQ_OK;
}

static inline qdq_status event(void *ctx, const qdq_search_event *e, qdq_error *ignored)
{
    world *w = ctx;

    (void)ignored;
    if (w->events < MOVES) {
        const unsigned i = w->events;
        w->moves[i] = e->move;
        w->kept[i] = e->accepted;
        w->times[i] = e->result == NULL ? NAN : time_of(w, e->candidate);
        w->low[i] = e->result == NULL ? NAN : e->result->ci_low;
        w->high[i] = e->result == NULL ? NAN : e->result->ci_high;
    }
    w->events++;
    return QDQ_OK;
}

static inline unsigned builds(void *ctx)
{
    return ((const world *)ctx)->builds;
}

/* `start`: of another assignment to begin with; NULL: none. */
typedef struct asking {
    bool at_once;
    const qdq_assign *start;
    const qdq_validate_verdict *known;
    qdq_search_opts opts;
} asking;

static inline qdq_search_opts options(void)
{
    return (qdq_search_opts){.test = QDQ_TEST_OPTS_INIT};
}

/* Decisions are told before anything is measured after them. */
static inline qdq_status decided(void *ctx, const qdq_validate_result *so_far, qdq_error *e)
{
    world *w = ctx;
    size_t n = 0;

    (void)e;
    for (size_t i = 0; i < w->n; i++)
        n += so_far->item[i].move != NULL;
    w->told = n;
    w->times_told++;
    assert_true(n > 0);
    return QDQ_OK;
}

static inline qdq_validate_result run_with(world *w, const asking *ask)
{
    static const char *const names[] = {"nothing", "rules"};
    const qdq_search_ops ops = {.ctx = w, .measure = measure, .event = event, .builds = builds};
    qdq_validate_item *item = qdq_arena_array(&w->arena, w->n, sizeof *item);
    qdq_assign starts[2];
    qdq_validate_result out;

    assert_non_null(item);
    assert_true(qdq_assign_new(&starts[0], w->n, &w->arena) &&
                qdq_assign_new(&starts[1], w->n, &w->arena));
    if (ask->start != NULL)
        qdq_assign_take(&starts[1], ask->start);
    for (size_t i = 0; i < w->n; i++) {
        item[i] = (qdq_validate_item){
            .name = "group", .saves = w->promised[i], .se = w->se, .place = (uint32_t)i};
        assert_true(qdq_assign_new(&item[i].bits, w->n, &w->arena));
        qdq_assign_set(&item[i].bits, i, true);
    }
    const qdq_search_problem s = {.n_bits = w->n,
                                  .start = starts,
                                  .start_name = names,
                                  .n_starts = ask->start != NULL ? 2 : 1,
                                  .base_ns = 1e6};
    const qdq_validate_problem p = {.search = &s,
                                    .item = item,
                                    .n_items = w->n,
                                    .link = w->link,
                                    .n_links = w->n_links,
                                    .incremental = !ask->at_once,
                                    .known = ask->known,
                                    .decided = decided,
                                    .decided_ctx = w};
    assert_ok(qdq_validate_run(&p, &ask->opts, &ops, &w->arena, &out, &err));
    assert_int_equal(out.accepted + out.rejected + out.failed + out.undecided, w->n);
    assert_int_equal(out.accepted, qdq_assign_count(&out.merged));
    return out;
}

static inline qdq_validate_result run(world *w)
{
    const asking ask = {.opts = options()};

    return run_with(w, &ask);
}

/* An item was decided by a candidate of this kind. */
static inline bool is_by(const qdq_validate_result *r, size_t i, const char *move)
{
    return r->item[i].move != NULL && strcmp(r->item[i].move, move) == 0;
}

static inline bool is_by_itself(const qdq_validate_result *r, size_t i)
{
    return is_by(r, i, "a group") || is_by(r, i, "without a group");
}

static inline qdq_validate_verdict verdict(const qdq_validate_result *r, size_t i)
{
    return r->item[i].verdict;
}

#endif /* QDQ_VALIDATE_WORLD_H */
