"""`hashlib.pbkdf2_hmac` in Python (RFC 8018). CPython takes it from OpenSSL, which the sandbox does not have."""

import hashlib


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    if not isinstance(hash_name, str):
        raise TypeError(f'hash_name must be str, not {type(hash_name).__name__}')
    password, salt = bytes(memoryview(password)), bytes(memoryview(salt))
    inner = hashlib.new(hash_name)
    outer = hashlib.new(hash_name)
    if dklen is None:
        dklen = outer.digest_size
    if iterations < 1:
        raise ValueError('iteration value must be greater than 0.')
    if dklen < 1:
        raise ValueError('key length must be greater than 0.')
    block = getattr(inner, 'block_size', 64)
    if len(password) > block:
        password = hashlib.new(hash_name, password).digest()
    password = password.ljust(block, b'\0')
    inner.update(bytes(byte ^ 0x36 for byte in password))
    outer.update(bytes(byte ^ 0x5C for byte in password))

    def mac(data):
        first, second = inner.copy(), outer.copy()
        first.update(data)
        second.update(first.digest())
        return second.digest()

    key = b''
    number = 1
    while len(key) < dklen:
        value = mac(salt + number.to_bytes(4, 'big'))
        total = int.from_bytes(value, 'big')
        for _ in range(iterations - 1):
            value = mac(value)
            total ^= int.from_bytes(value, 'big')
        key += total.to_bytes(outer.digest_size, 'big')
        number += 1
    return key[:dklen]
