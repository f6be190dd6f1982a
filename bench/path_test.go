package bench

import (
	"testing"

	"mcpd/supervisor"
)

// pathConfig is a host with its built-in server.
const pathConfig = `tenants: {default: {servers: {demo: {builtin: demo}}}}`

// BenchmarkCallWithinTheHost is one tools/call from where a transport hands it over to its answer: session, request manager, connection,
// built-in server, and back.
func BenchmarkCallWithinTheHost(b *testing.B) {
	h := startHost(b, pathConfig, supervisor.Options{Embedded: true})
	c, err := openClient(b.Context(), h, "default")
	if err != nil {
		b.Fatal(err)
	}
	one := call(c)
	b.ReportAllocs()
	for b.Loop() {
		if err := one(); err != nil {
			b.Fatal(err)
		}
	}
}
