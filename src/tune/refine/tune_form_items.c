/* tune_form_items.c - operators and their formats, as items that steps after the search change. */
#include "tune/refine/tune_form_items.h"

#include "tune/space/space_edges.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_partial.h"

size_t qdq_form_item_count(const qdq_space *s)
{
    return 2 * s->n_formed;
}

size_t qdq_form_item_own(const qdq_space *s, size_t first)
{
    return s->n_formed + first;
}

bool qdq_form_item_is_own(const qdq_space *s, size_t item)
{
    return item >= s->n_formed;
}

static const qdq_space_form *form_of(const qdq_space *s, size_t item)
{
    return &s->formed[item < s->n_formed ? item : item - s->n_formed];
}

size_t qdq_form_item_column(const qdq_space *s, size_t item)
{
    return qdq_form_item_is_own(s, item) ? s->forms.n : s->formed[item].form;
}

const qdq_format *qdq_form_item_format(const qdq_space *s, size_t item)
{
    return qdq_form_item_is_own(s, item) ? &s->target->format
                                         : &s->forms.at[s->formed[item].form].format;
}

const qdq_node *qdq_form_item_node(const qdq_space *s, size_t item)
{
    return form_of(s, item)->node;
}

size_t qdq_form_item_first(const qdq_space *s, size_t item)
{
    return s->first_formed[form_of(s, item)->node->id];
}

size_t qdq_form_item_end(const qdq_space *s, size_t first)
{
    size_t end = first;

    while (end < s->n_formed && s->formed[end].node == s->formed[first].node)
        end++;
    return end;
}

/* Has the target's own weights. */
static bool is_own(const qdq_space *s, const qdq_assign *a, const qdq_node *n)
{
    const uint32_t group = s->first_group[n->id];

    return qdq_format_weight_only(&s->target->format) && group != QDQ_NO_GROUP &&
           qdq_space_get_part(s, a, group) != QDQ_PART_NONE;
}

size_t qdq_form_item_of(const qdq_space *s, const qdq_assign *a, size_t first)
{
    const qdq_node *n = s->formed[first].node;
    const size_t at = qdq_space_form_of(s, a, n);

    return at != QDQ_NO_FORM ? at : is_own(s, a, n) ? qdq_form_item_own(s, first) : QDQ_NO_ITEM;
}

void qdq_form_item_set(const qdq_space *s, qdq_assign *a, size_t item)
{
    const qdq_node *n = qdq_form_item_node(s, item);

    if (!qdq_form_item_is_own(s, item))
        qdq_space_set_form(s, a, item);
    else
        qdq_space_set_own(s, a, n);
}
