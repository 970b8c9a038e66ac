/* suggest.h - what was meant by a word that is not there. */
#ifndef QDQ_SUGGEST_H
#define QDQ_SUGGEST_H

#include <stddef.h>

/* Of the n names the one nearest to `word`, near enough to be a slip of the finger: capitals, up to
 * two letters, a part left off at the end; else NULL. */
const char *qdq_suggest(const char *word, const char *const *names, size_t n);

#endif /* QDQ_SUGGEST_H */
