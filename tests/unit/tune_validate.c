/* tune_validate.c - merging in worlds whose truth is known: each item saves or costs a share of the
 * time, neighbours may pay only together, some cannot be built; pairs have noise. */
#include "support/validate_world.h"

/* --- what an earlier run decided -------------------------------------------------------------- */

/* Item 11 does harm. */
static void begin_with_sensitivity(world *w)
{
    begin(w, 40, 1, 0.005);
    fill(w, 0.008, 0.008);
    w->saves[11] = -0.05;
}

TEST(known_decisions_are_one_build)
{
    qdq_validate_verdict known[40];
    qdq_validate_result r;
    world w;

    begin_with_sensitivity(&w);
    r = run(&w);
    assert_true(r.accepted == 39 && verdict(&r, 11) == QDQ_VALIDATE_REJECTED && w.measured > 3);
    assert_true(w.told == 40 && w.times_told > 2);
    for (size_t i = 0; i < 40; i++)
        known[i] = verdict(&r, i);
    qdq_arena_free(&w.arena);
    begin_with_sensitivity(&w);
    r = run_with(&w, &(asking){.known = known, .opts = options()});
    assert_true(r.accepted == 39 && verdict(&r, 11) == QDQ_VALIDATE_REJECTED && w.measured == 1);
    assert_string_equal(w.moves[0], "known groups");
    assert_true(is_by(&r, 11, QDQ_VALIDATE_KNOWN) && isnan(r.item[11].time));
    assert_true(is_by(&r, 3, QDQ_VALIDATE_KNOWN) && r.item[3].time < 1);
    assert_true(w.told == 40 && w.times_told == 1);
    qdq_arena_free(&w.arena);
}

/* The first ten are decided; the run was ended before the others. */
TEST(what_is_still_open_is_decided_behind_what_is_known)
{
    qdq_validate_verdict known[40] = {QDQ_VALIDATE_UNDECIDED};
    qdq_validate_result r;
    world w;

    for (size_t i = 0; i < 10; i++)
        known[i] = i == 4 ? QDQ_VALIDATE_FAILED : QDQ_VALIDATE_KEPT;
    begin_with_sensitivity(&w);
    w.dead[4] = true;
    r = run_with(&w, &(asking){.known = known, .opts = options()});
    assert_true(r.accepted == 38 && verdict(&r, 11) == QDQ_VALIDATE_REJECTED);
    assert_int_equal(verdict(&r, 4), QDQ_VALIDATE_FAILED);
    assert_string_equal(w.moves[0], "known groups");
    assert_string_equal(w.moves[1], "the other groups");
    assert_true(is_by(&r, 3, QDQ_VALIDATE_KNOWN) && !is_by(&r, 20, QDQ_VALIDATE_KNOWN));
    assert_int_equal(w.told, 40);
    qdq_arena_free(&w.arena);
}

/* Another model, though nobody said so: all is decided again. */
TEST(known_decisions_that_bring_nothing_do_not_count)
{
    qdq_validate_verdict known[10];
    qdq_validate_result r;
    world w;

    for (size_t i = 0; i < 10; i++)
        known[i] = i < 5 ? QDQ_VALIDATE_KEPT : QDQ_VALIDATE_REJECTED;
    begin(&w, 10, 1, 0.005);
    fill(&w, 0.02, 0.02);
    for (size_t i = 0; i < 5; i++)
        w.saves[i] = -0.02;
    r = run_with(&w, &(asking){.known = known, .opts = options()});
    assert_string_equal(w.moves[0], "known groups");
    for (size_t i = 0; i < 10; i++)
        assert_true((verdict(&r, i) == QDQ_VALIDATE_KEPT) == (i >= 5) &&
                    !is_by(&r, i, QDQ_VALIDATE_KNOWN));
    qdq_arena_free(&w.arena);
    begin(&w, 10, 1, 0.005); /* all at once: nothing that is known is asked */
    fill(&w, 0.02, 0.02);
    r = run_with(&w, &(asking){.known = known, .at_once = true, .opts = options()});
    assert_true(r.accepted == 10 && w.measured == 1);
    qdq_arena_free(&w.arena);
}

/* --- what keeps its promise, and what does not ------------------------------------------------ */

