/* cli_regions.h - options that decide which regions 'qdq autotune' tunes; 'qdq inspect --regions'
 * takes the same. */
#ifndef QDQ_CLI_REGIONS_H
#define QDQ_CLI_REGIONS_H

#include "cli/cli.h"
#include "qdq/parts.h"

typedef struct cli_region_args {
#include "cli/cli_members.def"
#include "cli/cli_regions.def"
} cli_region_args;

extern const cli_opt cli_region_opts[];

void cli_regions_fill(const cli_region_args *a, qdq_region_opts *o);

#endif /* QDQ_CLI_REGIONS_H */
