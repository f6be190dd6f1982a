package chaos

import "testing"

// S4-118, S4-100, S4-71: the request manager. What is in flight keeps its deadline and gets its one outcome; the request whose message
// crashed the manager gets an error at once. Nothing times out.
func TestChaosRequestManagerCrash(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"*request.Submit", "*request.Complete"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			open(t, "").survives(crash{path: "mcpd/tenants/acme/request_manager", kind: kind, failed: 1})
		})
	}
}