TEST(all_that_keeps_its_promise_is_one_build)
{
    qdq_validate_result r;
    world w;

    begin(&w, 40, 1, 0.005);
    fill(&w, 0.008, 0.008);
    r = run(&w);
    assert_int_equal(r.accepted, 40);
    assert_int_equal(w.builds, 2);
    assert_string_equal(w.moves[0], "all groups");
    assert_true(fabs(r.item[7].time - 0.68) < 0.01 &&
                r.search.predicted_ns == r.item[7].time * 1e6);
    assert_true(is_by(&r, 7, "all groups") && w.kept[0]);
    assert_true(w.low[0] < 0.32 && w.high[0] > 0.32);
    assert_true(qdq_assign_equal(&r.raw, &r.merged) && qdq_assign_equal(&r.raw, &r.search.best));
    qdq_arena_free(&w.arena);
}

/* Also where all together are slower than the baseline. */
TEST(one_harmful_in_40_is_alone_after_14_builds)
{
    static const double harm[] = {0.01, 0.03, 0.6};
    unsigned most = 0;

    for (uint64_t seed = 0; seed < 120; seed++) {
        const size_t bad = seed % 40;
        qdq_validate_result r;
        world w;
        begin(&w, 40, seed, 0.005);
        fill(&w, 0.008, 0.008);
        set_item(&w, bad, -harm[seed / 40], 0.008);
        if (seed % 2 == 1)
            link_chain(&w);
        r = run(&w);
        assert_int_equal(verdict(&r, bad), QDQ_VALIDATE_REJECTED);
        assert_int_equal(r.accepted, 39);
        assert_true(is_by_itself(&r, bad));
        most = w.builds > most ? w.builds : most;
        qdq_arena_free(&w.arena);
    }
    print_message("1 harmful in 40: at most %u builds\n", most);
    assert_true(most <= 14);
}

/* Each of the two alone, at its border, costs more than both save. Sets are halved right between
 * them, or elsewhere. */
TEST(neighbours_that_are_harmful_alone_are_kept_together)
{
    unsigned together[2] = {0};

    for (uint64_t seed = 0; seed < 40; seed++) {
        const int between = seed % 2;
        const size_t one = between ? 19 : 5, other = one + 1;
        qdq_validate_result r;
        world w;
        begin(&w, 40, seed, 0.005);
        fill(&w, 0, 0.004);
        set_item(&w, 22 + seed % 17, -0.9, 0.004); /* all together are slower than the baseline */
        set_item(&w, one, 0.02, 0.02);
        set_item(&w, other, 0.02, 0.02);
        w.alone[one - 1] = w.alone[other] = 0.005;
        w.alone[one] = 0.03;
        link_chain(&w);
        r = run(&w);
        assert_int_equal(verdict(&r, one), QDQ_VALIDATE_KEPT);
        assert_int_equal(verdict(&r, other), QDQ_VALIDATE_KEPT);
        assert_int_not_equal(verdict(&r, 22 + seed % 17), QDQ_VALIDATE_KEPT);
        together[between] += is_by(&r, one, "two neighbours");
        qdq_arena_free(&w.arena);
    }
    assert_true(together[0] == 0 && together[1] == 20);
}

/* Two items, and nothing else: refused alone because all failed, then tried together. */
TEST(a_pair_is_tried_once_after_both_were_refused)
{
    unsigned pairs = 0;
    qdq_validate_result r;
    world w;

    begin(&w, 3, 1, 0.002);
    fill(&w, 0.02, 0.02);
    w.dead[2] = true; /* 0 | 1 2: both halves are tried by themselves */
    w.alone[0] = 0.03;
    link_chain(&w);
    r = run(&w);
    assert_int_equal(verdict(&r, 0), QDQ_VALIDATE_KEPT);
    assert_int_equal(verdict(&r, 1), QDQ_VALIDATE_KEPT);
    assert_int_equal(verdict(&r, 2), QDQ_VALIDATE_FAILED);
    for (size_t i = 0; i < w.measured; i++)
        pairs += strcmp(w.moves[i], "two neighbours") == 0;
    assert_int_equal(pairs, 1);
    assert_true(is_by(&r, 0, "two neighbours"));
    qdq_arena_free(&w.arena);
}

/* --- the bound on builds ---------------------------------------------------------------------- */

typedef struct drawn {
    unsigned harmful;
    bool is_bad[MOST];
} drawn;

