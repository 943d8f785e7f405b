#include "reference/elementwise_rows.h"

namespace fusec::reference {

template Kernel kernel_for<float>(OpKind);
template Kernel kernel_for<double>(OpKind);

}  // namespace fusec::reference
