// Package interop shows the whole host at work with software that others wrote: it holds tests only. The real binary stands between the
// official SDKs as clients and as servers, published servers, and everything that a client can get wrong. It looks at bytes on sockets,
// exit codes and the log, and at nothing inside the host.
package interop
