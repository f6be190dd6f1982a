package interop

import (
	"fmt"
	"testing"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
)

// A published server runs a tool as a task only in 2025-11-25, and asks during the task. Clients of
// that revision and of 2026-07-28 follow the task, each in the way of its revision. A client of a
// revision without tasks gets the answer when the task is done.
func TestTasksOfAPublishedServer(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {every: {command: npx, args: [-y, %q], cwd: %q}}}}", everything,
		mcptest.Modules(t))})
	const tool, arguments, want = "simulate-research-query", `{"topic":"python","ambiguous":true}`,
		"Research Report: python"
	for _, v := range []protocol.Version{protocol.V20250618, protocol.V20251125, protocol.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			c := newMatrixClient(t, dialHTTP(t, host.MCP+"/every", v), v, newValidity(t))
			if v.Has(protocol.Tasks) || v.Has(protocol.TasksExtension) {
				if wrong := c.callTask(tool, arguments, want); wrong != "" {
					t.Error(wrong)
				}
				return
			}
			answer, _ := c.call(tool, arguments)
			if wrong := checkContains(answer, want); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}
