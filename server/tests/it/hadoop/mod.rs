//! What the server promises to clients of Hadoop RPC.

mod answers;
mod calls;
mod flow;
mod kit;
mod limits;
mod replay;
