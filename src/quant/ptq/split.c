/* split.c - which samples calibrate and which evaluate. Where the number of folds and the limit of
 * cross-validation come from: docs/decisions.md, "few samples are cross-validated", and why not
 * where samples round weights: "weights that samples round are evaluated on other samples". */
#include "qdq/ptq.h"

#include "quant/data/data_source.h"
#include "target/target.h"

enum { RANDOM_SAMPLES = 8, MOST_EVALUATE = 64 };

/* For a goal: fewer samples than these are cross-validated; of more, at least this number is held
 * out. */
enum { FEW_SAMPLES = 64, LEAST_EVALUATE = 16, FOLDS = 4 };

/* One in eight, and at least one. */
static size_t eighth(size_t n)
{
    return n / 8 > 0 ? n / 8 : 1;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Of few samples one in four, as of FEW_SAMPLES, but four if these are no more than half: what
 * fewer bound from below is far lower. */
static size_t quarter(size_t n)
{
    const size_t half = n > 1 ? n / 2 : 1;

    return n / 4 > 4 ? n / 4 : least(half, 4);
}

/* `want` of `have` samples calibrate, unless they are all there are. */
static qdq_split hold_out(size_t have, size_t want)
{
    qdq_split s = {.calibrate = want, .evaluate = least(eighth(want), MOST_EVALUATE)};

    if (have < 2) {
        s.evaluate = have;
        return s;
    }
    if (want == have)
        s.calibrate = have - s.evaluate;
    else
        s.evaluate = least(s.evaluate, have - want);
    s.first = s.calibrate;
    s.held_out = true;
    return s;
}

static qdq_split split_for_goal(size_t have, size_t want, bool rounds)
{
    const size_t rest = have - want;
    qdq_split s = hold_out(have, want);

    if (have < 2)
        return s;
    if (rest >= LEAST_EVALUATE / 2 || want >= FEW_SAMPLES) {
        s.evaluate = s.evaluate > LEAST_EVALUATE ? s.evaluate : LEAST_EVALUATE;
        if (rest >= LEAST_EVALUATE / 2)
            s.evaluate = least(s.evaluate, rest);
        s.calibrate = rest >= s.evaluate ? want : have - s.evaluate;
        s.first = s.calibrate;
    } else if (rounds) {
        s.evaluate = quarter(want) > rest ? quarter(want) : rest;
        s.calibrate = rest >= s.evaluate ? want : have - s.evaluate;
        s.first = s.calibrate;
    } else if (want >= 2)
        s = (qdq_split){.calibrate = want, .evaluate = want, .held_out = true, .folds = FOLDS};
    return s;
}

/* No group is on both sides. */
static qdq_split keep_groups(const qdq_data *d, qdq_split s, size_t have, size_t want)
{
    if (s.folds > 0 && qdq_data_most_folds(d, s.calibrate) < 2)
        s = hold_out(have, want);
    if (s.folds > 0 || !s.held_out)
        return s;
    const size_t border = qdq_data_group_border(d, s.first), end = s.first + s.evaluate;
    s.calibrate = s.first = border;
    s.evaluate = border < end ? end - border : least(s.evaluate, have - border);
    return s;
}

qdq_split qdq_split_samples(const qdq_data *data, const qdq_data *eval, size_t samples,
                            unsigned uses)
{
    const bool is_random = data != NULL && qdq_data_is_random(data),
               evaluates = (uses & QDQ_SPLIT_EVALUATE) != 0;
    const size_t have = data != NULL ? qdq_data_count(data) : 0,
                 most = samples > 0 ? samples
                        : is_random ? RANDOM_SAMPLES
                                    : have,
                 want = least(most, have);
    qdq_split s = {0};

    if (!(uses & QDQ_SPLIT_CALIBRATE))
        s.evaluate = evaluates ? want : 0;
    else if (!evaluates || eval != NULL)
        s.calibrate = want;
    else if ((uses & QDQ_SPLIT_GOAL) && !is_random)
        s = split_for_goal(have, want, (uses & QDQ_SPLIT_ROUND) != 0);
    else
        s = hold_out(have, want);
    if ((uses & QDQ_SPLIT_CALIBRATE) && evaluates && eval == NULL && data != NULL)
        s = keep_groups(data, s, have, want);
    if (evaluates && eval != NULL) {
        s.evaluate = qdq_data_count(eval);
        s.held_out = true;
    }
    return s;
}

bool qdq_rounds_by_samples(const qdq_target *t)
{
    return qdq_target_rounds_by_samples(t);
}

size_t qdq_split_random(size_t samples, unsigned uses)
{
    const size_t want = samples > 0 ? samples : RANDOM_SAMPLES;

    return uses & QDQ_SPLIT_EVALUATE ? want + eighth(want) : want;
}
