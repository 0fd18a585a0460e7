"""Reads URLs with urllib and, if it is installed, libcurl: one URL per line as JSON, one line with both results each."""

import ctypes
import ctypes.util
import json
import sys
from urllib.parse import urlsplit

HOST, PORT, PATH, QUERY, URL = 5, 6, 7, 8, 0
DEFAULT_PORT = 1 << 0
DEFAULT_PORTS = {"http": "80", "https": "443"}


def load_curl():
    name = ctypes.util.find_library("curl") or "libcurl.so.4"
    try:
        curl = ctypes.CDLL(name)
        curl.curl_url.restype = ctypes.c_void_p
    except (OSError, AttributeError):
        return None
    curl.curl_url_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    curl.curl_url_get.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint]
    curl.curl_url_cleanup.argtypes = [ctypes.c_void_p]
    curl.curl_free.argtypes = [ctypes.c_void_p]
    return curl


CURL = load_curl()


def part_of(handle, part, flags=0):
    found = ctypes.c_void_p()
    if CURL.curl_url_get(handle, part, ctypes.byref(found), flags) != 0:
        return None
    text = ctypes.string_at(found).decode("utf-8", "surrogateescape")
    CURL.curl_free(found)
    return text


def from_curl(text):
    handle = CURL.curl_url()
    try:
        if "\0" in text or CURL.curl_url_set(handle, URL, text.encode("utf-8", "surrogatepass"), 0) != 0:
            return None
        query = part_of(handle, QUERY)
        target = part_of(handle, PATH) + ("" if query is None else "?" + query)
        return {"host": part_of(handle, HOST), "port": part_of(handle, PORT, DEFAULT_PORT), "target": target}
    finally:
        CURL.curl_url_cleanup(handle)


def from_urllib(text):
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return {"host": host, "port": DEFAULT_PORTS[parts.scheme] if port is None else str(port), "target": target}


for line in sys.stdin:
    url = json.loads(line)
    read = {"urllib": from_urllib(url)}
    if CURL is not None:
        read["libcurl"] = from_curl(url)
    print(json.dumps(read), flush=True)
