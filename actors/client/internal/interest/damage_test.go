package interest_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"mcpd/actors/client/internal/interest"
	"mcpd/actors/internal/stage"
	"mcpd/actors/request"
	"mcpd/gateway/quota"
)

// heard is a session that is told at most once, as by a call.
type heard struct{}

func (heard) Reply(struct{}) bool { return true }
func (heard) Fail(error)          {}

// Repair makes a table sound again, whatever a crash has done to it: the table counts what it
// keeps, and asks the next server for everything anew.
func TestDamagedTableIsSound(t *testing.T) {
	for seed := range uint64(3000) {
		account := quota.NewLedger(nil).Of("acme")
		kept := account.Hold(quota.Subscriptions, 0)
		table := interest.New(kept, nil, nil)
		to := interest.Server{Ready: true, Levels: true}
		step := func(in interest.Event) []interest.Effect { return table.Step(time.Time{}, to, in) }
		step(interest.Event{Op: interest.Wish, Session: "one", Level: "info", URIs: []string{"a", "b"}, Waiter: heard{}})
		step(interest.Event{Op: interest.Wish, Session: "two", URIs: []string{"b"}, Waiter: heard{}})
		step(interest.Event{Op: interest.Call, Ask: interest.Ask{Method: "resources/subscribe", Value: "c"}, Call: &request.Exchange{Session: "two"}})
		h := stage.Heirs{
			Rand: rand.New(rand.NewPCG(seed, 0)), Whole: []string{"*request.Exchange", "*quota.Reservation"},
			Fixed: []string{"Table.kept"},
		}
		h.Damage(&table)
		for _, l := range table.Repair() {
			if l.Waiter != nil {
				l.Waiter.Fail(nil)
			}
		}
		bytes := int64(0)
		for uri, who := range table.Resources() {
			if bytes += int64(len(uri)); uri == "" || len(who) == 0 {
				t.Errorf("subscription to %q: %v", uri, who)
			}
		}
		if account.Kept() != bytes {
			t.Errorf("%d bytes count, want %d", account.Kept(), bytes)
		}
		if table.Holds() || table.Asking("a") {
			t.Error("it goes on with what another server was asked")
		}
		for _, e := range step(interest.Event{Op: interest.Settle}) {
			e.Waiter.Reply(struct{}{})
		}
		step(interest.Event{Op: interest.Wish, Session: "three", Level: "info", URIs: []string{"d"}, Waiter: heard{}})
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, h.Done)
		}
	}
}
