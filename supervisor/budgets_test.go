package supervisor

import (
	"testing"
	"testing/synctest"
	"time"

	"mcpd/gateway/quota"
	"mcpd/transport"
)

// A message that grows beyond its tenant's share, and then stalls, delays that of another tenant
// for a moment only. When it continues it waits for its turn. In the end nothing is counted.
func TestStalledMessageHoldsNoOtherTenantUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, tasks = 128 << 10, 2100 << 10
		ledger := quota.NewLedger(nil)
		ledger.Bound(quota.Bounds{Tenants: 2, Total: 4 << 20})
		var holds [2]transport.Reservation
		grown := [2]chan error{make(chan error, 1), make(chan error, 1)}
		grow := func(who, size int) {
			go func() { grown[who] <- holds[who].Take(t.Context(), size) }() // owner: the test waits for it
			synctest.Wait()
		}
		for who, tenant := range []string{"a", "b"} {
			kept := ledger.Account(tenant)
			kept.Add(quota.Tasks, tasks)
			holds[who] = transport.NewReservation(transport.NewOwnedBudget(64<<20, account{
				kept, quota.Answers,
			}))
			if err := holds[who].Take(t.Context(), size); err != nil {
				t.Fatal(err)
			}
		}
		grow(0, 2*size)
		if len(grown[0]) != 1 {
			t.Fatal("the first message does not grow")
		}
		<-grown[0] // and then it stalls
		grow(1, 2*size)
		if len(grown[1]) != 0 {
			t.Error("two messages grow at once")
		}
		time.Sleep(time.Minute)
		if len(grown[1]) != 1 {
			t.Fatal("the message of another tenant waits for one that has stalled")
		}
		<-grown[1]
		grow(0, 3*size)
		if len(grown[0]) != 0 {
			t.Error("the stalled message goes on while another grows")
		}
		holds[1].Free()
		time.Sleep(time.Second)
		if len(grown[0]) != 1 {
			t.Fatal("the stalled message does not go on")
		}
		<-grown[0]
		holds[0].Free()
		for _, tenant := range []string{"a", "b"} {
			if now := ledger.Account(tenant).Total(); now != tasks {
				t.Errorf("%s keeps %d bytes in the end, want %d", tenant, now, tasks)
			}
		}
	})
}
