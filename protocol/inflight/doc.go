// Package inflight holds the parts of a book of requests that await an answer: the counter that gives
// each an id of its own (S4-126 to S4-128), and the wheel that says whose time is up. It knows no
// clock, no connection and no message.
package inflight
