#pragma once

#include <library_types.h>