/* Items save half of the time at most; promises are off by what their standard error says. */
static drawn draw(world *w, uint64_t seed)
{
    qdq_random r = qdq_random_new(seed, "world");
    const size_t n = 8 + (size_t)(qdq_random_u64(&r) % 193);
    drawn d = {.harmful = (unsigned)(seed % 5)};

    begin(w, n, seed, 0.003);
    for (size_t i = 0; i < n; i++) {
        const double saves = (0.2 + 0.6 * qdq_random_uniform(&r)) * fmin(0.5 / (double)n, 0.02);
        w->se = 0.1 * 0.5 / (double)n;
        set_item(w, i, saves, saves + w->se * (double)qdq_random_normal(&r));
    }
    for (unsigned k = 0; k < d.harmful; k++) {
        const size_t i = (size_t)(qdq_random_u64(&r) % n);
        w->saves[i] = -(0.015 + 0.02 * qdq_random_uniform(&r));
        d.is_bad[i] = true;
    }
    for (uint32_t i = 0; i + 1 < n; i++)
        if (qdq_random_u64(&r) % 3 != 0)
            w->link[w->n_links++] = (qdq_validate_link){{i, i + 1}};
    return d;
}

TEST(harmful_items_are_found_within_the_bound_in_300_worlds)
{
    unsigned missed = 0, harmful = 0;
    double worst = 0, mean = 0, lost = 0;

    for (uint64_t seed = 0; seed < 300; seed++) {
        world w;
        const drawn d = draw(&w, seed);
        const qdq_validate_result r = run(&w);
        const double bound = 4 + 2 * log2((double)w.n) * (d.harmful + 1);
        for (size_t i = 0; i < w.n; i++) {
            harmful += d.is_bad[i];
            missed += d.is_bad[i] && qdq_assign_get(&r.merged, i);
            lost += !d.is_bad[i] && !qdq_assign_get(&r.merged, i) ? w.saves[i] / 300 : 0;
        }
        worst = fmax(worst, w.builds / bound);
        mean += w.builds / bound / 300;
        qdq_arena_free(&w.arena);
    }
    print_message("missed %u of %u harmful; lost %.3f %% of the time on average; builds %.2f of "
                  "the bound, at most "
                  "%.2f\n",
                  missed, harmful, lost * 100, mean, worst);
    assert_true(worst <= 1);
    assert_true(missed * 100 <= harmful); /* three standard errors */
    assert_true(lost < 0.004);            /* what is too small to be seen once it is off */
}

TEST(what_cannot_be_built_is_alone)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        qdq_validate_result r;
        world w;
        begin(&w, 40, seed, 0.005);
        fill(&w, 0.008, 0.008);
        w.dead[seed] = true;
        r = run(&w);
        assert_int_equal(verdict(&r, seed), QDQ_VALIDATE_FAILED);
        assert_true(r.failed == 1 && r.accepted == 39);
        assert_true(isnan(w.times[0]) && isnan(r.item[seed].time));
        assert_true(w.builds <= 14);
        qdq_arena_free(&w.arena);
    }
}

/* --- nulls ------------------------------------------------------------------------------------ */

static double count_false_keeps(const char *what, double promised, bool linked)
{
    enum { SEEDS = 200 };
    double kept = 0, mean = 0;
    unsigned covered = 0, measured = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const qdq_test_opts fresh = {.gain = 0.006,
                                     .enter = 0.003,
                                     .alpha = 0.02,
                                     .beta = 0.1,
                                     .pilot = 5,
                                     .max_pairs = 20,
                                     .strict = true};
        qdq_test_result report;
        qdq_validate_result r;
        qdq_assign none;
        world w;
        begin(&w, 50, seed, 0.005);
        fill(&w, 0, promised);
        if (linked)
            link_chain(&w);
        r = run(&w);
        kept += (double)r.accepted / SEEDS;
        measured += w.measured;
        assert_true(qdq_assign_new(&none, w.n, &w.arena));
        assert_ok(test_pairs(&w, &none, &r.merged, &fresh, &report, &err));
        covered += report.ci_low <= 0 && report.ci_high >= 0;
        mean += report.gain / SEEDS;
        qdq_arena_free(&w.arena);
    }
    print_message(
        "50 nulls, %s: %.3f kept, %.1f measured; the interval covers 0 in %u of 200, mean %.5f\n",
        what, kept, measured / (double)SEEDS, covered, mean);
    assert_true(covered >= 0.9 * SEEDS && fabs(mean) < 0.0005);
    return kept;
}

