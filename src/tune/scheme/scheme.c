/* scheme.c - schemes as sets of points. Sets of points are sorted lists, so that hash and distance
 * are one walk. */
#include "tune/scheme/scheme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

const qdq_point_list qdq_point_lists[QDQ_POINT_LISTS] = {
    {"nodes_insertion_points", "input_index", false, true},
    {"child_region_inputs", "input_index", true, false},
    {"region_outputs", "output_index", true, true}};

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
    bool ok = true;

    for (size_t i = 0; i < QDQ_POINT_LISTS; i++)
        ok &= sort_points(&s->list[i]);
    return ok;
}

/* --- hash ------------------------------------------------------------------------------------- */

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

static void add_point(struct sha256_ctx *h, const qdq_point_list *list, const qdq_point *p)
{
    if (list->has_region)
        add_number(h, "(", p->region);
    if (list->has_node)
        add_number(h, list->has_region ? ", " : "(", p->node);
    add_number(h, ", ", p->index);
    qdq_sha256_add(h, ")");
}

void qdq_scheme_hash(const qdq_scheme *s, char hash[33])
{
    struct sha256_ctx h;

    sha256_init(&h);
    for (size_t k = 0; k < QDQ_POINT_LISTS; k++) {
        const qdq_points *list = &s->list[k];
        qdq_sha256_add(&h, k > 0 ? "|[" : "[");
        for (size_t i = 0; i < list->n; i++) {
            if (i > 0)
                qdq_sha256_add(&h, ", ");
            add_point(&h, &qdq_point_lists[k], &list->at[i]);
        }
        qdq_sha256_add(&h, "]");
    }
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
    size_t sum = 0;

    if (a->placement != NULL || b->placement != NULL)
        return a->placement != NULL && b->placement != NULL &&
                       strcmp(a->placement, b->placement) == 0
                   ? 0
                   : SIZE_MAX;
    for (size_t i = 0; i < QDQ_POINT_LISTS; i++)
        sum += differing(&a->list[i], &b->list[i]);
    return sum;
}

size_t qdq_scheme_pool(size_t n, double share, size_t least)
{
    double part = (double)n * share;
    size_t of_all = part >= (double)n ? n : (size_t)part, at_least = least < n ? least : n;

    return of_all > at_least ? of_all : at_least;
}
