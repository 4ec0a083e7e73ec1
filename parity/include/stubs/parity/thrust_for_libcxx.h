// Include before the real rocThrust, which uses a macro that newer versions of libc++ do not define.
#pragma once
#define _VSTD std
