#include "reference/elementwise_rows.h"

namespace fusec::reference {

template Kernel kernel_for<bool>(OpKind);
template Kernel kernel_for<uint8_t>(OpKind);
template Kernel kernel_for<int8_t>(OpKind);
template Kernel kernel_for<int16_t>(OpKind);
template Kernel kernel_for<int32_t>(OpKind);
template Kernel kernel_for<int64_t>(OpKind);

}  // namespace fusec::reference
