// A look at results that are too many to check whole.
#pragma once

#include "batch/batch.hpp"
#include "jfa/attention.hpp"

namespace jfa::tool {

/// Relative error against fp64 of some rows of `out`, drawn at random, with the default scale and
/// no softcap. `batch` has the indices and the masks on the host; `inputs` and `out` lie on the
/// GPU.
double sampled_error(const Batch& batch, const Inputs& inputs, const ConstTensorView& out);

/// The largest of the relative errors of some rows of dq, dk and dv, drawn at random, against what
/// they are by `given`, where the forward pass is right; there is no dlse.
double sampled_gradient_error(const Batch& batch, const Inputs& inputs, const BackwardInputs& given,
                              const BackwardOutputs& gradients);

}  // namespace jfa::tool
