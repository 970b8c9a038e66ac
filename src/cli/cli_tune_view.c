/* cli_tune_view.c - how far a tuning run is: one line that is written over on a terminal, elsewhere
 * a line for each pattern or phase when it has ended. */
#include "cli/cli_tune.h"

#include <math.h>
#include <string.h>

/* Names of patterns come from files, and are long. */
static void put_pattern(char *to, size_t size, const char *name)
{
    size_t n = 0;

    while (n + 1 < size && name[n] != '\0') {
        to[n] = (unsigned char)name[n] < 0x20 || name[n] == 0x7f ? '?' : name[n];
        n++;
    }
    to[n] = '\0';
    if (name[n] != '\0' && size > 4)
        memcpy(to + size - 4, "...", 4);
}

static void describe(const qdq_tune_live *now, char *text, size_t size)
{
    char pattern[49], place[100], left[40] = "";

    if (now->unit_number > 0) {
        put_pattern(pattern, sizeof pattern, now->unit);
        snprintf(place, sizeof place, "%s %zu of %zu, %s",
                 strcmp(now->phase, "regions") == 0 ? "region" : now->phase, now->unit_number,
                 now->n_units, pattern);
    } else {
        snprintf(place, sizeof place, "%s", now->phase);
    }
    if (isfinite(now->left_s))
        snprintf(left, sizeof left, ", %d:%02d left", (int)now->left_s / 60, (int)now->left_s % 60);
    if (now->baseline_ms > 0)
        snprintf(text, size, "%s: %.4g ms, %.1f %% saved, %u builds%s", place, now->incumbent_ms,
                 now->saved_share * 100, now->builds, left);
    else
        snprintf(text, size, "%s%s", place, left);
}

void cli_tune_view_live(cli_tune_view *v, const qdq_tune_live *now)
{
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
