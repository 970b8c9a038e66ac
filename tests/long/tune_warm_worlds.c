/* tune_warm_worlds.c - 200 random worlds on the sim engine: a run that is given pattern caches
 * never ends below one that is not, be they its own, of a similar model, or full of wrong entries;
 * with its own it is short. */
#include "support/warm.h"

#include <math.h>

enum { WORLDS = 200 };

TEST(a_warm_start_never_ends_below_a_cold_one)
{
    double worst = INFINITY;

    for (uint64_t seed = 0; seed < WORLDS; seed++)
        worst = fmin(worst, test_warm_world(seed));
    print_message("at least %.4f of the speed of a cold start in %d worlds\n", worst, WORLDS);
    assert_true(worst >= 0.99);
}
