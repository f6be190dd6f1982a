// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope: id, method, params, result, error. Params, results and error data stay
// the raw bytes that arrived.
//
// It does not know MCP: which methods exist, who may send them and what an error code means is said by package protocol.
//
// # What is refused
//
// Decode is strict, because a gateway that reads a message differently from the server behind it can be made to wave through what
// the server then executes. Member names match exactly. A member given twice is refused at every depth, also when one of the two is
// written with escapes. Invalid UTF-8, lone surrogates and a byte order mark are refused. Depth, tokens, members per object, digits of a
// number and the lengths of id and method are bounded by [Limits].
//
// # Memory
//
// Params, Result and Error.Data of a decoded message share memory with the input, which must not change afterwards. ID and Method are
// copies, so that keeping an id does not keep a body.
package jsonrpc
