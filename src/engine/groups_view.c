/* groups_view.c - executed layers and their nodes: sums. */
#include <math.h>

#include "qdq/engine.h"

qdq_layers_sum qdq_layers_add(const qdq_layer *g, size_t n)
{
    qdq_layers_sum s = {NAN, NAN, NAN, 0};
    double us = 0, conversions = 0, known = 0;

    for (size_t i = 0; i < n; i++) {
        if (isnan(g[i].median_us))
            continue;
        s.n_timed++;
        us += g[i].median_us;
        conversions += g[i].conversion ? g[i].median_us : 0;
        known += !g[i].conversion && g[i].n_nodes > 0 ? g[i].median_us : 0;
    }
    if (s.n_timed == 0)
        return s;
    s.us = us;
    s.conversions_us = conversions;
    if (us > conversions)
        s.attributed = known / (us - conversions);
    return s;
}
