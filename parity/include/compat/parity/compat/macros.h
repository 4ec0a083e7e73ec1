// Macros that AMD's headers leave behind, with names that programs have for themselves. What uses them in those headers
// is read by now.
#pragma once

#undef DEPRECATED
#undef HW_ID
#undef MASK1
#undef MASK2
#undef XCC_ID
