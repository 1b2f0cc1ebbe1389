//! echo-server
