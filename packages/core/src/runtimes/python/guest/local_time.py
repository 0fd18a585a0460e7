"""`time.tzset`. CPython has none for Emscripten, whose C library reads the time zone once; here, each local time follows `TZ`."""

import time
from time import localtime, time as now

YEAR = 31_557_600


def tzset():
    """Sets the attributes of `time` that describe the time zone, as CPython does when it starts."""
    january = now() // YEAR * YEAR
    winter, summer = localtime(january), localtime(january + YEAR // 2)
    time.daylight = int(winter.tm_gmtoff != summer.tm_gmtoff)
    if winter.tm_gmtoff > summer.tm_gmtoff:
        # South of the equator.
        winter, summer = summer, winter
    time.timezone, time.altzone = -winter.tm_gmtoff, -summer.tm_gmtoff
    time.tzname = winter.tm_zone, summer.tm_zone


def install():
    time.tzset = tzset


def follow(env):
    """Follows the variables that a program begins with."""
    if env.get('TZ', 'UTC') != 'UTC':
        tzset()
