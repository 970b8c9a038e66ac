/* cli_tune_view.c - how far a tuning run is: one line that is written over on a terminal, elsewhere
 * a line for each pattern or phase when it has ended. */
#include "cli/cli_tune.h"

#include <math.h>
#include <string.h>

/* "7.23 ms, 2.79x | pattern 3 of 10 | 11 builds | 0:07 left": fits into 80 columns, for names of
 * patterns do not. */
static void describe(const qdq_tune_live *now, char *text, size_t size)
{
    char times[60] = "", place[60], builds[30] = "", left[40] = "";

    if (now->baseline_ms > 0) {
        snprintf(times, sizeof times, "%.4g ms, %.2fx | ", now->incumbent_ms,
                 now->incumbent_ms > 0 ? now->baseline_ms / now->incumbent_ms : 1);
        snprintf(builds, sizeof builds, " | %u build%s", now->builds, cli_plural(now->builds));
    }
    if (now->unit_number > 0)
        snprintf(place, sizeof place, "%.30s %zu of %zu",
                 strcmp(now->phase, "regions") == 0 ? "pattern" : now->phase, now->unit_number,
                 now->n_units);
    else
        snprintf(place, sizeof place, "%.40s", now->phase);
    if (isfinite(now->left_s))
        snprintf(left, sizeof left, " | %d:%02d left", (int)now->left_s / 60,
                 (int)now->left_s % 60);
    snprintf(text, size, "%s%s%s%s", times, place, builds, left);
}

void cli_tune_view_live(void *view, const qdq_tune_live *now)
{
    cli_tune_view *v = view;

    if (strcmp(now->phase, "done") ==
        0) /* of the search: the guard is still to come; of the run: the result is */
        return;
    bool other = !v->begun || strcmp(v->phase, now->phase) != 0 || v->number != now->unit_number;

    if (v->begun && other)
        cli_ui_show(v->ui, v->text, true);
    describe(now, v->text, sizeof v->text);
    snprintf(v->phase, sizeof v->phase, "%s", now->phase);
    v->number = now->unit_number;
    v->begun = true;
    cli_ui_show(v->ui, v->text, false);
}
