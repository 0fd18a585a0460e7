"""Connections of urllib3 that use the network of the host."""

import _sandbox_network as network
from urllib3 import connection

_new_conn = connection.HTTPConnection._new_conn
_connect = connection.HTTPSConnection.connect


def new_conn(self):
    if not network.is_allowed():
        return _new_conn(self)
    network.refuse_tunnel(self)
    return network.connect('http', self.host, self.port, self.timeout)


def connect(self):
    if not network.is_allowed():
        return _connect(self)
    network.refuse_tunnel(self)
    self.sock = network.connect('https', self.host, self.port, self.timeout)
    # The host verifies certificates, whatever the program asks for.
    self.is_verified = True
    self._has_connected_to_proxy = bool(self.proxy)


connection.HTTPConnection._new_conn = new_conn
connection.HTTPSConnection.connect = connect
