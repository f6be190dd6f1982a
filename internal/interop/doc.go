// Package interop tests the whole host with software of other authors. It holds only tests. The
// release binary connects clients and servers of the official SDKs and published servers, and
// handles every kind of wrong input. The tests look only at bytes on sockets, exit codes and the
// log, and at nothing inside the host.
package interop
