/* page_style.h - how the page looks, and the script that sorts and searches. Text that goes into
 * the page as it is. */
#ifndef QDQ_PAGE_STYLE_H
#define QDQ_PAGE_STYLE_H

extern const char *const qdq_page_css[]; /* parts; ends with NULL */
extern const char qdq_page_script[];

#endif /* QDQ_PAGE_STYLE_H */
