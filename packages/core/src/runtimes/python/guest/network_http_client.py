"""Connections of `http.client` that use the network of the host."""

import http.client as client

import _sandbox_network as network


def adapt(kind, scheme):
    original = kind.connect

    def connect(self):
        if not network.is_allowed():
            return original(self)
        network.refuse_tunnel(self)
        self.sock = network.connect(scheme, self.host, self.port, self.timeout, True)

    kind.connect = connect


adapt(client.HTTPConnection, 'http')
if hasattr(client, 'HTTPSConnection'):
    adapt(client.HTTPSConnection, 'https')
