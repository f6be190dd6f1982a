// Package jsonrpc reads and writes JSON-RPC 2.0 messages: id, method, params, result, error.
// Params, results and error data remain the raw bytes that arrived.
//
// The package does not know MCP. Package protocol defines the methods, which side may send them,
// and the meaning of error codes.
//
// # Refused input
//
// Decode is strict. If a gateway reads a message differently from the server behind it, an attacker
// can get a message past the checks of the gateway. Member names match exactly.
// A duplicate member is refused at every depth, even if one of the two names is written with
// escapes. Invalid UTF-8, lone surrogates and a byte order mark are refused. [Limits] bounds depth,
// tokens, members per object, digits of a number, and the lengths of id and method.
//
// # Memory
//
// Params, Result and Error.Data of a decoded message may share memory with the input. The caller
// must not change the input afterwards. Small parts of a large input are copies, as are ID and
// Method, so that a stored id does not keep a whole message in memory.
package jsonrpc
