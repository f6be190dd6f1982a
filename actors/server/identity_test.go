package server_test

import (
	"testing"

	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// Protocol-matrix 10.2 and 10.4: a modern server is told with each request who its client is, if
// the client has said so. A legacy server is told so if the connection belongs to one client; on a
// shared connection it is told the host's name.
func TestServerIsToldWhoItsClientIs(t *testing.T) {
	const own, itself = `{"name":"files__read","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"own","version":"2"}}}`, "mcpd"
	for name, tt := range map[string]struct {
		change func(r *rig)
		call   func(r *rig)
		method string
		path   []string
		want   string
	}{
		"session to a request": {modern, func(r *rig) {
			r.ready(`{}`).call()
		}, "tools/call", []string{"_meta", protocol.MetaClientInfo}, "user"},
		"request to a request": {modern, func(r *rig) {
			r.caller(`{}`).ask("tools/call", own)
		}, "tools/call", []string{"_meta", protocol.MetaClientInfo}, "own"},
		"unsaid": {modern, func(r *rig) {
			r.caller(`{}`).call()
		}, "tools/call", []string{"_meta", protocol.MetaClientInfo}, itself},
		"shared connection": {nil, func(r *rig) {
			r.ready(`{}`).call()
		}, "initialize", []string{"clientInfo"}, itself},
		"connection of its own": {func(r *rig) {
			r.tenant.Servers[0].Share = tenant.BySession
		}, func(r *rig) {
			r.ready(`{}`).call()
			<-r.peers["files"] // the connection for lists, which all share
		}, "initialize", []string{"clientInfo"}, "user"},
		"of one that says nothing": {func(r *rig) {
			r.tenant.Servers[0].Share = tenant.BySession
		}, func(r *rig) {
			r.caller(`{}`).call() // over the connection for lists, because it has no session
		}, "initialize", []string{"clientInfo"}, itself},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, tt.change, func(r *rig) {
				tt.call(r)
				heard := r.peer("files").heard(tt.method)
				if len(heard) != 1 {
					t.Fatalf("the server heard %v", heard)
				}
				if got, _ := jsonedit.GetString(heard[0].Params, append(tt.path, "name")...); got != tt.want {
					t.Errorf("the server is told %s", heard[0].Params)
				}
			})
		})
	}
}
