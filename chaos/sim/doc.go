// Package sim runs a whole host with its clients and servers in a simulation. The real tree of
// supervisors and actors runs on one goroutine, in an order chosen by a seed, with virtual time and
// transports in memory. The simulation injects the faults that the seed determines, and checks that
// every client gets the guaranteed outcome. A seed reproduces a run exactly, so that every finding
// can be examined step by step.
//
// The simulation has no sockets, processes or files. It does not cover anything beyond the
// transports, nor the parts that a host without listeners and state leaves out.
package sim
