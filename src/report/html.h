/* html.h - text into HTML: whatever a name holds, it stays text. */
#ifndef QDQ_HTML_H
#define QDQ_HTML_H

#include "base/buf.h"

/* Text content or an attribute's value in double quotes. Markup is escaped; bytes that are no
 * UTF-8, and control characters, become U+FFFD, so that nothing turns the page's direction or ends
 * it. NULL is "". */
void qdq_html_text(qdq_buf *b, const char *text);

/* A string of JSON with its quotes, for a script element or a file: ASCII escapes instead of
 * markup, so that no name ends the element; the same bytes become U+FFFD as in qdq_html_text().
 * NULL is "". */
void qdq_html_json(qdq_buf *b, const char *text);

/* A number as people read it: 1234567 as "1.23 M", 0 as "0". */
void qdq_html_count(qdq_buf *b, double n);

#endif /* QDQ_HTML_H */
