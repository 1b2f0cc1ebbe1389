//! The messages as an independent decoder knows them.
//!
//! Strings are bytes, since proto2 does not check them; enums are their numbers and required
//! fields are optional, so that a test can see what came.

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TraceInfo {
    #[prost(int64, optional, tag = "1")]
    pub(crate) trace_id: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    pub(crate) parent_id: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(crate) span_context: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CallerContext {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) context: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) signature: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CallHeader {
    #[prost(int32, optional, tag = "1")]
    pub(crate) rpc_kind: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) rpc_op: Option<i32>,
    #[prost(sint32, optional, tag = "3")]
    pub(crate) call_id: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) client_id: Option<Vec<u8>>,
    #[prost(sint32, optional, tag = "5")]
    pub(crate) retry_count: Option<i32>,
    #[prost(message, optional, tag = "6")]
    pub(crate) trace_info: Option<TraceInfo>,
    #[prost(message, optional, tag = "7")]
    pub(crate) caller_context: Option<CallerContext>,
    #[prost(int64, optional, tag = "8")]
    pub(crate) state_id: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MethodHeader {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) method_name: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) protocol_name: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "3")]
    pub(crate) client_protocol_version: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct User {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) effective_user: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) real_user: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Context {
    #[prost(message, optional, tag = "2")]
    pub(crate) user: Option<User>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(crate) protocol: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Auth {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) method: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) mechanism: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Sasl {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) version: Option<u32>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) state: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(crate) token: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) auths: Vec<Auth>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ReplyHeader {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) call_id: Option<u32>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) status: Option<i32>,
    #[prost(uint32, optional, tag = "3")]
    pub(crate) server_version: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) class: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "5")]
    pub(crate) text: Option<Vec<u8>>,
    #[prost(int32, optional, tag = "6")]
    pub(crate) code: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "7")]
    pub(crate) client_id: Option<Vec<u8>>,
    #[prost(sint32, optional, tag = "8")]
    pub(crate) retry_count: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Layout {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) version: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Echo {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) payload: Option<Vec<u8>>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) reply_len: Option<i32>,
    #[prost(bool, optional, tag = "3")]
    pub(crate) read_only: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OmCall {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) command: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) trace_id: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(crate) client_id: Option<Vec<u8>>,
    #[prost(message, optional, tag = "4")]
    pub(crate) user: Option<User>,
    #[prost(uint32, optional, tag = "5")]
    pub(crate) version: Option<u32>,
    #[prost(message, optional, tag = "6")]
    pub(crate) layout: Option<Layout>,
    #[prost(message, optional, tag = "7")]
    pub(crate) hint: Option<Layout>,
    #[prost(message, optional, tag = "110")]
    pub(crate) echo: Option<Echo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OmReply {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) command: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) trace_id: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "3")]
    pub(crate) success: Option<bool>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) message: Option<Vec<u8>>,
    #[prost(uint32, optional, tag = "5")]
    pub(crate) status: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "6")]
    pub(crate) leader: Option<Vec<u8>>,
    #[prost(message, optional, tag = "110")]
    pub(crate) echo: Option<Echo>,
}
