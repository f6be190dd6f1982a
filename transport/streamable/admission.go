package streamable

import (
	"strings"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Admission is which requests are let in. It is never changed after it was made, so that one may take the place of another at any time.
type Admission struct {
	hosts   map[string]bool
	origins map[string]bool
	limits  jsonrpc.Limits
}

// NewAdmission takes what Options document: hosts, nil for the loopback names, origins, and the bounds of a message, zero for the protocol's.
func NewAdmission(hosts, origins []string, limits jsonrpc.Limits) *Admission {
	if hosts == nil {
		hosts = LoopbackHosts()
	}
	if limits.Bytes <= 0 {
		limits.Bytes = protocol.RequestLimits().Bytes
	}
	return &Admission{lowerSet(hosts), lowerSet(origins), limits}
}

func lowerSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[strings.ToLower(n)] = true
	}
	return set
}
