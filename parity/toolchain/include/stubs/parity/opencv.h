// OpenCV, of which device code has the names of types (opencv2/core/hal/interface.h).
#pragma once

typedef unsigned char uchar;
typedef signed char schar;
typedef unsigned short ushort;
typedef unsigned int uint;
