package supervisor

import "mcpd/transport/streamable"

// windowShare is the part of the memory that a server may send of one answer over HTTP/2 before the
// answer is read: one in 4096. So the answers to all requests that a tenant has in flight by
// default fill no more than a quarter of the memory.
const windowShare = 4096

// window returns that part in bytes.
func (h *host) window() int {
	if h.options.Memory == 0 {
		return streamable.MaxWindow
	}
	return int(min(max(h.options.Memory/windowShare, streamable.MinWindow), streamable.MaxWindow))
}
