//! What the server promises to clients of Hadoop RPC.
//!
//! Hadoop's own tests of its server, and where the same is tested here:
//! - TestIPC: `testSerial`, `testParallel`, `testUniqueSequentialCallIds`, `testCallIdAndRetry`,
//!   `testInitialCallRetryCount`, `testCallRetryCount` in `calls`; `testIpcWithReaderQueuing` in
//!   `flow`; `testMaxConnections` and `testConnectionIdleTimeouts` (without Hadoop's threshold and
//!   its limit for each scan) in `limits`; `testIpcFromHadoop_*`, `testHttpGetResponse` and
//!   failures while reading a call in `answers` and `replay`; `testIpcWithServiceClass` in the
//!   wire's tests (nothing uses the byte); `testSocketLeak` in the server's `life`.
//! - TestRPC: `testCalls` in `calls`; `testSlowRpc`, `testConnectionPing`, `testClientBackOff` in
//!   `flow`; `testReaderExceptions` in `answers`; `testConfRpc` and `testStopsAllThreads` in the
//!   server's `options` and `life`.
//! - TestIPCServerResponder and TestRPCServerShutdown in `flow`; TestCallQueueManager in the
//!   queue's own tests and models; TestProtoBufRpc in `calls`, `answers` and `limits`; TestSaslRPC,
//!   as far as it is about a simple server, in `answers`.
//!
//! Out of scope, because there is nothing here that they would test:
//! - authorization and Kerberos (`testAuthorization`, `testErrorMsgForInsecureClient`, most of
//!   TestSaslRPC): everybody is let in;
//! - queues by user and back-off by response time (TestFairCallQueue,
//!   `testClientBackOffByResponseTime`): there is one queue;
//! - connections by user and methods by name in the metrics (`testRpcMetrics`, a part of
//!   `testCalls`): counters are by thread;
//! - postponed and external calls (`testDeferResponse`, `testExternalCall`): services are fixed;
//! - slow-call log, port ranges, levels of logged exceptions (TestProtoBufRpc, TestServer): there
//!   is no such log, and one port is given.

mod answers;
mod calls;
mod flow;
pub(crate) mod kit;
mod limits;
mod replay;
