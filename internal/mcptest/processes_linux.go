package mcptest

import (
	"bytes"
	"fmt"

	"mcpd/transport/stdio/guard"
)

// Processes returns the living processes that the host has started, and their descendants. It finds
// them by the mark in their environment, also after the host has ended.
func (h *Host) Processes() []int {
	look := guard.Look{Mark: func(entry []byte) bool {
		return bytes.HasPrefix(entry, []byte("MCPD_INSTANCE=")) &&
			bytes.Contains(entry, fmt.Appendf(nil, ".%d-", h.PID()))
	}}
	return look.Signal(guard.All(), 0)
}
