"""Sockets that say what to use instead, in programs that may send requests."""

import socket
from errno import ENETUNREACH

import _sandbox_network as network

_create_connection = socket.create_connection
_connect = socket.socket.connect


def create_connection(address, *args, **kwargs):
    if network.is_allowed():
        raise OSError(ENETUNREACH, network.USE_INSTEAD)
    return _create_connection(address, *args, **kwargs)


def connect(self, address):
    if network.is_allowed():
        raise OSError(ENETUNREACH, network.USE_INSTEAD)
    return _connect(self, address)


socket.create_connection = create_connection
socket.socket.connect = connect
