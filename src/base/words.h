/* words.h - whether a text is one of several words. */
#ifndef QDQ_WORDS_H
#define QDQ_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* `list` ends with NULL; a NULL list is empty. */
static inline bool qdq_word_is_in(const char *word, const char *const *list)
{
    for (; list != NULL && *list != NULL; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* QDQ_WORD_IS_IN(text, "true", "True") */
#define QDQ_WORDS(...)            ((const char *const[]){__VA_ARGS__, NULL})
#define QDQ_WORD_IS_IN(word, ...) qdq_word_is_in(word, QDQ_WORDS(__VA_ARGS__))

/* Whether a text begins with one of them. */
static inline bool qdq_text_begins(const char *text, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strncmp(text, *list, strlen(*list)) == 0)
            return true;
    return false;
}
#define QDQ_TEXT_BEGINS(text, ...) qdq_text_begins(text, QDQ_WORDS(__VA_ARGS__))

static inline const char *qdq_text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

#endif /* QDQ_WORDS_H */
