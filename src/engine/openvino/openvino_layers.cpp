/* openvino_layers.cpp - the one file in C++, and an object of its own, which the engine loads if it
 * is there.
 *
 * Why: OpenVINO's runtime model says of each executed layer which layers of the model it was made
 * from, its kernel, types and time. The C interface hands out the runtime model, but none of these
 * attributes, and there is no other way to them. libqdq must neither need libstdc++ nor OpenVINO
 * when it is loaded, so they are read here, behind a header in C (openvino_layers.h). It is linked
 * with the libopenvino.so of one version, and so is refused by the loader beside another.
 *
 * An ov_model_t is a struct whose only member is the shared pointer to the model
 * (src/bindings/c/src/common.h). */
#include "engine/openvino/openvino_layers.h"

#include <map>
#include <openvino/core/model.hpp>
#include <string>
#include <vector>

namespace
{

std::string attribute(const ov::Node &node, const char *key)
{
    const auto &info = node.get_rt_info();
    const auto at = info.find(key);

    return at != info.end() && at->second.is<std::string>() ? at->second.as<std::string>()
                                                            : std::string();
}

int visit(const ov::Model &model, qdq_ov_layer_fn *fn, void *ctx)
{
    std::map<const ov::Node *, size_t> number;
    size_t n = 0;

    for (const auto &node : model.get_ordered_ops()) {
        std::vector<size_t> inputs;
        for (size_t i = 0; i < node->get_input_size(); i++) {
            const auto at = number.find(node->get_input_node_ptr(i));
            if (at != number.end())
                inputs.push_back(at->second);
        }
        number[node.get()] = n++;
        const std::string type = attribute(*node, "layerType"),
                          kernel = attribute(*node, "primitiveType");
        const std::string originals = attribute(*node, "originalLayersNames"),
                          time = attribute(*node, "execTimeMcs");
        const std::string in =
            node->get_input_size() > 0 ? node->get_input_element_type(0).get_type_name() : "";
        const std::string out =
            node->get_output_size() > 0 ? node->get_output_element_type(0).get_type_name() : "";
        const qdq_ov_layer layer = {node->get_friendly_name().c_str(),
                                    type.c_str(),
                                    kernel.c_str(),
                                    originals.c_str(),
                                    time.c_str(),
                                    in.c_str(),
                                    out.c_str(),
                                    inputs.data(),
                                    inputs.size()};
        if (const int stop = fn(ctx, &layer))
            return stop;
    }
    return 0;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
qdq_openvino_layers(const void *runtime_model, qdq_ov_layer_fn *fn, void *ctx)
{
    try {
        const auto &model = *static_cast<const std::shared_ptr<ov::Model> *>(runtime_model);
        return model ? visit(*model, fn, ctx) : -1;
    } catch (...) {
        return -1;
    }
}
