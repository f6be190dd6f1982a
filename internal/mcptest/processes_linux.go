package mcptest

import (
	"bytes"
	"fmt"

	"mcpd/transport/stdio/guard"
)

// Processes are the living processes that the host has started and that those have, found by the mark in their environment. It may be asked
// of a host that is gone.
func (h *Host) Processes() []int {
	look := guard.Look{Mark: func(entry []byte) bool {
		return bytes.HasPrefix(entry, []byte("MCPD_INSTANCE=")) && bytes.Contains(entry, fmt.Appendf(nil, ".%d-", h.PID()))
	}}
	return look.Signal(guard.All(), 0)
}
