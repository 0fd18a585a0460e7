/* SQLite as a library of the JavaScript guest. */
#include "quickjs.h"
#include "sqlite3.h"
