package chaos

import (
	"strconv"
	"testing"
)

// S4-118, S4-100, S4-71, F01: the request manager. Exchanges in flight keep their deadlines and get
// their one outcome. The requests whose messages crash the manager get an error at once. Nothing
// times out.
func TestChaosRequestManagerCrash(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, inARow} {
		t.Run(strconv.Itoa(times), func(t *testing.T) {
			t.Parallel()
			open(t, "").survives(crash{
				path: "mcpd/tenants/acme/request_manager", kind: "*request.Submit", times: times,
				failed: uint64(times),
			})
		})
	}
}
