// Package reconnect keeps one client of `mcpd stdio` connected to a host that may be killed and
// restarted. It decides the fate of each request while the host is away, and sends the messages
// that restore the state of a lost session in a new one. A [Link] is a state machine: events go in,
// effects come out, and the caller passes the time in. The package opens no connections and has no
// clock.
package reconnect