/* The gain that is reported is that of fresh pairs, as the final validation takes them. */
TEST(of_50_nulls_one_is_kept_at_most)
{
    assert_true(count_false_keeps("promised half a percent each", 0.005, false) <= 1);
    assert_true(count_false_keeps("in a row", 0.005, true) <= 1);
    assert_true(count_false_keeps("nothing promised", NAN, true) <= 1);
}

/* --- the rest --------------------------------------------------------------------------------- */

TEST(without_promises_the_verdict_decides)
{
    qdq_validate_result r;
    world w;

    begin(&w, 16, 3, 0.003);
    fill(&w, 0.01, NAN);
    set_item(&w, 11, -0.5, NAN);
    r = run(&w);
    assert_int_equal(verdict(&r, 11), QDQ_VALIDATE_REJECTED);
    assert_int_equal(r.accepted, 15);
    assert_string_equal(w.moves[0], "all groups");
    qdq_arena_free(&w.arena);
}

/* All together are faster than the baseline, and nobody promised how much: only taking away shows
 * the one that does harm. */
TEST(the_backward_pass_takes_away_what_does_harm)
{
    qdq_validate_result r;
    world w;

    begin(&w, 8, 3, 0.003);
    fill(&w, 0.03, NAN);
    set_item(&w, 5, -0.02, NAN);
    r = run(&w);
    assert_int_equal(verdict(&r, 5), QDQ_VALIDATE_REJECTED);
    assert_true(is_by(&r, 5, "without a group"));
    assert_int_equal(r.accepted, 7);
    assert_true(w.builds <= 4 + 2 * 3 * 2);
    qdq_arena_free(&w.arena);
}

TEST(where_every_second_one_is_bad_less_than_50_builds_decide)
{
    qdq_validate_result r;
    world w;

    begin(&w, 30, 5, 0.003);
    for (size_t i = 0; i < 30; i++)
        set_item(&w, i, i % 2 == 0 ? 0.012 : -0.03, 0.012);
    r = run(&w);
    for (size_t i = 0; i < 30; i++)
        assert_int_equal(verdict(&r, i), i % 2 == 0 ? QDQ_VALIDATE_KEPT : QDQ_VALIDATE_REJECTED);
    for (size_t i = w.events / 2; i + 1 < w.events; i++) /* the last one is the result */
        assert_string_equal(w.moves[i], "a group");
    assert_true(w.builds < 50);
    qdq_arena_free(&w.arena);
}

TEST(all_at_once_is_one_trial)
{
    const asking ask = {.at_once = true, .opts = options()};
    qdq_validate_result r;
    world w;

    begin(&w, 10, 1, 0.003);
    fill(&w, 0.01, 0.02);
    r = run_with(&w, &ask);
    assert_true(r.accepted == 10 && w.measured == 1);
    qdq_arena_free(&w.arena);
    begin(&w, 10, 1, 0.003);
    fill(&w, -0.01, 0.02);
    r = run_with(&w, &ask);
    assert_true(r.rejected == 10 && w.measured == 1 && qdq_assign_count(&r.search.best) == 0);
    assert_true(fabs(r.item[0].time - 1.1) < 0.01 && r.search.predicted_ns == 1e6);
    qdq_arena_free(&w.arena);
}

/* Whatever the budget, and wherever it ends: what was measured counts, and nothing else is on. */
TEST(a_budget_ends_it_with_what_was_measured)
{
    for (unsigned most = 1; most < 30; most++)
        for (int how = 0; how < 3; how++) {
            asking ask = {.opts = options()};
            qdq_validate_result r;
            world w;
            begin(&w, 40, 2, 0.005);
            fill(&w, 0.01, 0.01);
            set_item(&w, 3, -0.5, 0.01);
            set_item(&w, 30, -0.1, 0.01);
            if (how == 0)
                w.ends_at = most;
            else if (how == 1)
                ask.opts.max_trials = most;
            else
                ask.opts.max_builds = most;
            r = run_with(&w, &ask);
            assert_true(how != 1 || w.measured <= most);
            assert_true(how != 2 || w.builds <= most);
            assert_true(time_of(&w, &r.search.best) <= 1);
            assert_true(most > 1 || (r.undecided == 40) == (how != 1) || r.undecided > 0);
            assert_true(r.search.ended_early || most > 10);
            assert_int_equal(verdict(&r, 3) == QDQ_VALIDATE_KEPT, false);
            qdq_arena_free(&w.arena);
        }
}

