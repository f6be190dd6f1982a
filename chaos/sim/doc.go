// Package sim runs a whole host, with its clients and servers, inside of a simulation: the real tree of supervisors and actors on one goroutine,
// in an order that is drawn by a seed, with virtual time and transports in memory. It breaks what the seed says and looks whether everybody got
// what is promised. A run is repeated by its seed alone, so that whatever it finds can be looked at again, step by step.
//
// It knows no sockets, processes or files: what is beyond the transports is not simulated, nor is what is left out of a host without listeners
// and state.
package sim
