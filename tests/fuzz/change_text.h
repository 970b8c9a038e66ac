/* change_text.h - changes of model text that mostly leave it readable: changed bytes hardly ever
 * get beyond the parser, and what is behind it wants hostile models, too. */
#ifndef QDQ_FUZZ_CHANGE_TEXT_H
#define QDQ_FUZZ_CHANGE_TEXT_H

#include <stddef.h>
#include <stdint.h>

uint64_t qdq_fuzz_random(uint64_t *state); /* splitmix64 */

/* One change of text[0..size), which has room for `max` bytes; returns the new size. */
size_t qdq_fuzz_change_text(char *text, size_t size, size_t max, uint64_t *state);

#endif /* QDQ_FUZZ_CHANGE_TEXT_H */
