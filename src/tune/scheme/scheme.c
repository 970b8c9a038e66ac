/* scheme.c - see the header. Sets of points are sorted lists, so that hash and distance are one
 * walk. */
#include "tune/scheme/scheme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

/* What a list of points leaves out is QDQ_POINT_NONE in all of them, so that one order serves all
 * three lists. */
static int compare_points(const void *a, const void *b)
{
    const qdq_point *p = a, *q = b;

    if (p->region != q->region)
        return p->region < q->region ? -1 : 1;
    if (p->node != q->node)
        return p->node < q->node ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

/* --- order ------------------------------------------------------------------------------------ */

static bool sort_points(qdq_points *list)
{
    size_t n = 0, given = list->n;

    if (given == 0)
        return true;
    qsort(list->at, given, sizeof *list->at, compare_points);
    for (size_t i = 0; i < given; i++)
        if (n == 0 || compare_points(&list->at[n - 1], &list->at[i]) != 0)
            list->at[n++] = list->at[i];
    list->n = n;
    return n == given;
}

bool qdq_scheme_sort(qdq_scheme *s)
{
    bool inputs = sort_points(&s->node_inputs), children = sort_points(&s->child_inputs);

    return sort_points(&s->outputs) && inputs && children;
}

/* --- hash ------------------------------------------------------------------------------------- */

typedef enum list_kind { NODE_INPUTS, CHILD_INPUTS, OUTPUTS } list_kind;

/* As Python prints a tuple of integers and None. */
static void add_number(struct sha256_ctx *h, const char *before, int32_t x)
{
    char text[16];

    qdq_sha256_add(h, before);
    if (x == QDQ_POINT_NONE) {
        qdq_sha256_add(h, "None");
        return;
    }
    snprintf(text, sizeof text, "%d", (int)x);
    qdq_sha256_add(h, text);
}

static void add_point(struct sha256_ctx *h, list_kind kind, const qdq_point *p)
{
    switch (kind) {
    case NODE_INPUTS:
        add_number(h, "(", p->node);
        break;
    case CHILD_INPUTS:
        add_number(h, "(", p->region);
        break;
    case OUTPUTS:
        add_number(h, "(", p->region);
        add_number(h, ", ", p->node);
        break;
    }
    add_number(h, ", ", p->index);
    qdq_sha256_add(h, ")");
}

static void add_list(struct sha256_ctx *h, list_kind kind, const qdq_points *list)
{
    qdq_sha256_add(h, "[");
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            qdq_sha256_add(h, ", ");
        add_point(h, kind, &list->at[i]);
    }
    qdq_sha256_add(h, "]");
}

void qdq_scheme_hash(const qdq_scheme *s, char hash[33])
{
    struct sha256_ctx h;

    sha256_init(&h);
    add_list(&h, NODE_INPUTS, &s->node_inputs);
    qdq_sha256_add(&h, "|");
    add_list(&h, CHILD_INPUTS, &s->child_inputs);
    qdq_sha256_add(&h, "|");
    add_list(&h, OUTPUTS, &s->outputs);
    qdq_sha256_end(&h, hash);
}

/* --- distance --------------------------------------------------------------------------------- */

static size_t differing(const qdq_points *a, const qdq_points *b)
{
    size_t i = 0, k = 0, both = 0;

    while (i < a->n && k < b->n) {
        int c = compare_points(&a->at[i], &b->at[k]);
        both += c == 0;
        i += c <= 0;
        k += c >= 0;
    }
    return a->n + b->n - 2 * both;
}

size_t qdq_scheme_distance(const qdq_scheme *a, const qdq_scheme *b)
{
    if (a->placement != NULL || b->placement != NULL)
        return a->placement != NULL && b->placement != NULL &&
                       strcmp(a->placement, b->placement) == 0
                   ? 0
                   : SIZE_MAX;
    return differing(&a->node_inputs, &b->node_inputs) +
           differing(&a->child_inputs, &b->child_inputs) + differing(&a->outputs, &b->outputs);
}

size_t qdq_scheme_pool(size_t n, double share, size_t least)
{
    double part = (double)n * share;
    size_t of_all = part >= (double)n ? n : (size_t)part, at_least = least < n ? least : n;

    return of_all > at_least ? of_all : at_least;
}