TEST(equal_answers_give_equal_decisions)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        qdq_validate_result r[2];
        world w[2];
        for (int i = 0; i < 2; i++) {
            draw(&w[i], seed);
            r[i] = run(&w[i]);
        }
        assert_true(w[0].log == w[1].log && w[0].measured == w[1].measured);
        for (size_t i = 0; i < w[0].n; i++) {
            assert_int_equal(verdict(&r[0], i), verdict(&r[1], i));
            assert_true(r[0].item[i].move == r[1].item[i].move);
            assert_true(r[0].item[i].time == r[1].item[i].time || isnan(r[0].item[i].time));
        }
        for (int i = 0; i < 2; i++)
            qdq_arena_free(&w[i].arena);
    }
}

/* The kept items once more, on top of what was merged: nothing is measured, and nothing changes. */
TEST(what_was_merged_stays)
{
    asking ask = {.opts = options()};
    qdq_validate_result first, r;
    unsigned before;
    world w;

    begin(&w, 20, 1, 0.003);
    fill(&w, 0.01, 0.01);
    first = run(&w);
    assert_int_equal(first.accepted, 20);
    before = w.measured;
    ask.start = &first.merged; /* the best start is all of it */
    r = run_with(&w, &ask);
    assert_true(qdq_assign_equal(&r.merged, &first.merged) &&
                qdq_assign_equal(&r.search.best, &r.merged));
    assert_int_equal(w.measured, before + 1); /* the start itself */
    qdq_arena_free(&w.arena);
}

/* Rules save 10 %: what is merged must be better than that, measured against it. */
TEST(the_best_start_is_measured_against_in_the_end)
{
    asking ask = {.opts = options()};
    qdq_validate_result r;
    qdq_assign rules;
    world w;

    for (int better = 0; better < 2; better++) {
        begin(&w, 12, 1, 0.003);
        fill(&w, 0.01, 0.01);
        set_item(&w, 0, better == 1 ? -0.02 : 0.01, 0.01);
        w.dead[11] = true; /* without it the rules have one item less than they might */
        assert_true(qdq_assign_new(&rules, 12, &w.arena));
        for (size_t i = 0; i < 11; i++)
            qdq_assign_set(&rules, i, i < 6 || better == 0);
        ask.start = &rules;
        r = run_with(&w, &ask);
        if (better == 1) {
            assert_true(time_of(&w, &r.search.best) < 0.91);
            assert_true(qdq_assign_equal(&r.search.best, &r.merged));
            assert_string_equal(w.moves[w.events - 2], "merged groups");
        } else
            assert_true(qdq_assign_equal(&r.search.best, &rules));
        qdq_arena_free(&w.arena);
    }
}

TEST(nothing_to_merge_is_nothing_to_measure)
{
    const qdq_search_opts o = options();
    world w;

    begin(&w, 4, 1, 0);
    const qdq_search_ops ops = {.ctx = &w, .measure = measure};
    qdq_assign start;
    assert_true(qdq_assign_new(&start, 4, &w.arena));
    const qdq_search_problem s = {.n_bits = 4, .start = &start, .n_starts = 1, .base_ns = 1e6};
    const qdq_validate_problem p = {.search = &s, .incremental = true};
    qdq_validate_result r;
    assert_ok(qdq_validate_run(&p, &o, &ops, &w.arena, &r, &err));
    assert_true(w.measured == 0 && r.search.predicted_ns == s.base_ns);
    qdq_arena_free(&w.arena);
}

TEST(verdicts_have_names)
{
    assert_string_equal(qdq_validate_verdict_name(QDQ_VALIDATE_UNDECIDED), "undecided");
    assert_string_equal(qdq_validate_verdict_name(QDQ_VALIDATE_KEPT), "kept");
    assert_string_equal(qdq_validate_verdict_name(QDQ_VALIDATE_REJECTED), "rejected");
    assert_string_equal(qdq_validate_verdict_name(QDQ_VALIDATE_FAILED), "failed");
}
