/* rewrite.h - passes and rules as text in and text out. Every check runs twice: twice is once; and
 * verifies the model behind every pass. */
#ifndef QDQ_TEST_REWRITE_H
#define QDQ_TEST_REWRITE_H

#include "support/test.h"

/* The pipeline makes `after` of `before`. */
void assert_becomes(const char *pipeline, const char *before, const char *after);

/* The pipeline leaves this as it is. */
void assert_kept(const char *pipeline, const char *text);

/* As assert_kept, and the report gives `reason` (a part of the text does). */
void assert_refused(const char *pipeline, const char *text, const char *reason);

#endif /* QDQ_TEST_REWRITE_H */
