// Package reconnect keeps one client of `mcpd stdio` connected to a host that may be killed and
// started again. It decides what becomes of each request while the host is away, and which messages
// give a new session of the host the state that the lost one had. A Link is a value: events go in,
// effects come out, and the caller passes the time in. It opens no connections and owns no clock.
package reconnect
