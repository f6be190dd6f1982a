// Package inflight is the book of requests that await an answer: who asked, until when, and that each gets exactly one outcome.
//
// It knows no clock, no connection and no message: it is told the time and what happened, and returns what to do. What a request means to
// its owner is a value of the owner's own type, carried along and handed back.
//
// The calls of S4-54 to S4-62 are events here: register_request is Register, complete_request is Complete, cancel_request is Cancel, and
// get_pending_requests is Table.Pending.
package inflight
