/* cli_regions.h - options that decide which regions 'qdq autotune' tunes; 'qdq inspect --regions'
 * takes the same. */
#ifndef QDQ_CLI_REGIONS_H
#define QDQ_CLI_REGIONS_H

#include "cli/cli.h"
#include "qdq/parts.h"

typedef struct cli_region_args {
    int builder; /* a qdq_region_builder */
    int64_t max_size, min_refine;
} cli_region_args;

extern const cli_opt cli_region_opts[];

/* An option that was given, "--region-builder"; NULL: none. One that repeats its default counts as
 * not given. */
const char *cli_regions_given(const cli_region_args *a);

void cli_regions_fill(const cli_region_args *a, qdq_region_opts *o);

#endif /* QDQ_CLI_REGIONS_H */
