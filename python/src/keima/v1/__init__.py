"""Messages and calls, generated from proto/ by python/generate. Not for users: nothing here stays as it is."""

PROTOCOL_VERSION = 17
