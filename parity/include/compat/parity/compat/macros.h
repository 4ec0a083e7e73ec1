// Macros that AMD's headers leak and whose names programs use. The headers that need them are already included.
#pragma once

#undef DEPRECATED
#undef HW_ID
#undef MASK1
#undef MASK2
#undef XCC_ID
