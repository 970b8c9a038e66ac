/* cli_regions.c - the table of these options, and what the library wants to have made of them. */
#include "cli/cli_regions.h"

/* by qdq_region_builder */
static const char *const builders[] = {"auto", "structure", "names", NULL};

const cli_opt cli_region_opts[] = {
    {.name = "region-builder",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(cli_region_args, builder),
     .what = "HOW",
     .help = "find regions by this; auto: names if 80 % of nodes have one",
     .init = "auto",
     .choices = builders},
    {.name = "max-region-size",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(cli_region_args, max_size),
     .what = "N",
     .help = "merge neighbours into regions of at most N nodes",
     .init = "10",
     .min = 1,
     .max = 1000000},
    {.name = "min-refine-size",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(cli_region_args, min_refine),
     .what = "N",
     .help = "keep regions with fewer nodes in one piece",
     .init = "10",
     .min = 1,
     .max = 1000000},
    CLI_END,
};

const char *cli_regions_given(const cli_region_args *a)
{
    return a->builder != 0       ? "--region-builder"
           : a->max_size != 10   ? "--max-region-size"
           : a->min_refine != 10 ? "--min-refine-size"
                                 : NULL;
}

void cli_regions_fill(const cli_region_args *a, qdq_region_opts *o)
{
    o->builder = (qdq_region_builder)a->builder;
    o->max_region_size = (unsigned)a->max_size;
    o->min_refine_size = (unsigned)a->min_refine;
}
