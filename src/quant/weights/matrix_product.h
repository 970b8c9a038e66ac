/* matrix_product.h - sums of products of float matrices for GPTQ, whose Hessians take most of its
 * time. Sums are in one order, whatever the number of threads; they differ in the last digits from
 * processor to processor, since those with fused multiplication use it. */
#ifndef QDQ_MATRIX_PRODUCT_H
#define QDQ_MATRIX_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* Columns of a packed panel, and rows of a matrix that are packed at once. */
enum { QDQ_PANEL = 32, QDQ_PANEL_ROWS = 256 };

/* C[i][j] += sign * (sum over r of A[r][i] * B[r][j]), i < m, j < n, r < depth; rows of each matrix
 * lie `lda`, `ldb`, `ldc` floats apart. C overlaps neither. */
typedef struct qdq_product {
    const float *a, *b;
    float *c;
    size_t lda, ldb, ldc;
    size_t m, n, depth;
    float sign;
} qdq_product;

/* Floats of `room` that a call needs. */
size_t qdq_product_room(void);
void qdq_product_add(const qdq_product *p, float *room);

/* The floats of packed rows of `width` columns. */
size_t qdq_panels_size(size_t width);

/* Row `at` (< QDQ_PANEL_ROWS) and the n - 1 after it of `panels` become n rows of x, a number that
 * is not finite becomes 0. In several threads. */
void qdq_panels_fill(float *panels, size_t width, size_t at, const float *x, size_t n);

/* Adds X'X of the first n packed rows to the upper triangle of h and its diagonal; or, with
 * `lower`, to the lower triangle without the diagonal, which goes to diagonal[width]. Rows of h lie
 * `ld` floats apart. In several threads. */
void qdq_panels_square(const float *panels, size_t width, size_t n, float *h, size_t ld);
void qdq_panels_square_lower(const float *panels, size_t width, size_t n, float *h, size_t ld,
                             float *diagonal);

#endif /* QDQ_MATRIX_PRODUCT_H */
