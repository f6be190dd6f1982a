// Package inflight helps to track the requests that await an answer. [Counter] assigns the request
// ids of one connection. [Wheel] is a timing wheel for the deadlines of the requests. The package
// knows no clock, connection or message.
package inflight
