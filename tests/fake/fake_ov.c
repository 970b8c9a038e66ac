/* fake_ov.c - libraries that look like OpenVINO until one asks: FAKE_VERSION is what they report.
 * What they export beside that is in fake_ov_rest.c, or missing. */
#include "engine/openvino/openvino_api.h"

int ov_get_openvino_version(ov_version *v);
void ov_version_free(ov_version *v);

int ov_get_openvino_version(ov_version *v)
{
    *v = (ov_version){FAKE_VERSION, "fake"};
    return 0;
}

void ov_version_free(ov_version *v)
{
    *v = (ov_version){NULL, NULL};
}
