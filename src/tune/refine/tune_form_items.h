/* tune_form_items.h - operators and the formats that they can get: those of s->formed, and after
 * them the target's own weights, of operators that are float where a goal left them so. */
#ifndef QDQ_TUNE_FORM_ITEMS_H
#define QDQ_TUNE_FORM_ITEMS_H

#include "tune/space/space.h"

/* No item: as in the base. */
#define QDQ_NO_ITEM SIZE_MAX

/* Number of items, of which some do not exist. */
size_t qdq_form_item_count(const qdq_space *s);

/* The item of the target's own weights; `first` is the first one of the operator in s->formed. */
size_t qdq_form_item_own(const qdq_space *s, size_t first);
bool qdq_form_item_is_own(const qdq_space *s, size_t item);

/* Index of the format among those of the space; s->forms.n: the target's own. */
size_t qdq_form_item_column(const qdq_space *s, size_t item);
const qdq_format *qdq_form_item_format(const qdq_space *s, size_t item);

const qdq_node *qdq_form_item_node(const qdq_space *s, size_t item);

/* The first item of the same operator in s->formed, and the end of those. */
size_t qdq_form_item_first(const qdq_space *s, size_t item);
size_t qdq_form_item_end(const qdq_space *s, size_t first);

/* The item that `a` has for the operator whose first one this is; QDQ_NO_ITEM: it is float, or has
 * calibrated scales. */
size_t qdq_form_item_of(const qdq_space *s, const qdq_assign *a, size_t first);

/* Gives the operator this format. */
void qdq_form_item_set(const qdq_space *s, qdq_assign *a, size_t item);

/* The next item of an operator after `item`, its own format last; QDQ_NO_ITEM: there is none. */
static inline size_t qdq_form_item_next(const qdq_space *s, size_t item)
{
    const size_t first = qdq_form_item_first(s, item);

    return qdq_form_item_is_own(s, item)            ? QDQ_NO_ITEM
           : item + 1 < qdq_form_item_end(s, first) ? item + 1
                                                    : qdq_form_item_own(s, first);
}

#endif /* QDQ_TUNE_FORM_ITEMS_H */
