//! echo-client
