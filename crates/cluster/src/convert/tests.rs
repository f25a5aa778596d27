//! Every word survives the wire, and nonsense does not get in.
