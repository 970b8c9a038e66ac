/* faces.h - runs the UltraFace detector on a picture, through the public interface of qdq. */
#ifndef QDQ_EXAMPLE_FACES_H
#define QDQ_EXAMPLE_FACES_H

#include <qdq/qdq.h>

#include "photo.h"

#define FACE_MIN_SCORE 0.7f /* a box below is no face */
#define FACE_MAX_IOU   0.3f /* boxes that overlap by more show the same face */
#define SAME_FACE_IOU  0.9f /* two models that agree this much found the same */

typedef struct face {
    float score;
    float left, top, right, bottom; /* 0 to 1 */
} face;

/* Intersection over union. */
float face_iou(const face *a, const face *b);

/* The picture has the size of the model's input. Faces by falling score, overlapping ones left out
 * (hard non-maximum suppression); at most `max`, *n of them. */
qdq_status faces_find(qdq_session *s, const photo *p, face *out, size_t max, size_t *n,
                      qdq_error *err);

#endif /* QDQ_EXAMPLE_FACES_H */
