/* fake_ov_rest.c - everything that our binding looks for in OpenVINO, as a name and nothing behind
 * it: a library that is refused for its version is not called. What fake_ov.c has goes before. */
#include "engine/openvino/openvino_api.h"

#define F(name, result, parameters)                                                                \
    extern char ov_##name;                                                                         \
    __attribute__((weak)) char ov_##name;
QDQ_OV_LIST(F)
#undef F
