/* cli_regions.c - the table of these options, and what the library wants to have made of them. */
#include "cli/cli_regions.h"

#define ARGS cli_region_args
#include "cli/cli_tables.def"
#include "cli/cli_regions.def"

void cli_regions_fill(const cli_region_args *a, qdq_region_opts *o)
{
    o->builder = (qdq_region_builder)a->builder;
    o->max_region_size = (unsigned)a->max_size;
    o->min_refine_size = (unsigned)a->min_refine;
}
